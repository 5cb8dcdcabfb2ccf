/** The kernel log, looked back at. (For messages as they come, give the plugin a `kmsg`.) Grant: `kmsg: true`. */

import wit from "#host/kmsg";
import { ask } from "./host/ask.ts";
import type { WitMessage } from "./host/wit.ts";
import type { Pairs } from "./types.ts";

/** One record of `/dev/kmsg` (kernel document `Documentation/ABI/testing/dev-kmsg`). */
export interface Message {
  /** Sequence number within this boot. */
  readonly sequence: number;
  /** Wall-clock time, Unix milliseconds. */
  readonly time: number;
  /** Severity: 0 emergency to 7 debug. */
  readonly level: number;
  /** 0 kernel, 1 user, 3 daemon and so on. What user space writes is never 0. */
  readonly facility: number;
  /** The first line, with the escapes of the kernel decoded. Control characters but the tab appear as `\xNN`. */
  readonly text: string;
  /** The dictionary lines (`SUBSYSTEM`, `DEVICE` …); empty for most records. */
  readonly dictionary: Pairs;
}

/** What a look back found. */
export interface LookBack {
  /** Oldest first; if there were more than asked for, the newest. */
  readonly messages: readonly Message[];
  /** How many records were looked at. */
  readonly scanned: number;
  /** How many records could not be understood. */
  readonly unparsable: number;
}

/** A message of the contract. */
export function messageFromWit(message: WitMessage): Message {
  return { ...message, dictionary: Object.fromEntries(message.dictionary ?? []) };
}

/**
 * Messages still in the ring buffer that match any of the patterns (RE2 syntax); at most 4,096. `Denied` when the
 * daemon may not read the log, `NotFound` when there is none.
 */
export function readBack(patterns: string[], maxMessages = 512): LookBack {
  const found = ask(() => wit.readBack(patterns, maxMessages));
  return { ...found, messages: found.messages.map(messageFromWit) };
}
