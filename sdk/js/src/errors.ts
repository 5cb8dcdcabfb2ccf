/**
 * Why a source of the machine gave no answer, and why a check gave no report.
 *
 * Trouble with a source is not trouble with the node. Let an `AccessError` pass through `check`, and the host says
 * which source did not answer instead of calling the node healthy or broken; catch it where you know what it means.
 */

import type { WitAccessError } from "./host/values.ts";

/** The checker could not do its work; the message says how. */
export class CheckFailed extends Error {
  override name = "CheckFailed";
}

/** A capability did not answer. Each text begins with what was asked. */
export class AccessError extends Error {
  /** The case of `access-error` in the contract. */
  readonly case: string = "other";
  /** The host's text. */
  readonly what: string;

  constructor(what: string, message: string = what) {
    super(message);
    this.name = new.target.name;
    this.what = what;
  }
}

/** Not granted by the operator (the text names the line to add) or refused by the kernel. */
export class Denied extends AccessError {
  override readonly case = "denied";
  constructor(what: string) {
    super(what, `${what}: permission denied`);
  }
}

/** The source exists but cannot do this. */
export class NotSupported extends AccessError {
  override readonly case = "not-supported";
  constructor(what: string) {
    super(what, `${what}: not supported`);
  }
}

/** The file, program, device or library is not there. */
export class NotFound extends AccessError {
  override readonly case = "not-found";
  constructor(what: string) {
    super(what, `${what}: not found`);
  }
}

/** The answer is larger than allowed; no part of it is given. */
export class TooLarge extends AccessError {
  override readonly case = "too-large";
  /** Bytes or entries, as far as they were counted. */
  readonly size: number;
  /** The limit that was broken. */
  readonly limit: number;
  constructor(what: string, size = 0, limit = 0) {
    super(what, `${what}: ${size} is more than the limit of ${limit}`);
    this.size = size;
    this.limit = limit;
  }
}

/** No answer in time. */
export class TimedOut extends AccessError {
  override readonly case = "timed-out";
  /** How long was waited, in milliseconds. */
  readonly afterMs: number;
  /** When the source last answered, in Unix milliseconds. */
  readonly lastGood: number | null;
  constructor(what: string, afterMs = 0, lastGood: number | null = null) {
    super(what, `${what}: no answer for ${afterMs} ms`);
    this.afterMs = afterMs;
    this.lastGood = lastGood;
  }
}

/** The device behind the source is gone (GPU lost). */
export class SourceLost extends AccessError {
  override readonly case = "source-lost";
  constructor(what: string) {
    super(what, `${what}: lost`);
  }
}

/** The device behind the source wants a reset. */
export class NeedsReset extends AccessError {
  override readonly case = "needs-reset";
  constructor(what: string) {
    super(what, `${what}: needs a reset`);
  }
}

/** The argument cannot be used. */
export class InvalidArgument extends AccessError {
  override readonly case = "invalid-argument";
}

/** This call's budget of host calls or bytes is spent. */
export class OverBudget extends AccessError {
  override readonly case = "over-budget";
}

/** Anything else. */
export class OtherError extends AccessError {
  override readonly case = "other";
}

/** The exception for a case of `access-error`. */
export function accessError(error: WitAccessError): AccessError {
  const { tag, val } = error;
  if (typeof val !== "string") {
    return "size" in val
      ? new TooLarge(val.what, val.size, val.limit)
      : new TimedOut(val.what, val.afterMs, val.lastGood);
  }
  switch (tag) {
    case "denied":
      return new Denied(val);
    case "not-supported":
      return new NotSupported(val);
    case "not-found":
      return new NotFound(val);
    case "source-lost":
      return new SourceLost(val);
    case "needs-reset":
      return new NeedsReset(val);
    case "invalid-argument":
      return new InvalidArgument(val);
    case "over-budget":
      return new OverBudget(val);
    default:
      return new OtherError(val);
  }
}

/** The case of `access-error` for an exception. */
export function accessErrorToWit(error: AccessError): WitAccessError {
  if (error instanceof TooLarge) {
    return { tag: "too-large", val: { what: error.what, size: error.size, limit: error.limit } };
  }
  if (error instanceof TimedOut) {
    return { tag: "timed-out", val: { what: error.what, afterMs: error.afterMs, lastGood: error.lastGood } };
  }
  return { tag: error.case, val: error.what };
}
