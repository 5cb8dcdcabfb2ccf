/** The exports of a component. Used by the entry that `gpud-sdk build` makes; not for authors. */

import wit from "#host/log";
import { AccessError, CheckFailed, accessErrorToWit } from "./errors.ts";
import { eventToWit, reportToWit } from "./host/events.ts";
import { onPlainMachine } from "./host/warm.ts";
import type { WitMessage } from "./host/wit.ts";
import type { Component, Plugin } from "./plugin.ts";
import type { CheckContext, Report, Trigger } from "./types.ts";
import { clip } from "./text.ts";

interface WitContext extends Omit<CheckContext, "trigger" | "extra"> {
  readonly trigger: { tag: string; val?: string };
  readonly extra: [string, string][];
}

// Where the clock stands: a component has none of its own, and asking for one would end it.
let now = 0;

/** `console` that writes to the daemon's log, and a `Date` that stands at the time of the check. */
function furnish(): void {
  const line =
    (level: "debug" | "info" | "warn" | "error") =>
    (...values: unknown[]) =>
      wit.write(level, values.map(shown).join(" "));
  const console = {
    debug: line("debug"),
    log: line("info"),
    info: line("info"),
    warn: line("warn"),
    error: line("error"),
  };
  const Clock = new Proxy(Date, {
    construct: (target, args, self) => Reflect.construct(target, args.length ? args : [now], self) as object,
    apply: () => new Date(now).toISOString(),
    get: (target, key) => (key === "now" ? () => now : (Reflect.get(target, key) as unknown)),
  });
  Object.assign(globalThis, { console, Date: Clock, performance: { now: () => 0, timeOrigin: 0 } });
}

function shown(value: unknown): string {
  if (typeof value === "string") return value;
  if (value instanceof Error) return value.stack ? `${String(value)}\n${value.stack}` : String(value);
  try {
    return JSON.stringify(value) ?? String(value);
  } catch {
    return String(value);
  }
}

/** Runs an export; exceptions become the contract's errors. A trap is for bugs of the machinery alone. */
function honest<T>(context: WitContext, run: (context: CheckContext) => T): T {
  now = context.now;
  const { tag, val } = context.trigger;
  const trigger: Trigger = tag === "other" ? (val ?? tag) : tag;
  try {
    // In place: nobody else has it, and each new property of an object costs.
    return run(Object.assign(context as object, { trigger, extra: Object.fromEntries(context.extra) }) as CheckContext);
  } catch (error) {
    if (error instanceof AccessError) throw { tag: "source", val: accessErrorToWit(error) };
    if (!(error instanceof CheckFailed)) for (const one of shown(error).trim().split("\n")) wit.write("error", one);
    throw { tag: "failed", val: clip(error instanceof CheckFailed ? error.message : String(error), 4_000) };
  }
}

// What is held until the instance goes. The results of the warm-up: shapes of objects live as long as one that has
// them. And the report: the engine would take apart each of its objects, of which the next call sees nothing anyway.
const kept: unknown[] = [];

function given(report: Report): object {
  const wit = reportToWit(report);
  kept.push(report, wit);
  return wit;
}

function componentToWit(component: Component): object {
  return {
    name: component.name,
    description: component.description,
    tags: [...(component.tags ?? [component.name])],
    intervalMs: (component.intervalSeconds ?? 60) * 1_000,
    runMode: { tag: component.manual ? "manual" : "auto" },
    setHealthy: { tag: component.setHealthy ?? "unsupported" },
    metrics: (component.metrics ?? []).map(({ name, help, buckets = [] }) => ({ name, help, buckets: [...buckets] })),
    configSchema: component.configSchema ? JSON.stringify(component.configSchema) : null,
    extra: [],
  };
}

/** `checker`. */
export function checker(plugin: Plugin): { describe(): object; check(context: WitContext): object } {
  furnish();
  return {
    describe: () => ({
      version: plugin.version ?? "0.1.0",
      components: plugin.components.map(componentToWit),
      extra: [],
    }),
    check: (context: WitContext) => honest(context, (plain) => given(plugin.check(plain))),
  };
}

/** Checks a plain machine before the snapshot is taken, see `host/warm.ts`. */
export function warmUp(plugin: Plugin, exported: ReturnType<typeof checker>): void {
  onPlainMachine(() => {
    kept.push(exported.describe());
    for (const { name } of plugin.components) {
      const trigger = { tag: "scheduled" };
      const extra: [string, string][] = [];
      const context = { component: name, now: 0, trigger, bootId: "", bootTime: 0, previousCheck: null, extra };
      try {
        exported.check(context);
      } catch (error) {
        kept.push(error);
      }
    }
  });
}

/** `scanner`. */
export function scanner(plugin: Required<Pick<Plugin, "scan">>): object {
  return { scan: (context: WitContext) => honest(context, (plain) => given(plugin.scan(plain))) };
}

/** `kmsg-watcher`. */
export function kmsgWatcher({ kmsg }: Required<Pick<Plugin, "kmsg">>): object {
  return {
    patterns: (component: string) => kmsg.patterns(component),
    onMessages: (context: WitContext, messages: WitMessage[]) =>
      honest(context, (plain) => {
        const plainMessages = messages.map((one) => ({ ...one, dictionary: Object.fromEntries(one.dictionary ?? []) }));
        return kmsg.onMessages(plain, plainMessages).map(eventToWit);
      }),
  };
}
