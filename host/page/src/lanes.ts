// Arranges entries of the history for the timeline: lanes, and bins of one lane.

import { millis } from './format';
import { groupOf, type GroupName, GROUPS } from './groups';
import type { Entry } from './types';

/** Returns when an entry happened last, in milliseconds. */
export function timeOf(entry: Entry): number | undefined {
  return millis(entry.last_time) ?? millis(entry.time);
}

/** How bad an entry is: 0 is no trouble, 3 is the worst. */
export type Weight = 0 | 1 | 2 | 3;

export const WEIGHTS = ['information', 'warning', 'critical', 'fatal'] as const;

/** Returns how bad an entry is. */
export function weightOf(entry: Entry): Weight {
  const word = entry.kind === 'health' ? entry.to : entry.severity;
  switch (word) {
    case 'Unhealthy':
    case 'Critical':
      return 2;
    case 'Fatal':
      return 3;
    case 'Degraded':
    case 'Warning':
      return 1;
    default:
      return 0;
  }
}

export interface Bin {
  /** Position from 0 to the number of bins. */
  at: number;
  weight: Weight;
  entries: Entry[];
}

export interface Lane {
  name: GroupName;
  bins: Bin[];
}

/** Puts entries between `from` and `to` (milliseconds) into bins; lanes without any are left in if they are asked for. */
export function lanesOf(entries: Entry[], from: number, to: number, bins: number, plugins: ReadonlySet<string>): Lane[] {
  const lanes = new Map<GroupName, Map<number, Bin>>();
  const width = Math.max(1, to - from) / bins;
  for (const entry of entries) {
    const time = timeOf(entry);
    if (time === undefined || time < from || time > to) continue;
    const name = entry.subject?.kind === 'gpu' ? 'GPUs' : groupOf(entry.component, plugins.has(entry.component));
    const lane = lanes.get(name) ?? new Map<number, Bin>();
    lanes.set(name, lane);
    const at = Math.min(bins - 1, Math.floor((time - from) / width));
    const bin = lane.get(at) ?? { at, weight: 0, entries: [] };
    lane.set(at, bin);
    bin.entries.push(entry);
    bin.weight = Math.max(bin.weight, weightOf(entry)) as Weight;
  }
  return GROUPS.filter((name) => lanes.has(name)).map((name) => ({ name, bins: [...(lanes.get(name)?.values() ?? [])].sort((a, b) => a.at - b.at) }));
}

const MINUTE = 60_000;
const STEPS = [1, 5, 10, 30, 60, 180, 360, 720, 1440, 2880].map((minutes) => minutes * MINUTE);

/** Returns moments for the axis: about `most` of them, at full minutes, hours or days of the viewer's zone. */
export function ticks(from: number, to: number, most: number, offset: number): number[] {
  const step = STEPS.find((size) => (to - from) / size <= most) ?? STEPS[STEPS.length - 1] ?? MINUTE;
  const found: number[] = [];
  for (let at = Math.ceil((from + offset) / step) * step - offset; at <= to; at += step) found.push(at);
  return found;
}
