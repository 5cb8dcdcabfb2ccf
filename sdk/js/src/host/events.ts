// Events and states between the SDK's types and the contract's.

import type { Event, Evidence, HealthState, Metric, Pairs, Recovery, Report, Subject } from "../types.ts";
import type { WitCase, WitEvent } from "./values.ts";

type Cases = Readonly<Record<string, WitCase | undefined>>;

const HEALTH = cases("healthy", "degraded", "unhealthy", "initializing");
const REPAIR = cases("ignore-no-action-required", "reboot-system", "hardware-inspection", "check-user-app-and-gpu");
const EVENT = cases("unknown", "info", "warning", "critical", "fatal");
const METRIC = cases("gauge", "counter", "histogram");
const RECOVERY = cases("next-good-reading", "reboot", "set-healthy");

/** The cases of an open set by their words, made once: a report may have thousands of the same. */
function cases(...words: string[]): Cases {
  return Object.assign(Object.create(null), Object.fromEntries(words.map((tag) => [tag, { tag }]))) as Cases;
}

/** A case of an open set; `other` for a word that the contract does not know. */
function word(value: string, known: Cases): WitCase {
  return known[value] ?? { tag: "other", val: value };
}

function pairs(of: Pairs | undefined): [string, string][] {
  if (of === undefined) return [];
  // By index, since an interpreter's iterator costs more than what is done with a pair.
  const list = Object.entries(of);
  for (let index = 0; index < list.length; index++) {
    const pair = list[index]!;
    if (typeof pair[1] !== "string") pair[1] = String(pair[1]);
  }
  return list;
}

function subjectToWit(subject: Subject | undefined): WitCase | null {
  if (subject === undefined) return null;
  if (subject === "node") return { tag: "node" };
  if ("gpu" in subject) {
    const { uuid = null, serial = null, pciId = null } = subject.gpu;
    return { tag: "gpu", val: { uuid, serial, pciId } };
  }
  const [[tag, val] = ["node", undefined]] = Object.entries(subject);
  return { tag, val };
}

function subjectFromWit(subject: WitCase | null): Subject | undefined {
  if (subject === null) return undefined;
  if (subject.tag === "node") return "node";
  return {
    [subject.tag]: subject.tag === "gpu" ? withoutNull(subject.val as object) : subject.val,
  } as unknown as Subject;
}

function withoutNull(of: object): object {
  return Object.fromEntries(Object.entries(of).filter(([, value]) => value !== null));
}

function evidenceToWit(evidence: readonly Evidence[] | undefined): WitCase[] {
  return (evidence ?? []).flatMap((one) => Object.entries(one).map(([tag, val]) => ({ tag, val })));
}

function recoveryToWit(way: Recovery): WitCase {
  return typeof way === "string" ? word(way, RECOVERY) : { tag: "at", val: way.at };
}

/** An event for the contract. */
export function eventToWit(event: Event): WitEvent {
  return {
    time: event.time,
    name: event.name,
    eventType: word(event.type, EVENT),
    message: event.message,
    subject: subjectToWit(event.subject),
    evidence: evidenceToWit(event.evidence),
    extraInfo: pairs(event.extraInfo),
    merge: event.merge ?? null,
    extra: [],
  };
}

/** A stored event. */
export function eventFromWit(event: WitEvent): Event {
  const subject = subjectFromWit(event.subject);
  return {
    time: event.time,
    name: event.name,
    type: event.eventType.tag === "other" ? String(event.eventType.val) : event.eventType.tag,
    message: event.message,
    ...(subject === undefined ? {} : { subject }),
    evidence: event.evidence.map(({ tag, val }) => ({ [tag]: val }) as unknown as Evidence),
    extraInfo: Object.fromEntries(event.extraInfo),
  };
}

function stateToWit(state: HealthState): object {
  const actions = state.suggestedActions;
  return {
    name: state.name ?? null,
    time: state.time ?? null,
    health: word(state.health, HEALTH),
    reason: state.reason,
    error: state.error ?? null,
    suggestedActions: actions
      ? { description: actions.description, repairActions: actions.repairActions.map((one) => word(one, REPAIR)) }
      : null,
    subject: subjectToWit(state.subject),
    recovery: (state.recovery ?? []).map(recoveryToWit),
    latch: state.latch ?? false,
    evidence: evidenceToWit(state.evidence),
    extraInfo: pairs(state.extraInfo),
    extra: [],
  };
}

function metricToWit(metric: Metric): object {
  return {
    name: metric.name,
    labels: pairs(metric.labels),
    value: metric.value,
    kind: word(metric.kind ?? "gauge", METRIC),
  };
}

/** A report for the contract. */
export function reportToWit(report: Report): object {
  if (!Array.isArray(report?.states)) throw new TypeError("a check gives a Report: { states: […] }");
  return {
    supported: report.supported ?? true,
    states: report.states.map(stateToWit),
    events: (report.events ?? []).map(eventToWit),
    metrics: (report.metrics ?? []).map(metricToWit),
    extra: [],
  };
}
