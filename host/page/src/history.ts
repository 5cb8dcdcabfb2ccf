// Reads the history page by page, newest first, within a bound.

import { useEffect, useState } from 'preact/hooks';
import { ApiError, json, now } from './api';
import type { Entry, History } from './types';

/** Most entries that the page holds; a storm can have a hundred thousand. */
export const MOST_ENTRIES = 5_000;
const PAGE = 1_000;

export interface Read {
  entries: Entry[];
  /** There are more than the page holds. */
  isCut: boolean;
  problem: string;
  isReading: boolean;
}

/** Reads entries since a moment (milliseconds), of one component or all. */
export async function readHistory(since: number, component: string, most: number, signal: AbortSignal): Promise<{ entries: Entry[]; isCut: boolean }> {
  const entries: Entry[] = [];
  let before = '';
  for (;;) {
    const query = new URLSearchParams({ since: new Date(since).toISOString(), limit: String(Math.min(PAGE, most - entries.length)) });
    if (component) query.set('component', component);
    if (before) query.set('before', before);
    const page = await json<History>(`v1/history?${query.toString()}`, { signal });
    entries.push(...page.entries);
    if (!page.next || !page.entries.length) return { entries, isCut: false };
    if (entries.length >= most) return { entries, isCut: true };
    before = page.next;
  }
}

/** Returns the entries of the last `range` milliseconds, read again when `changes` does. */
export function useHistory(range: number, component: string, changes: number, most = MOST_ENTRIES): Read {
  const [read, setRead] = useState<Read>({ entries: [], isCut: false, problem: '', isReading: true });
  useEffect(() => {
    const abort = new AbortController();
    readHistory(now() - range, component, most, abort.signal).then(
      ({ entries, isCut }) => setRead({ entries, isCut, problem: '', isReading: false }),
      (error: unknown) => {
        if (abort.signal.aborted) return;
        const problem = error instanceof ApiError ? error : new ApiError(0, 'gpud does not answer');
        setRead((old) => ({ ...old, isReading: false, problem: problem.status === 404 ? 'This gpud has no history.' : problem.message }));
      },
    );
    return () => {
      abort.abort();
    };
  }, [range, component, changes, most]);
  return read;
}
