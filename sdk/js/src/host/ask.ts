// Calls of the host, with its errors as exceptions.

import { AccessError, accessError } from "../errors.ts";
import type { WitAccessError, WitResult } from "./values.ts";

/** Runs a call; what the host throws becomes an `AccessError`. */
export function ask<T>(call: () => T): T {
  try {
    return call();
  } catch (error) {
    const payload = (error as { payload?: WitAccessError } | null)?.payload;
    throw payload?.tag === undefined ? error : accessError(payload);
  }
}

/** The value of a nested result, or its error. */
export function settled<T>(result: WitResult<T>): T | AccessError {
  return result.tag === "ok" ? result.val : accessError(result.val as WitAccessError);
}

/** Settles one property of each record of an answer, in place: nobody else has them, and there may be thousands. */
export function settleAll<Record extends object>(records: object[], key: keyof Record): Record[] {
  const settling = records as { [name: PropertyKey]: unknown }[];
  for (const record of settling) record[key] = settled(record[key] as WitResult<unknown>);
  return settling as Record[];
}
