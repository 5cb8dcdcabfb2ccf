/**
 * Write a gpud checker in JavaScript or TypeScript.
 *
 *     import { definePlugin, healthy, reportOf, sysfs } from "gpud-sdk";
 *
 *     export default definePlugin({
 *       components: [{ name: "uptime", description: "How long the machine has been up" }],
 *       check(context) {
 *         const text = sysfs.readText("/proc/uptime"); // a capability error becomes an honest state
 *         return reportOf(healthy(context, `up for ${text.split(" ")[0]} s`));
 *       },
 *     });
 *
 * `npx gpud-sdk build` makes a WebAssembly component of it. The capabilities (`config`, `exec`, `history`, `kmsg`,
 * `log`, `net`, `nvml`, `state`, `sysfs`) are namespaces of this module; those that the plugin uses are what it asks
 * the operator for. Every call runs in a fresh instance: keep what must survive in `state`, look back with `history`.
 */

export * as config from "./config.ts";
export * as exec from "./exec.ts";
export * as findings from "./findings.ts";
export * as history from "./history.ts";
export * as kmsg from "./kmsg.ts";
export * as log from "./log.ts";
export * as memory from "./memory.ts";
export * as net from "./net.ts";
export * as nvml from "./nvml.ts";
export * as state from "./state.ts";
export * as sysfs from "./sysfs.ts";
export {
  AccessError,
  CheckFailed,
  Denied,
  InvalidArgument,
  NeedsReset,
  NotFound,
  NotSupported,
  OtherError,
  OverBudget,
  SourceLost,
  TimedOut,
  TooLarge,
} from "./errors.ts";
export { definePlugin } from "./plugin.ts";
export type { Component, KmsgWatcher, MetricDescription, Plugin } from "./plugin.ts";
export { byteLength, clip, decodeText, encodeText } from "./text.ts";
export * from "./types.ts";
