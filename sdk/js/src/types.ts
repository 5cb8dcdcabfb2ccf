/**
 * The vocabulary of a check: verdicts, events, readings, and what a call may know of the moment.
 *
 * The types mirror `gpud:plugin/types` of the contract. Open sets also take a string of a later version. Times are
 * milliseconds since 1970-01-01T00:00:00Z.
 */

/** A string that is none of the known ones; keeps the known ones in an editor's list. */
export type OtherWord = string & {};

/** How healthy something is. */
export type Health = "healthy" | "degraded" | "unhealthy" | "initializing" | OtherWord;

/** What an operator should do. */
export type RepairAction =
  "ignore-no-action-required" | "reboot-system" | "hardware-inspection" | "check-user-app-and-gpu" | OtherWord;

/** How serious an event is. */
export type EventType = "unknown" | "info" | "warning" | "critical" | "fatal" | OtherWord;

/**
 * How a metric's value is to be understood. A counter's is an amount, not negative, to add to a count that the host
 * keeps; a histogram's is one observation, and the buckets stand in the descriptor.
 */
export type MetricKind = "gauge" | "counter" | "histogram" | OtherWord;

/** Why a check runs. */
export type Trigger = "startup" | "scheduled" | "manual" | "event" | "set-healthy" | OtherWord;

/** Keys with texts. */
export type Pairs = Readonly<Record<string, string>>;

/** What a state or an event is about: the node, a GPU by whatever is known of it, a port counted from 1, … */
export type Subject =
  | "node"
  | { readonly gpu: { readonly uuid?: string; readonly serial?: string; readonly pciId?: string } }
  | { readonly port: { readonly device: string; readonly port: number } }
  | { readonly mount: string }
  | { readonly unit: string }
  | { readonly other: readonly [kind: string, which: string] };

/** What a verdict was drawn from: a kernel record's sequence number, a file's path, the name of an NVML reading, … */
export type Evidence =
  { readonly kmsg: number } | { readonly file: string } | { readonly nvml: string } | { readonly other: string };

/** How a verdict that is not healthy clears; `at` is a time. */
export type Recovery = "next-good-reading" | "reboot" | "set-healthy" | { readonly at: number } | OtherWord;

/** What to do, in words and as actions, the most important first; at most 16. */
export interface SuggestedActions {
  readonly description: string;
  readonly repairActions: readonly RepairAction[];
}

/** What may be added to a verdict. */
export interface StateDetails {
  /** Usually the component's name. */
  readonly name?: string | null;
  /** When it was judged; `null` for states drawn from stored events. */
  readonly time?: number | null;
  /** Technical error behind the verdict. */
  readonly error?: string;
  readonly suggestedActions?: SuggestedActions;
  /** What it is about, when it is not the whole component. */
  readonly subject?: Subject;
  /** How it clears; any way is enough. Empty means: the next good reading. */
  readonly recovery?: readonly Recovery[];
  /** The host goes on showing it after later checks stop reporting it, until a way of `recovery` clears it. */
  readonly latch?: boolean;
  /** At most 64. */
  readonly evidence?: readonly Evidence[];
  /** Facts shown with it; at most 64 KiB a value. Built-in checkers keep one JSON document under `data`. */
  readonly extraInfo?: Pairs;
}

/** One verdict. Made by `healthy`, `degraded`, `unhealthy` or `stateOf`. */
export interface HealthState extends StateDetails {
  readonly health: Health;
  /** One line for a person; at most 4 KiB. */
  readonly reason: string;
}

/** Something that happened: a transition, not a condition. */
export interface Event {
  readonly time: number;
  /** For example `error_xid`; at most 128 bytes, not empty. */
  readonly name: string;
  readonly type: EventType;
  /** For a person; at most 4 KiB. */
  readonly message: string;
  readonly subject?: Subject;
  readonly evidence?: readonly Evidence[];
  /** Facts kept with it, given back by `history`. */
  readonly extraInfo?: Pairs;
  /** Events of one component with the same name and key whose times fall into one window are one row with a count. */
  readonly merge?: { readonly key: string; readonly windowSeconds: number };
}

/** One sample. The host adds the label `gpud_component`. */
export interface Metric {
  /** Full Prometheus name with its unit, for example `cpu_used_percent`. */
  readonly name: string;
  /** Finite. */
  readonly value: number;
  /** At most 16. */
  readonly labels?: Pairs;
  /** A gauge if left out. */
  readonly kind?: MetricKind;
}

/** What one check found. */
export interface Report {
  /** At least one unless `supported` is false. */
  readonly states: readonly HealthState[];
  /** Transitions seen by this check. */
  readonly events?: readonly Event[];
  readonly metrics?: readonly Metric[];
  /** False: this machine has nothing for this checker to watch; the component is then hidden. */
  readonly supported?: boolean;
}

/** What a call may know of the moment. Together with the answers of the capabilities it determines the report. */
export interface CheckContext {
  /** The component of the descriptor that is meant. */
  readonly component: string;
  /** Now. There is no other clock; in a component `Date` stands at it. */
  readonly now: number;
  readonly trigger: Trigger;
  /** Kernel's boot id; empty if unknown. */
  readonly bootId: string;
  /** When the machine booted; 0 if unknown. */
  readonly bootTime: number;
  /** When this component was last checked in this daemon's life. */
  readonly previousCheck: number | null;
  /** For later versions. */
  readonly extra: Pairs;
}

/** A state under the component's name, judged now. */
export function stateOf(
  context: CheckContext,
  health: Health,
  reason: string,
  details: StateDetails = {},
): HealthState {
  return { name: context.component, time: context.now, ...details, health, reason };
}

/** All well. */
export function healthy(context: CheckContext, reason: string, details?: StateDetails): HealthState {
  return stateOf(context, "healthy", reason, details);
}

/** Working, but needs attention. */
export function degraded(context: CheckContext, reason: string, details?: StateDetails): HealthState {
  return stateOf(context, "degraded", reason, details);
}

/** Not to be trusted with work. */
export function unhealthy(context: CheckContext, reason: string, details?: StateDetails): HealthState {
  return stateOf(context, "unhealthy", reason, details);
}

/** A report of one state. */
export function reportOf(state: HealthState, more: Omit<Report, "states"> = {}): Report {
  return { ...more, states: [state] };
}

/** Nothing on this machine for this checker to watch, and why. */
export function unsupported(context: CheckContext, reason: string): Report {
  return { states: [healthy(context, reason)], supported: false };
}

/** A gauge. */
export function gauge(name: string, value: number, labels: Pairs = {}): Metric {
  return { name, value, labels };
}
