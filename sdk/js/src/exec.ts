/**
 * Programs of the machine. Grant: `exec: bash` for scripts (all that the daemon's user may do), or a list of program
 * paths.
 *
 * What a run starts is killed at the deadline and when the program ends. Environment: PATH,
 * HOME, LANG=C, and what `environment` adds.
 */

import wit from "#host/exec";
import { ask } from "./host/ask.ts";
import type { WitOptions } from "./host/wit.ts";
import type { Pairs } from "./types.ts";

/** How to run: 10 s and 64 KiB of each output if left out; at most 4 MiB. */
export interface Options {
  readonly timeoutMs?: number;
  readonly maxOutputBytes?: number;
  /** Additional environment: only names that the grant lists in `env`, else the call is `denied`. */
  readonly environment?: Pairs;
}

/** The result of a run. */
export interface Output {
  /** `null` when a signal ended it. */
  readonly exitCode: number | null;
  /** The signal that ended it. */
  readonly signal: number | null;
  /** First bytes of standard output; `decodeText` makes text of them. */
  readonly stdout: Uint8Array;
  /** First bytes of standard error. */
  readonly stderr: Uint8Array;
  /** Output was longer than the limit. */
  readonly truncated: boolean;
  /** Wall-clock milliseconds. */
  readonly durationMs: number;
}

/**
 * Runs one program without a shell. A name without a slash is looked up in the system's folders; the resolved path must be
 * granted. `NotFound` when there is none, `TimedOut` at the deadline.
 */
export function runProgram(program: string, args: readonly string[] = [], options: Options = {}): Output {
  return ask(() => wit.runProgram(program, [...args], complete(options)));
}

/** Runs a bash script, given on standard input. `TimedOut` when the deadline ended it. */
export function runBash(script: string, options: Options = {}): Output {
  return ask(() => wit.runBash(script, complete(options)));
}

function complete({ timeoutMs = 10_000, maxOutputBytes = 65_536, environment = {} }: Options): WitOptions {
  return { timeoutMs, maxOutputBytes, environment: Object.entries(environment) };
}
