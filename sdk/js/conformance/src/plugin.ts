/**
 * Asks every capability once, from inside a component, and says what each answered: a test of the bridge, not a
 * checker.
 */

import {
  AccessError,
  config,
  decodeText,
  definePlugin,
  degraded,
  exec,
  gauge,
  healthy,
  history,
  kmsg,
  log,
  net,
  nvml,
  reportOf,
  state,
  sysfs,
} from "../../src/index.ts";

function answerOf(ask: () => unknown): unknown {
  try {
    return ask();
  } catch (error) {
    return error instanceof AccessError ? `${error.name}: ${error.message}` : `unexpected ${String(error)}`;
  }
}

export default definePlugin({
  components: [{ name: "probe-js", description: "Asks every capability" }],

  check(context) {
    const { raise } = config.document();
    if (raise !== undefined) throw new TypeError(String(raise));
    state.set("a", "1");
    state.set("b", Uint8Array.of(255));
    state.remove("a");
    console.log("printed", { a: 1 });
    log.warn("warned");
    const answers = {
      trigger: context.trigger,
      date: [Date.now() - context.now, new Date().getTime() - context.now, new Date(0).toISOString()],
      read: answerOf(() => sysfs.readText("/proc/sys/kernel/ostype")),
      readGlob: answerOf(() => sysfs.readGlob("/proc/sys/kernel/ostyp?").map(sysfs.textOf)),
      list: answerOf(() => sysfs.listDirectory("/proc/sys/kernel").length),
      count: answerOf(() => sysfs.countEntries("/proc/sys/kernel").length),
      link: answerOf(() => sysfs.readLink("/proc/self")),
      stat: answerOf(() => sysfs.stat("/proc/sys/kernel/ostype").kind),
      statvfs: answerOf(() => sysfs.statvfs("/").totalBytes > 0),
      statvfsAll: answerOf(() =>
        sysfs
          .statvfsAll(["/", "/no/such/path"])
          .map((usage) => (usage instanceof Error ? usage.name : usage.totalBytes > 0)),
      ),
      denied: answerOf(() => sysfs.read("/etc/shadow")),
      tooLarge: answerOf(() => sysfs.read("/proc/sys/kernel/ostype", 1)),
      state: answerOf(() => [state.keys(), state.get("b")?.length, state.get("c") === undefined]),
      history: answerOf(() => [history.available(), history.ownEvents(0), history.setHealthyMarks(0)]),
      reboots: answerOf(() => history.reboots(0).length),
      kmsg: answerOf(() => kmsg.readBack(["."], 3).messages.length),
      program: answerOf(() => decodeText(exec.runProgram("uname", ["-s"]).stdout)),
      bash: answerOf(() => exec.runBash("exit 3").exitCode),
      tcp: answerOf(() => net.tcpConnect("127.0.0.1", 1)),
      http: answerOf(() => net.httpGet(1)),
      grpc: answerOf(() => net.grpcUnary("/run/gpud-probe.sock", "/a.B/C")),
      library: answerOf(() => nvml.libraryStatus()),
      devices: answerOf(() => nvml.devices()),
    };
    const verdict = degraded(context, "asked", {
      extraInfo: { data: JSON.stringify(answers) },
      subject: { gpu: { uuid: "GPU-1" } },
      recovery: ["reboot", { at: context.now }],
      evidence: [{ kmsg: 1 }],
      error: "an error",
      suggestedActions: { description: "look", repairActions: ["odd-action"] },
    });
    const subject = { port: { device: "mlx5_0", port: 1 } };
    const merge = { key: "k", windowSeconds: 60 };
    return reportOf(verdict, {
      events: [{ time: context.now, name: "asked", type: "info", message: "x", subject, merge }],
      metrics: [gauge("probe_gauge", 1.5, { a: "b" }), { name: "probe_total", value: 2, kind: "counter" }],
    });
  },

  scan: (context) => reportOf(healthy(context, "looked")),

  kmsg: {
    patterns: () => ["gpud-probe"],
    onMessages: (_, messages) =>
      messages.map(({ time, text, sequence }) => {
        return { time, name: "probed", type: "warning", message: text, evidence: [{ kmsg: sequence }] };
      }),
  },
});
