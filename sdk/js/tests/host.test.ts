import assert from "node:assert/strict";
import { readFile, readdir } from "node:fs/promises";
import path from "node:path";
import { test } from "node:test";
import * as bounds from "../src/bounds.ts";
import { accessError, accessErrorToWit } from "../src/errors.ts";
import { eventFromWit, eventToWit, reportToWit } from "../src/host/events.ts";
import {
  AccessError,
  type Event,
  NotFound,
  type Plugin,
  TimedOut,
  TooLarge,
  degraded,
  exec,
  gauge,
  healthy,
  history,
  kmsg,
  net,
  nvml,
  reportOf,
  sysfs,
} from "../src/index.ts";
import { FakeHost, NOW, output } from "../src/testing.ts";

const plugin: Plugin = {
  components: [{ name: "c", description: "d" }],
  check: (context) => reportOf(healthy(context, "fine")),
};

test("errors go to the contract and back", () => {
  const cases = [
    "denied",
    "not-supported",
    "not-found",
    "source-lost",
    "needs-reset",
    "invalid-argument",
    "over-budget",
    "other",
  ];
  for (const tag of cases) {
    const error = accessError({ tag, val: "what" });
    assert.ok(error instanceof AccessError && error.message.startsWith("what"));
    assert.deepEqual(accessErrorToWit(error), { tag, val: "what" });
  }
  for (const error of [new TooLarge("f", 9, 4), new TimedOut("f", 5, 1)]) {
    assert.deepEqual(accessError(accessErrorToWit(error)), error);
  }
  assert.equal(accessErrorToWit(accessError({ tag: "new-case", val: "x" })).tag, "other");
});

test("events go to the contract and back", () => {
  const subjects = [
    "node",
    { gpu: { uuid: "GPU-1" } },
    { port: { device: "mlx5_0", port: 1 } },
    { other: ["dimm", "A1"] },
  ] as const;
  for (const subject of [...subjects, { mount: "/" }, { unit: "x.service" }]) {
    const event: Event = {
      time: 1,
      name: "e",
      type: "critical",
      message: "m",
      subject,
      evidence: [{ kmsg: 7 }],
      extraInfo: { a: "b" },
    };
    assert.deepEqual(eventFromWit(eventToWit(event)), event);
  }
  assert.deepEqual(eventToWit({ time: 1, name: "e", type: "odd", message: "" }).eventType, {
    tag: "other",
    val: "odd",
  });
});

test("a word is no property that all objects have, and facts are texts", () => {
  const facts = { count: 3 } as unknown as Record<string, string>;
  const event = eventToWit({ time: 1, name: "e", type: "constructor", message: "", extraInfo: facts });
  assert.deepEqual(event.eventType, { tag: "other", val: "constructor" });
  assert.deepEqual(event.extraInfo, [["count", "3"]]);
});

test("a report for the contract has all fields", () => {
  const context = new FakeHost().context(plugin);
  const state = degraded(context, "why", { recovery: ["reboot", { at: 5 }, "odd"], latch: true });
  const report = reportToWit({ states: [state], metrics: [gauge("m", 1)] }) as { states: Record<string, unknown>[] };
  assert.deepEqual(report.states[0]?.recovery, [
    { tag: "reboot" },
    { tag: "at", val: 5 },
    { tag: "other", val: "odd" },
  ]);
  assert.deepEqual(report.states[0]?.error, null);
  assert.throws(() => reportToWit(undefined as never), TypeError);
});

test("the bounds are the host's", () => {
  const context = new FakeHost().context(plugin);
  const state = healthy(context, "x");
  const event: Event = { time: NOW, name: "e", type: "info", message: "" };
  const cases: [Parameters<typeof bounds.ofReport>[0], RegExp][] = [
    [{ states: [] }, /without a state/],
    [{ states: Array(257).fill(state) as (typeof state)[] }, /257 states, more than 256/],
    [reportOf({ ...state, reason: "°".repeat(2_049) }), /state 0: reason: 4098 bytes/],
    [reportOf({ ...state, time: NOW + 600_000 }), /is in the future/],
    [reportOf({ ...state, subject: { unit: "x".repeat(200) } }), /state 0: subject: 200 bytes/],
    [reportOf(state, { events: [{ ...event, name: "" }] }), /event 0: no name/],
    [reportOf(state, { events: [{ ...event, merge: { key: "k", windowSeconds: 0 } }] }), /merge window of 0 s/],
    [reportOf(state, { metrics: [gauge("m", Number.NaN)] }), /metric 0: m: value NaN is not finite/],
    [reportOf(state, { metrics: [gauge("a b", 1)] }), /is not a Prometheus name/],
    [reportOf(state, { metrics: [gauge("m", 1, { l: "v".repeat(2_000) })] }), /labels: 2000 bytes/],
  ];
  for (const [report, problem] of cases) assert.match(bounds.ofReport(report, NOW).join(), problem);
  assert.deepEqual(bounds.ofReport(reportOf(state, { events: [event] }), NOW), []);
  assert.match(
    bounds.ofPlugin({ ...plugin, components: [{ name: "A B", description: "" }] }).join(),
    /is not 1 to 128/,
  );
  assert.match(bounds.ofPlugin({ ...plugin, components: [] }).join(), /no components/);
});

