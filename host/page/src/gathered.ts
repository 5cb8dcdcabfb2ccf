// Gathers entries of the history that say the same of one thing: a lost GPU changes the health of a dozen checks at once.

import { timeOf } from './lanes';
import type { Entry } from './types';

/** Entries that are shown as one. */
export interface Gathered {
  /** The entry that speaks for all. */
  entry: Entry;
  /** How many checks say so. */
  checks: number;
}

/** Changes that are further apart than this, in milliseconds, are not of one trouble. */
const TOGETHER = 120_000;

/** Gathers changes of health to the same health, of the same subject, at about the same time. The order stays. */
export function gathered(entries: Entry[]): Gathered[] {
  const groups: Entry[][] = [];
  const open = new Map<string, Entry[]>();
  for (const entry of entries) {
    const key = keyOf(entry);
    const group = key === undefined ? undefined : open.get(key);
    const newest = group?.[0];
    if (group && newest && Math.abs((timeOf(newest) ?? 0) - (timeOf(entry) ?? 0)) <= TOGETHER) {
      group.push(entry);
      continue;
    }
    const begun = [entry];
    groups.push(begun);
    if (key !== undefined) open.set(key, begun);
  }
  return groups.map((group) => ({ entry: commonest(group), checks: new Set(group.map((entry) => entry.component)).size }));
}

function keyOf(entry: Entry): string | undefined {
  if (entry.kind !== 'health' || !entry.subject) return undefined;
  return JSON.stringify([entry.to, entry.subject.uuid ?? entry.subject.label]);
}

const words = (entry: Entry) => entry.means || entry.message;

/** The first of the entries whose words most of them have. */
function commonest(group: Entry[]): Entry {
  const counts = new Map<string, number>();
  for (const entry of group) counts.set(words(entry), (counts.get(words(entry)) ?? 0) + 1);
  const most = Math.max(...counts.values());
  return (group.find((entry) => counts.get(words(entry)) === most) ?? group[0]) as Entry;
}
