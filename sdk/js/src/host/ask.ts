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
