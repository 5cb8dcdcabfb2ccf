/** The bounds that the host holds a plugin to, so that a test finds what would be refused. Pure. */

import type { Plugin } from "./plugin.ts";
import { byteLength } from "./text.ts";
import type { Event, Evidence, HealthState, Metric, Pairs, Report, Subject } from "./types.ts";

const MAX_TEXT = 4_096;
const MAX_INFO = 65_536;
const MAX_NAME = 128;
const MAX_PAIRS = 64;
/** How far into the future a time may be, milliseconds. */
const MAX_AHEAD = 5 * 60 * 1_000;

/** What the host would refuse in a report; empty when it is fine. */
export function ofReport(report: Report, now: number): string[] {
  const { states, events = [], metrics = [], supported = true } = report;
  return [
    ...count("states", states.length, 256),
    ...count("metrics", metrics.length, 4_096),
    ...(supported && states.length === 0 ? ["a report without a state"] : []),
    ...states.flatMap((state, index) => ofState(state, now).map((problem) => `state ${index}: ${problem}`)),
    ...metrics.flatMap((metric, index) => ofMetric(metric).map((problem) => `metric ${index}: ${problem}`)),
    ...ofEvents(events, now),
  ];
}

/** What the host would refuse in a list of events. */
export function ofEvents(events: readonly Event[], now: number): string[] {
  return [
    ...count("events", events.length, 1_024),
    ...events.flatMap((event, index) => ofEvent(event, now).map((problem) => `event ${index}: ${problem}`)),
  ];
}

/** What the host would refuse in a plugin's description. */
export function ofPlugin(plugin: Plugin): string[] {
  const problems: string[] = [];
  const components = plugin?.components;
  if (!Array.isArray(components) || components.length === 0) problems.push("no components");
  if (typeof plugin?.check !== "function") problems.push("no function `check`");
  const seen = new Set<string>();
  for (const component of components ?? []) {
    const { name, description, tags = [], intervalSeconds = 60, metrics = [], configSchema } = component;
    if (!/^[a-z0-9._/-]{1,128}$/.test(name))
      problems.push(`name ${JSON.stringify(name)} is not 1 to 128 of a-z 0-9 - . _ /`);
    if (seen.has(name)) problems.push(`component \`${name}\` appears twice`);
    seen.add(name);
    problems.push(
      ...text("description", description, MAX_TEXT),
      ...count("tags", tags.length, 32),
      ...count("metric descriptions", metrics.length, 1_024),
      ...text("config schema", configSchema ? JSON.stringify(configSchema) : "", MAX_INFO),
    );
    if (!(intervalSeconds >= 1)) problems.push(`component \`${name}\`: interval below 1 s`);
  }
  return [...problems, ...count("components", components?.length ?? 0, 64)];
}

function ofState(state: HealthState, now: number): string[] {
  const { suggestedActions } = state;
  return [
    ...text("name", state.name ?? "", MAX_NAME),
    ...text("health", state.health, MAX_NAME),
    ...text("reason", state.reason, MAX_TEXT),
    ...text("error", state.error ?? "", MAX_TEXT),
    ...text("description", suggestedActions?.description ?? "", MAX_TEXT),
    ...count("repair actions", suggestedActions?.repairActions.length ?? 0, 16),
    ...count("recovery ways", state.recovery?.length ?? 0, 16),
    ...ofSubject(state.subject),
    ...ofEvidence(state.evidence),
    ...notAhead(state.time ?? 0, now),
    ...pairs("extra-info", state.extraInfo, MAX_INFO),
  ];
}

function ofEvent(event: Event, now: number): string[] {
  return [
    ...(event.name === "" ? ["no name"] : []),
    ...text("name", event.name, MAX_NAME),
    ...text("message", event.message, MAX_TEXT),
    ...ofSubject(event.subject),
    ...ofEvidence(event.evidence),
    ...pairs("extra-info", event.extraInfo, MAX_INFO),
    ...text("merge key", event.merge?.key ?? "", MAX_INFO / 4),
    ...(event.merge && event.merge.windowSeconds < 1 ? ["merge window of 0 s"] : []),
    ...notAhead(event.time, now),
  ];
}

function ofMetric(metric: Metric): string[] {
  return [
    ...(/^[A-Za-z0-9_:]{1,256}$/.test(metric.name)
      ? []
      : [`name ${JSON.stringify(metric.name)} is not a Prometheus name`]),
    ...count("labels", Object.keys(metric.labels ?? {}).length, 16),
    ...pairs("labels", metric.labels, 1_024),
    ...(Number.isFinite(metric.value) ? [] : [`${metric.name}: value ${metric.value} is not finite`]),
  ];
}

function ofSubject(subject: Subject | undefined): string[] {
  if (subject === undefined || subject === "node") return [];
  const limit = "mount" in subject ? MAX_TEXT : MAX_NAME;
  return Object.values(subject)
    .flatMap((part: unknown) => (typeof part === "string" ? [part] : Object.values(part as object)))
    .flatMap((part: unknown) => (typeof part === "string" ? text("subject", part, limit) : []));
}

function ofEvidence(evidence: readonly Evidence[] = []): string[] {
  const texts = evidence.flatMap((one) => Object.values(one) as unknown[]);
  return [
    ...count("evidence", evidence.length, MAX_PAIRS),
    ...texts.flatMap((one) => (typeof one === "string" ? text("evidence", one, MAX_TEXT) : [])),
  ];
}

function notAhead(time: number, now: number): string[] {
  return time > now + MAX_AHEAD ? [`time ${time} is in the future (now is ${now})`] : [];
}

function pairs(what: string, of: Pairs = {}, limit: number): string[] {
  const entries = Object.entries(of);
  return [
    ...count(what, entries.length, MAX_PAIRS),
    ...entries.flatMap(([key, value]) => [...text(what, key, MAX_NAME), ...text(what, String(value), limit)]),
  ];
}

function text(what: string, of: string, limit: number): string[] {
  const size = byteLength(of);
  return size > limit ? [`${what}: ${size} bytes, more than ${limit}`] : [];
}

function count(what: string, size: number, limit: number): string[] {
  return size > limit ? [`${size} ${what}, more than ${limit}`] : [];
}
