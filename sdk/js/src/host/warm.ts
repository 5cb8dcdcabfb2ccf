// In a component: imports that can be played while the component is built, before the snapshot of its memory is taken.
// The engine makes much of what a program uses when it is first used (built-in functions, shapes of objects). What was
// used before is in the snapshot, and no call has to make it again.

import type { Wit } from "./wit.ts";

type Functions = Record<string, (...given: never[]) => unknown>;

const imports: { name: string; wit: Functions; imported: Functions }[] = [];

/** An import whose functions can be exchanged. */
export function warmable<Name extends keyof Wit>(name: Name, imported: Wit[Name]): Wit[Name] {
  const functions = imported as unknown as Functions;
  const wit = { ...functions };
  imports.push({ name, wit, imported: functions });
  return wit as unknown as Wit[Name];
}

/** Runs something on a machine where each file says 1, each pattern matches two, and nothing else is there. */
export function onPlainMachine(run: () => void): void {
  for (const { name, wit } of imports) {
    for (const key of Object.keys(wit)) wit[key] = PLAIN[name]?.[key] ?? notFound;
  }
  try {
    run();
  } finally {
    for (const { wit, imported } of imports) Object.assign(wit, imported);
  }
}

const FILE = Uint8Array.of(0x31, 0x0a);
const nothing = (): null => null;
const PLAIN: Record<string, Functions> = {
  config: { document: () => "{}" },
  log: { write: nothing },
  state: { get: nothing, set: nothing, delete: nothing },
  sysfs: {
    read: () => FILE,
    readGlob: (pattern: string) =>
      ["0", "1"].map((name) => ({ path: pattern.replaceAll("*", name), content: { tag: "ok", val: FILE } })),
  },
};

function notFound(): never {
  throw Object.assign(new Error("not found"), { payload: { tag: "not-found", val: "there is no host yet" } });
}
