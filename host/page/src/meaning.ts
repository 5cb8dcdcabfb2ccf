// What verdicts mean in words for a person: the wire has GPUd's words, and the summary says what they mean.

import type { Summary } from './types';

/** Returns what a verdict means in words for a person, where they are others than the check's own. */
export function meaningOf(summary: Summary, component: string, reason: string): string {
  const trouble = summary.troubles.flatMap((one) => one.states).find((state) => state.component === component && state.reason === reason);
  if (trouble) return trouble.means || reason;
  const isTrouble = summary.troubles.some((one) => one.states.some((state) => state.component === component));
  const named = isTrouble ? undefined : [...summary.healthy, ...summary.absent].find((one) => one.component === component);
  return named?.reason || reason;
}
