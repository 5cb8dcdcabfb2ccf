// What a verdict was drawn from, as text.

import type { Trouble } from './types';

/** Returns what the verdict on a trouble was drawn from. */
export function evidenceOf(trouble: Trouble): string[] {
  return trouble.states.flatMap((state) => (state.evidence ?? []).map(evidenceText)).filter(Boolean);
}

/** Returns one piece of evidence as text. */
export function evidenceText(one: unknown): string {
  if (typeof one === 'string') return one;
  if (typeof one !== 'object' || one === null) return '';
  const { kind, text } = one as { kind?: unknown; text?: unknown };
  if (typeof kind === 'string' && typeof text === 'string') return kind === 'kmsg' ? `kernel log, record ${text}` : text;
  return Object.entries(one)
    .filter(([, value]) => value !== null && value !== '')
    .map(([key, value]) => `${key.replace(/_/g, ' ')} ${typeof value === 'string' ? value : JSON.stringify(value)}`)
    .join(', ');
}
