/** The verdict, from plain values. Pure. */

import { type CheckContext, type Event, type Report, clip, findings, gauge, unsupported } from "gpud-sdk";
import type { Config, Limits } from "./config.ts";
import type { Sensor } from "./sensors.ts";

/** Name of the gauge. */
export const METRIC = "board_temperature_celsius";
const COOLING = "Check fans, air flow and the temperature of the room.";

/** How hot a sensor is, by its limits. */
export type Level = "healthy" | "degraded" | "unhealthy";

/** Sensors that are too hot, by key. */
export type Hot = ReadonlyMap<string, Level>;

const LEVELS: readonly string[] = ["degraded", "unhealthy"];
// What is reported when a sensor reaches a level.
const EVENTS = {
  healthy: { name: "temperature_normal", type: "info" },
  degraded: { name: "temperature_warning", type: "warning" },
  unhealthy: { name: "temperature_critical", type: "critical" },
};

/** From what `save` gave; anything else is nothing. */
export function restore(saved: string | undefined): Hot {
  if (saved === undefined) return new Map();
  try {
    const entries = Object.entries(JSON.parse(saved) as object);
    return new Map(entries.filter((entry): entry is [string, Level] => LEVELS.includes(entry[1] as string)));
  } catch {
    return new Map();
  }
}

/** As text. */
export function save(hot: Hot): string {
  return JSON.stringify(Object.fromEntries(hot));
}

/** Judges readings. `before` is what the last check gave back. */
export function judge(
  context: CheckContext,
  config: Config,
  sensors: readonly Sensor[],
  before: Hot,
): { report: Report; hot: Hot } {
  if (sensors.length === 0 && config.sensors.size === 0) {
    return { report: unsupported(context, "no temperature sensor on this machine"), hot: new Map() };
  }
  const found: findings.Finding[] = [];
  const events: Event[] = [];
  const hot = new Map<string, Level>();
  for (const { key, path, value } of sensors) {
    const was = before.get(key) ?? "healthy";
    const limits = config.sensors.get(key) ?? config.all;
    // A sensor that cannot be read this time stays what it was: no second event when it can be again.
    const level = value === undefined ? was : levelOf(value, limits);
    if (level !== "healthy") hot.set(key, level);
    if (value === undefined) continue;
    if (level === "healthy" && was === "healthy") continue;
    const text = `${key}: ${worded(value, level, limits)}`;
    const subject = { other: ["sensor", clip(key, findings.MAX_KEY)] } as const;
    const event = EVENTS[level];
    if (level !== was) events.push({ ...event, time: context.now, message: text, subject, evidence: [{ file: path }] });
    if (level !== "healthy") {
      const action = "hardware-inspection";
      found.push({ key, event: event.name, text, health: level, action, advice: COOLING, subject, file: path });
    }
  }
  const readable = sensors.filter(isReadable);
  for (const key of config.sensors.keys()) {
    if (readable.some((one) => one.key === key)) continue;
    const why = sensors.some((one) => one.key === key) ? "cannot be read" : "no such sensor";
    found.push({ key, event: "sensor_missing", text: `${key}: ${why}`, health: "degraded" });
  }
  if (readable.length === 0 && found.length === 0) {
    const text = `none of ${sensors.length} temperature sensors can be read`;
    found.push({ key: "all", event: "unreadable", text, health: "degraded" });
  }
  const [first] = readable;
  const hottest = first && readable.reduce((most, one) => (one.value > most.value ? one : most));
  const reason = hottest
    ? `${readable.length} sensors, hottest is ${hottest.key} with ${hottest.value.toFixed(1)} °C`
    : "";
  const state = findings.state(context, reason, found);
  const missing = sensors.length - readable.length;
  const extraInfo = missing > 0 ? { unreadable: `${missing} of ${sensors.length}` } : {};
  const metrics = readable.map(({ chip, name, value }) => gauge(METRIC, value, { chip, sensor: name }));
  return { report: { states: [{ ...state, extraInfo }], events, metrics }, hot };
}

function isReadable(sensor: Sensor): sensor is Sensor & { value: number } {
  return sensor.value !== undefined;
}

function levelOf(value: number, { warn, critical }: Limits): Level {
  return value >= critical ? "unhealthy" : value >= warn ? "degraded" : "healthy";
}

function worded(value: number, level: Level, { warn, critical }: Limits): string {
  const now = `${value.toFixed(1)} °C`;
  if (level === "healthy") return `${now}, below ${warn.toFixed(1)} °C again`;
  return level === "degraded"
    ? `${now}, warning is ${warn.toFixed(1)} °C`
    : `${now}, critical is ${critical.toFixed(1)} °C`;
}