test("each capability answers from the machine", () => {
  const message = { sequence: 1, time: 2, level: 3, facility: 0, text: "NVRM: Xid", dictionary: { DEVICE: "x" } };
  const stored = {
    event: { time: NOW, name: "e", type: "info", message: "m", evidence: [], extraInfo: {} },
    count: 2,
    lastTime: NOW,
  };
  const usage = {
    totalBytes: 2, freeBytes: 1, availableBytes: 1, totalInodes: 9, freeInodes: 8, readOnly: false,
  };
  const host = new FakeHost({
    files: { "/proc/1/fd/0": "", "/proc/1/fd/1": "", "/sys/a": "x\n", "/sys/b": new TimedOut("/sys/b", 5_000) },
    links: { "/sys/l": "a" },
    filesystems: { "/": usage, "/mnt": new TimedOut("/mnt", 5_000) },
    programs: { lsblk: ([first]) => output(first ?? "none") },
    http: { "/run/x.sock /v": { status: 200, body: "°", headers: { a: "b" } } },
    tcp: { "h:1": 7 },
    grpc: { "/run/x.sock /a.B/C": (message) => ({ status: 0, statusMessage: "", message }) },
    messages: [message],
    events: [stored],
    reboots: [5_000, 9_000],
    gpus: [
      {
        temperature: (sensor: string) => (sensor === "core" ? 40 : new TimedOut("t", 5)),
        sramEccStatus: { aggregateUncorrectableL2: 7, thresholdExceeded: true },
        identity: { uuid: "GPU-1" },
      },
    ],
    nvml: { driverVersion: "570" },
  });
  host.run(() => {
    assert.deepEqual(sysfs.readGlob("/sys/?").map(sysfs.textOf), ["x", undefined]);
    assert.deepEqual(
      sysfs.listDirectory("/proc").map(({ kind }) => kind),
      ["directory"],
    );
    assert.deepEqual(sysfs.countEntries("/proc/*/fd"), [{ path: "/proc/1/fd", count: 2 }]);
    assert.equal(sysfs.readLink("/sys/l"), "a");
    const [space, none, dead] = sysfs.statvfsAll(["/", "/none", "/mnt"]);
    assert.ok(space && "totalBytes" in space && space.totalBytes === 2);
    assert.ok(none instanceof NotFound && dead instanceof TimedOut);
    assert.throws(() => sysfs.statvfsAll(Array(1_025).fill("/")), TooLarge);
    assert.throws(() => sysfs.read("/sys/../a"), /not an absolute path/);
    assert.throws(() => sysfs.read("/sys/a", 1), TooLarge);
    assert.equal(exec.runProgram("lsblk", ["-J"]).stdout.length, 2);
    assert.deepEqual(net.textOf(net.httpGet("/run/x.sock", "/v")), "°");
    assert.equal(net.tcpConnect("h", 1), 7);
    assert.deepEqual(net.grpcUnary("/run/x.sock", "/a.B/C", Uint8Array.of(1)).message, Uint8Array.of(1));
    assert.deepEqual(kmsg.readBack(["Xid"]).messages, [message]);
    assert.deepEqual(history.ownEvents(0), [stored]);
    assert.deepEqual(history.reboots(5_000), [9_000]);
    const [gpu] = nvml.devices();
    assert.equal(gpu?.temperature("core"), 40);
    assert.throws(() => gpu?.temperature("memory"), TimedOut);
    assert.equal(gpu?.sramEccStatus().thresholdExceeded, true);
    assert.throws(() => gpu?.power(), /not supported/);
    assert.equal(nvml.driverVersion(), "570");
  });
  assert.throws(() => sysfs.read("/sys/a"), /without a host/);
});

test("kernel messages are picked by pattern", () => {
  const watcher: Plugin = {
    ...plugin,
    kmsg: {
      patterns: () => ["Xid"],
      onMessages: (_, messages) =>
        messages.map(({ time, text }) => ({ time, name: "xid", type: "warning", message: text })),
    },
  };
  const message = (text: string) => ({ sequence: 1, time: NOW, level: 3, facility: 0, text, dictionary: {} });
  const events = new FakeHost().onMessages(watcher, [message("usb 1-1"), message("NVRM: Xid")]);
  assert.deepEqual(
    events.map(({ message }) => message),
    ["NVRM: Xid"],
  );
});

test("what a failed check kept is not kept", () => {
  const host = new FakeHost({ state: new Map([["k", new Uint8Array([1])]]) });
  const failing: Plugin = {
    ...plugin,
    check: () => {
      host.state.set("k", new Uint8Array([2]));
      throw new Error("no");
    },
  };
  assert.throws(() => host.check(failing), /no/);
  assert.deepEqual(host.state.get("k"), new Uint8Array([1]));
});

test("the copy of the contract is the contract", async (context) => {
  const contract = path.resolve("../../wit");
  const names = await readdir(contract).catch(() => []);
  if (names.length === 0) return context.skip("not in gpud's tree");
  for (const name of names.filter((one) => one.endsWith(".wit"))) {
    const message = `wit/${name} differs from the contract: cp ../../wit/*.wit wit/`;
    assert.equal(
      await readFile(path.resolve("wit", name), "utf8"),
      await readFile(path.join(contract, name), "utf8"),
      message,
    );
  }
});
