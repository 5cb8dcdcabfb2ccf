// The checker on a machine made of plain values: `npm test`.

import assert from "node:assert/strict";
import { test } from "node:test";
import { CheckFailed, Denied, TimedOut, encodeText } from "gpud-sdk";
import { FakeHost, type Machine } from "gpud-sdk/testing";
import plugin from "../src/plugin.ts";

const HWMON = "/sys/class/hwmon/";

/** The files of a chip with one sensor. */
function chip(number: number, driver: string, label: string | undefined, reading: string): Machine["files"] {
  const folder = `${HWMON}hwmon${number}/`;
  const files = { [`${folder}name`]: `${driver}\n`, [`${folder}temp1_input`]: reading };
  return label === undefined ? files : { ...files, [`${folder}temp1_label`]: `${label}\n` };
}

const OWN = { sensors: { "nvme/Composite": { warn: 60, critical: 70 } } };
const VERDICTS: [config: object, reading: string, health: string, reason: string, event?: string][] = [
  [{}, "45500", "healthy", "1 sensors, hottest is nvme/Composite with 45.5 °C"],
  [{}, "-1500", "healthy", "1 sensors, hottest is nvme/Composite with -1.5 °C"],
  [{}, "95000", "degraded", "nvme/Composite: 95.0 °C, warning is 95.0 °C", "temperature_warning"],
  [{}, "105000", "unhealthy", "nvme/Composite: 105.0 °C, critical is 105.0 °C", "temperature_critical"],
  [
    { warn: 40, critical: 50.5 },
    "50400",
    "degraded",
    "nvme/Composite: 50.4 °C, warning is 40.0 °C",
    "temperature_warning",
  ],
  [OWN, "71000", "unhealthy", "nvme/Composite: 71.0 °C, critical is 70.0 °C", "temperature_critical"],
  [{ sensors: { "a/b": {} } }, "45500", "degraded", "a/b: no such sensor"],
  [{ sensors: { "nvme/Composite": {} } }, "255000", "degraded", "nvme/Composite: cannot be read"],
  [{}, "255000", "degraded", "none of 1 temperature sensors can be read"],
  [{}, "warm", "degraded", "none of 1 temperature sensors can be read"],
];

for (const [config, reading, health, reason, event] of VERDICTS) {
  test(`${reading} with ${JSON.stringify(config)} is ${health}`, () => {
    const host = new FakeHost({ files: chip(0, "nvme", "Composite", `${reading}\n`), config });
    const { states, events = [] } = host.check(plugin);
    assert.equal(states.length, 1);
    assert.deepEqual([states[0]?.health, states[0]?.reason], [health, reason]);
    assert.deepEqual(
      events.map(({ name }) => name),
      event ? [event] : [],
    );
    assert.equal(states[0]?.suggestedActions !== undefined, event !== undefined);
  });
}

test("an event is a crossing", () => {
  const steps: [reading: string, event?: string][] = [
    ["50000"],
    ["96000", "temperature_warning"],
    ["97000"],
    ["106000", "temperature_critical"],
    ["x"], // not readable this time: nothing is known, nothing is forgotten
    ["107000"],
    ["96000", "temperature_warning"],
    ["50000", "temperature_normal"],
    ["50000"],
  ];
  const host = new FakeHost();
  for (const [reading, event] of steps) {
    host.machine.files = { ...chip(4, "k10temp", undefined, "40000"), ...chip(3, "nvme", undefined, reading) };
    const { events = [] } = host.check(plugin);
    assert.deepEqual(
      events.map(({ name }) => name),
      event ? [event] : [],
    );
    for (const { subject } of events) assert.deepEqual(subject, { other: ["sensor", "nvme/temp1"] });
  }
});

test("names and metrics", () => {
  const files = {
    ...chip(10, "nvme", undefined, "30000"),
    ...chip(2, "nvme", undefined, "20000"),
    ...chip(3, "two\nlines", undefined, "25000"),
    [`${HWMON}hwmon2/temp2_input`]: "21000\n",
    [`${HWMON}hwmon2/temp2_label`]: "temp1\n",
    [`${HWMON}hwmon2/temp3_input`]: new TimedOut("read", 5_000),
  };
  const { metrics = [], states } = new FakeHost({ files }).check(plugin);
  assert.deepEqual(
    metrics.map(({ labels, value }) => [labels?.chip, labels?.sensor, value]),
    [
      ["nvme", "temp1", 20],
      ["nvme", "temp1 (temp2)", 21],
      ["unknown", "temp1", 25],
      ["nvme.2", "temp1", 30],
    ],
  );
  assert.deepEqual(states[0]?.extraInfo, { unreadable: "1 of 5" });
});

test("nothing to watch, nothing granted, nothing understood", () => {
  const report = new FakeHost().check(plugin);
  assert.equal(report.supported, false);
  assert.equal(report.states[0]?.reason, "no temperature sensor on this machine");
  assert.throws(() => new FakeHost({ denied: ["sysfs"] }).check(plugin), Denied);
  const sensors = { "a/b": { critical: 1 } };
  for (const config of ["", "[]", { warn: 200 }, { warn: "x" }, { sensors }, { sensors: 3 }]) {
    assert.throws(() => new FakeHost({ config }).check(plugin), CheckFailed);
  }
});

test("any files are survived", () => {
  const letters = [...encodeText('0123456789-. \n\t\\nvmeä{}":,'), 0x80, 0xff, 0xc3];
  let seed = 1;
  const below = (limit: number) => {
    seed = (seed * 48_271) % 2_147_483_647; // the minimal standard generator: the same files every time
    return seed % limit;
  };
  const bytes = () => Uint8Array.from({ length: below(16) }, () => letters[below(letters.length)] ?? 0);
  const names = ["name", "temp1_input", "temp1_label", "temp2_input", "temp_input"];
  for (let round = 0; round < 300; round++) {
    const files: Machine["files"] = {};
    for (let file = 0; file < 20; file++) files[`${HWMON}hwmon${below(4)}/${names[below(5)]}`] = bytes();
    const report = new FakeHost({ files, state: new Map([["hot", bytes()]]) }).check(plugin);
    assert.ok((report.metrics ?? []).length <= 20);
  }
});
