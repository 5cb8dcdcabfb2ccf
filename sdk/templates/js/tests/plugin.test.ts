// The checker on a machine made of plain values.

import assert from "node:assert/strict";
import { test } from "node:test";
import { Denied, TimedOut } from "gpud-sdk";
import { FakeHost } from "gpud-sdk/testing";
import plugin, { kibibytes } from "../src/plugin.ts";

const MEMINFO = "/proc/meminfo";
const UNKNOWN = "/proc/meminfo does not say how much memory is available";
const memory = (available: number) =>
  `MemTotal:        1000 kB\nMemFree:           5 kB\nMemAvailable:     ${available} kB\n`;

const CASES: [meminfo: string, health: string, reason: string][] = [
  [memory(610), "healthy", "61 % of memory is available"],
  [memory(290), "healthy", "29 % of memory is available"],
  [memory(50), "healthy", "5 % of memory is available"],
  [memory(49), "degraded", "4 % of memory is available, less than 5 %"],
  ["", "degraded", UNKNOWN],
  [memory(1001), "degraded", UNKNOWN],
  ["MemTotal: 0 kB\nMemAvailable: 0 kB\n", "degraded", UNKNOWN],
];

for (const [meminfo, health, reason] of CASES) {
  test(`${JSON.stringify(meminfo)}: ${reason}`, () => {
    const [state] = new FakeHost({ files: { [MEMINFO]: meminfo } }).check(plugin).states;
    assert.deepEqual([state?.health, state?.reason], [health, reason]);
  });
}

test("only numbers are sizes", () => {
  assert.equal(kibibytes("MemTotal:  12 kB\n", "MemTotal"), 12);
  for (const wrong of ["", "-1 kB", "12", "much kB", "² kB", `${"9".repeat(5_000)} kB`]) {
    assert.equal(kibibytes(`MemTotal: ${wrong}\n`, "MemTotal"), undefined);
  }
});

test("trouble with a source is passed on", () => {
  const files = { [MEMINFO]: new TimedOut("read", 5_000) };
  assert.throws(() => new FakeHost({ files }).check(plugin), TimedOut);
  assert.throws(() => new FakeHost({ denied: ["sysfs"] }).check(plugin), Denied);
});
