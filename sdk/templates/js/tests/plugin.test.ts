// The checker on a machine made of plain values.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Denied, TimedOut } from "gpud-sdk";
import { FakeHost } from "gpud-sdk/testing";
import plugin, { speed } from "../src/plugin.ts";

const fan = (index: number) => `/sys/class/hwmon/hwmon0/fan${index}_input`;

const CASES: [fans: (string | TimedOut)[], health: string, reason: string][] = [
  [[], "healthy", "this machine shows no fans"],
  [["900\n", "1200\n"], "healthy", "2 fans turn"],
  [["900", "299"], "degraded", `1 of 2 fans are too slow: ${fan(1)} at 299 rpm`],
  [["900", new TimedOut("read", 5_000)], "healthy", "1 fans turn"],
  [["gone"], "degraded", "no fan can be read"],
];

for (const [fans, health, reason] of CASES) {
  test(reason, () => {
    const files = Object.fromEntries(fans.map((content, index) => [fan(index), content]));
    const [state] = new FakeHost({ files }).check(plugin).states;
    assert.deepEqual([state?.health, state?.reason], [health, reason]);
  });
}

test("only numbers are speeds", () => {
  assert.equal(speed("1200"), 1200);
  for (const wrong of [undefined, "", "-1", "fast", "²", "9".repeat(5_000)]) assert.equal(speed(wrong), undefined);
});

test("a missing grant is told", () => {
  assert.throws(() => new FakeHost({ denied: ["sysfs"] }).check(plugin), Denied);
});
