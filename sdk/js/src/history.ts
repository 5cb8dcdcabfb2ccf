/** What the daemon remembers for this component. Grant: `history: true`. */

import wit from "#host/history";
import { ask } from "./host/ask.ts";
import { eventFromWit } from "./host/events.ts";
import type { Event } from "./types.ts";

/** One stored event, without its merge rule. */
export interface StoredEvent {
  readonly event: Event;
  /** How many times it was seen. */
  readonly count: number;
  /** When it was last seen. */
  readonly lastTime: number;
}

/** This component's events in seconds later than that of `since`, newest first; at most `limit` (at most 10,000). */
export function ownEvents(since: number, limit = 1_000): StoredEvent[] {
  return ask(() => wit.ownEvents(since, limit)).map(({ event, count, lastTime }) => ({
    event: eventFromWit(event),
    count,
    lastTime,
  }));
}

/** When the machine came up, in seconds later than that of `since`, newest first. */
export function reboots(since: number): number[] {
  return ask(() => wit.reboots(since)).map(({ time }) => time);
}

/** When an operator set this component healthy, later than `since`, newest first. */
export function setHealthyMarks(since: number): number[] {
  return ask(() => wit.setHealthyMarks(since));
}

/** Whether there is a store behind this; not in `gpud scan`, where all lists are empty. */
export function available(): boolean {
  return wit.available();
}
