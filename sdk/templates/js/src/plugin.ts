/** Fans that turn slower than they should. `check` asks; `report` and `speed` decide, and are pure. */

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
  properties: { min_rpm: { type: "integer", minimum: 0 } },
  additionalProperties: false,
};

/** A fan's file, and its speed where that could be read. */
export interface Fan {
  readonly path: string;
  readonly rpm: number | undefined;
}

/** Revolutions per minute in a file of hwmon; `undefined` where it does not say. */
export function speed(text: string | undefined): number | undefined {
  return text !== undefined && /^[0-9]{1,9}$/.test(text) ? Number(text) : undefined;
}

/** The verdict. */
export function report(context: CheckContext, minRpm: number, fans: readonly Fan[]): Report {
  // `unsupported` would hide the component here.
  if (fans.length === 0) return { states: [healthy(context, "this machine shows no fans")] };
  const known = fans.flatMap(({ path, rpm }) => (rpm === undefined ? [] : [{ path, rpm }]));
  const metrics = known.map(({ path, rpm }) => gauge("fan_rpm", rpm, { fan: path }));
  const slow = known.filter(({ rpm }) => rpm < minRpm).map(({ path, rpm }) => `${path} at ${rpm} rpm`);
  if (slow.length > 0) {
    const reason = `${slow.length} of ${fans.length} fans are too slow: ${slow.slice(0, 8).join(", ")}`;
    const suggestedActions = { description: "look at these fans", repairActions: ["hardware-inspection"] };
    return { states: [degraded(context, reason, { suggestedActions })], metrics };
  }
  if (known.length === 0) return { states: [degraded(context, "no fan can be read")] };
  return { states: [healthy(context, `${known.length} fans turn`)], metrics };
}

export default definePlugin({
  components: [
    {
      name: "{{name}}",
      description: "Fans that turn slower than they should",
      tags: ["fans"],
      metrics: [{ name: "fan_rpm", help: "Speed of a fan, revolutions per minute" }],
      configSchema: SCHEMA,
    },
  ],

  // A capability error that passes through becomes a state that says which source did not answer.
  check(context) {
    const { min_rpm: minRpm = 300 } = config.document();
    const files = sysfs.readGlob("/sys/class/hwmon/hwmon*/fan*_input", 64, 256);
    const fans = files.map((file) => ({ path: file.path, rpm: speed(sysfs.textOf(file)) }));
    return report(context, Number(minRpm), fans);
  },
});
