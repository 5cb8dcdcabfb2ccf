/**
 * Small values that survive from call to call and across restarts. Grant: `state: true`.
 *
 * At most 256 keys of at most 256 bytes, 64 KiB a value, 1 MiB in all; beyond is `TooLarge`. What a call writes is kept
 * only when the call ends well.
 */

import wit from "#host/state";
import { ask } from "./host/ask.ts";
import { decodeText, encodeText } from "./text.ts";

/** The value of a key, if there is one. */
export function get(key: string): Uint8Array | undefined {
  return ask(() => wit.get(key)) ?? undefined;
}

/** The value of a key as text, if there is one. */
export function getText(key: string): string | undefined {
  const value = get(key);
  return value === undefined ? undefined : decodeText(value);
}

/** Sets a key. */
export function set(key: string, value: Uint8Array | string): void {
  ask(() => wit.set(key, typeof value === "string" ? encodeText(value) : value));
}

/** Removes a key; removing what is not there is fine. */
export function remove(key: string): void {
  ask(() => wit.delete(key));
}

/** Keys that begin with a prefix, sorted. */
export function keys(prefix = ""): string[] {
  return ask(() => wit.keys(prefix));
}
