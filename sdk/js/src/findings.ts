/**
 * From plain results to a report, for checkers that look at the machine afresh each time.
 *
 * What is wrong now is the state; what began or ended since the last check are the events. A checker gives its
 * findings; `judge` words them and compares them by key with what was open at the last check. All of it is pure;
 * `memory` keeps what has to be remembered.
 */

import { byteLength, clip } from "./text.ts";
import {
  type CheckContext,
  type Event,
  type EventType,
  type Evidence,
  type HealthState,
  type RepairAction,
  type Report,
  type Subject,
  healthy,
  stateOf,
} from "./types.ts";

/** Findings that a reason names. */
const MAX_NAMED = 5;
/** Evidence of a state; the host takes 64. */
const MAX_EVIDENCE = 16;
/** Most findings of one check that become events and are remembered: what the host takes, with room. */
const MAX_FINDINGS = 500;
/** A finding that comes and goes is one event with a count within this time. */
const MERGE_SECONDS = 300;
/** Bytes of one text in a reason; the host takes 4 KiB in all. */
const MAX_TEXT = 512;
/** Bytes of a key and of what a finding is about; the host takes 128 of a subject. */
export const MAX_KEY = 120;
/** Bytes of the memory; the host takes 64 KiB of a value. */
const MAX_MEMORY = 60 * 1024;

/** A fact to report. */
export interface Finding {
  /**
   * What makes it the same at the next check; numbers that change have no place in it. A key appears once in a
   * check.
   */
  readonly key: string;
  /** Name of the event when it begins; its end is the event `‹name›_cleared`. */
  readonly event: string;
  /** In words. */
  readonly text: string;
  /** How healthy the component is in the meantime. A healthy finding gives events, and no word in the state. */
  readonly health: "healthy" | "degraded" | "unhealthy";
  /** How serious the event is: warning, or critical for what is unhealthy, if left out. */
  readonly type?: EventType;
  readonly action?: RepairAction;
  /** What to do, in words. */
  readonly advice?: string;
  readonly subject?: Subject;
  /** The file it was read from. */
  readonly file?: string;
}

/** What was open at the last check: key to the name of its event. */
export type Open = ReadonlyMap<string, string>;

/** From what `save` gave; anything else is nothing. */
export function restore(saved: string | undefined): Open {
  try {
    const entries = Object.entries(JSON.parse(saved ?? "{}") as object);
    return new Map(entries.filter((entry): entry is [string, string] => typeof entry[1] === "string"));
  } catch {
    return new Map();
  }
}

/** As text; nothing where there is nothing to remember, or too much. */
export function save(open: Open): string | undefined {
  if (open.size === 0) return undefined;
  const text = JSON.stringify(Object.fromEntries(open));
  return byteLength(text) <= MAX_MEMORY ? text : undefined;
}

/** The report of one check, and what to remember. `reason` is the one when nothing is wrong. */
export function judge(
  context: CheckContext,
  reason: string,
  findings: readonly Finding[],
  before: Open,
): { report: Report; open: Open } {
  const events: Event[] = [];
  const open = new Map<string, string>();
  for (const finding of findings.slice(0, MAX_FINDINGS)) {
    const key = clip(finding.key, MAX_KEY);
    // Another name of the same key is something that got worse or better.
    if (before.get(key) !== finding.event && !open.has(key)) events.push(began(context, finding, key));
    open.set(key, finding.event);
  }
  // What a full list left out is not over.
  if (findings.length <= MAX_FINDINGS) {
    const ended = [...before].filter(([key]) => !open.has(key)).slice(0, MAX_FINDINGS);
    events.push(...ended.map(([key, name]) => over(context, key, name)));
  }
  return { report: { states: [state(context, reason, findings)], events }, open };
}

/** The state alone: the worst finding decides, the first few are named. */
export function state(context: CheckContext, reason: string, findings: readonly Finding[]): HealthState {
  const wrong = findings.filter(({ health }) => health !== "healthy");
  const worst = [
    ...wrong.filter(({ health }) => health === "unhealthy"),
    ...wrong.filter(({ health }) => health !== "unhealthy"),
  ];
  const [first] = worst;
  if (first === undefined) return healthy(context, reason);
  let text = worst
    .slice(0, MAX_NAMED)
    .map((finding) => clip(finding.text, MAX_TEXT))
    .join("; ");
  if (worst.length > MAX_NAMED) text += `; and ${worst.length - MAX_NAMED} more`;
  const advised = worst.find(({ action }) => action !== undefined);
  const same = worst.every(({ subject }) => JSON.stringify(subject) === JSON.stringify(first.subject));
  const files = [...new Set(worst.flatMap(({ file }) => (file === undefined ? [] : [file])))];
  return stateOf(context, first.health, text, {
    recovery: ["next-good-reading"],
    evidence: files.slice(0, MAX_EVIDENCE).map((file) => ({ file })),
    ...(advised?.action === undefined
      ? {}
      : { suggestedActions: { description: clip(advised.advice ?? "", MAX_TEXT), repairActions: [advised.action] } }),
    ...(same && first.subject !== undefined ? { subject: first.subject } : {}),
  });
}

function began(context: CheckContext, finding: Finding, key: string): Event {
  const evidence: Evidence[] = finding.file === undefined ? [] : [{ file: finding.file }];
  const severity = { healthy: "info", degraded: "warning", unhealthy: "critical" }[finding.health];
  return {
    time: context.now,
    name: finding.event,
    type: finding.type ?? severity,
    message: clip(finding.text, MAX_TEXT),
    evidence,
    merge: { key, windowSeconds: MERGE_SECONDS },
    ...(finding.subject === undefined ? {} : { subject: finding.subject }),
  };
}

function over(context: CheckContext, key: string, name: string): Event {
  return {
    time: context.now,
    name: `${clip(name, MAX_KEY)}_cleared`,
    type: "info",
    message: `${key}: over`,
    merge: { key, windowSeconds: MERGE_SECONDS },
  };
}
