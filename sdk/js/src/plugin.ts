/** What an author gives: the plugin as one object, the default export of its entry module. */

import type { Message } from "./kmsg.ts";
import type { CheckContext, Event, Report } from "./types.ts";

/** One metric that a component gives. */
export interface MetricDescription {
  /** Full Prometheus name. */
  readonly name: string;
  /** Help text with the unit. */
  readonly help: string;
  /** Upper bounds of a histogram's buckets, ascending. */
  readonly buckets?: readonly number[];
}

/** One component. Each is scheduled, limited and shown by itself. */
export interface Component {
  /** Unique on a machine: lower-case letters, digits, `-`, `.`, `_`, `/`; 1 to 128 bytes. */
  readonly name: string;
  /** One line. */
  readonly description: string;
  /** For trigger-by-tag; at most 32. Left out: the name alone. */
  readonly tags?: readonly string[];
  /** Between two scheduled checks; at least 1, by default 60. */
  readonly intervalSeconds?: number;
  /** Runs only when triggered. */
  readonly manual?: boolean;
  /** What an operator's set-healthy does; `history` reports `marks`. */
  readonly setHealthy?: "unsupported" | "clears-events" | "marks";
  readonly metrics?: readonly MetricDescription[];
  /** JSON Schema of its configuration, if it takes one. */
  readonly configSchema?: object;
}

/** A plugin. Nothing that its functions keep survives a call. */
export interface Plugin {
  /** For people; `0.1.0` if left out. */
  readonly version?: string;
  /** At least one, at most 64. */
  readonly components: readonly Component[];
  /**
   * Judges the component `context.component`. An `AccessError` that passes through becomes a state that says which
   * source did not answer; any other exception is a failure of the checker, and the daemon's log has its stack.
   */
  check(context: CheckContext): Report;
  /** Judges the moment without history, for `gpud scan` and manual triggers; the report is not kept. */
  scan?(context: CheckContext): Report;
  /** Wants kernel log messages as they come. */
  readonly kmsg?: KmsgWatcher;
}

/** Turns kernel log messages into events. */
export interface KmsgWatcher {
  /** Regular expressions (RE2 syntax, unanchored) that pick messages by their first line; at most 64 of 1 KiB. */
  patterns(component: string): string[];
  /** Messages, oldest first and at most 512. A batch that fails is tried three times. */
  onMessages(context: CheckContext, messages: Message[]): Event[];
}

/** The plugin, with its types checked: `export default definePlugin({ … })`. */
export function definePlugin(plugin: Plugin): Plugin {
  return plugin;
}
