import assert from "node:assert/strict";
import { test } from "node:test";
import { onPlainMachine, warmable } from "../src/host/warm.ts";
import type { Wit } from "../src/host/wit.ts";

const real = () => {
  throw new Error("the host itself");
};

test("imports are played on a plain machine, and real again after it", () => {
  const sysfs = warmable("sysfs", { read: real, readGlob: real, stat: real } as unknown as Wit["sysfs"]);
  const state = warmable("state", { get: real, set: real } as unknown as Wit["state"]);
  assert.throws(() => sysfs.read("/x", 1), /the host itself/);
  onPlainMachine(() => {
    assert.deepEqual(sysfs.read("/x", 1), Uint8Array.of(0x31, 0x0a));
    const files = sysfs.readGlob("/sys/class/hwmon/hwmon*/temp*_input", 64, 64);
    const paths = files.map(({ path }) => path);
    assert.deepEqual(paths, ["/sys/class/hwmon/hwmon0/temp0_input", "/sys/class/hwmon/hwmon1/temp1_input"]);
    assert.equal(state.get("x"), null);
    assert.throws(
      () => sysfs.stat("/x"),
      (error: { payload?: unknown }) => {
        assert.deepEqual(error.payload, { tag: "not-found", val: "there is no host yet" });
        return true;
      },
    );
  });
  assert.throws(() => sysfs.read("/x", 1), /the host itself/);
  const fails = () => onPlainMachine(() => assert.fail("a plugin that throws"));
  assert.throws(fails, /a plugin that throws/);
  assert.throws(() => state.get("x"), /the host itself/);
});
