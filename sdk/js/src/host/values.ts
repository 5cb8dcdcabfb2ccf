// Values of the contract as the componentizer has them.

export type WitResult<T> = { tag: "ok"; val: T } | { tag: "err"; val: WitAccessError };

export interface WitCase {
  tag: string;
  val?: unknown;
}

export type WitAccessError =
  | { tag: "too-large"; val: { what: string; size: number; limit: number } }
  | { tag: "timed-out"; val: { what: string; afterMs: number; lastGood: number | null } }
  | { tag: string; val: string };

export interface WitEvent {
  time: number;
  name: string;
  eventType: WitCase;
  message: string;
  subject: WitCase | null;
  evidence: WitCase[];
  extraInfo: [string, string][];
  merge: { key: string; windowSeconds: number } | null;
  extra: [string, string][];
}
