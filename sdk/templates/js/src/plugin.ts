/** Memory that runs short. `check` asks; `report` and `kibibytes` decide, and are pure. */

import {
  type CheckContext,
  type Report,
  config,
  definePlugin,
  degraded,
  gauge,
  healthy,
  sysfs,
} from "gpud-sdk";

/** What an operator can configure, as JSON schema. gpud refuses what does not fit. */
const SCHEMA = {
  type: "object",
  properties: { min_available_percent: { type: "integer", minimum: 0, maximum: 100 } },
  additionalProperties: false,
};

/** The number in a line of `/proc/meminfo`; `undefined` where there is none. */
export function kibibytes(meminfo: string, name: string): number | undefined {
  const line = meminfo.split("\n").find((line) => line.startsWith(`${name}:`)) ?? "";
  const value = /^ *([0-9]{1,15}) kB$/.exec(line.slice(name.length + 1));
  return value === null ? undefined : Number(value[1]);
}

/** The verdict. */
export function report(context: CheckContext, minPercent: number, meminfo: string): Report {
  const total = kibibytes(meminfo, "MemTotal");
  const available = kibibytes(meminfo, "MemAvailable");
  if (total === undefined || available === undefined || total === 0 || available > total) {
    return { states: [degraded(context, "/proc/meminfo does not say how much memory is available")] };
  }
  const metrics = [gauge("available_memory_bytes", available * 1024)];
  const percent = Math.floor((available * 100) / total);
  const reason = `${percent} % of memory is available`;
  if (percent >= minPercent) return { states: [healthy(context, reason)], metrics };
  const suggestedActions = {
    description: "end or limit what uses the memory",
    repairActions: ["check-user-app-and-gpu"],
  };
  return { states: [degraded(context, `${reason}, less than ${minPercent} %`, { suggestedActions })], metrics };
}

export default definePlugin({
  components: [
    {
      name: "{{name}}",
      description: "Memory that runs short",
      tags: ["memory"],
      metrics: [{ name: "available_memory_bytes", help: "Memory that programs can still get" }],
      configSchema: SCHEMA,
    },
  ],

  // A capability error that passes through becomes a state that says which source did not answer.
  check(context) {
    const { min_available_percent: minPercent = 5 } = config.document();
    return report(context, Number(minPercent), sysfs.readText("/proc/meminfo"));
  },
});
