// Outside of a component: calls go to the fake host of the test that runs, see `testing.ts`.

import type { Wit } from "./wit.ts";

/** Answers the calls; functions by interface and camelCase name. */
export interface Backend {
  call(interfaceName: string, functionName: string, args: unknown[]): unknown;
}

let backend: Backend | undefined;

/** Puts a host behind the capabilities; gives the one that was there. */
export function setBackend(next: Backend | undefined): Backend | undefined {
  const before = backend;
  backend = next;
  return before;
}

/** An interface whose functions ask the fake host. */
export function fake<Name extends keyof Wit>(name: Name): Wit[Name] {
  return new Proxy({} as Wit[Name], {
    get:
      (_, functionName) =>
      (...args: unknown[]) => {
        if (backend === undefined) {
          throw new Error(
            `${name}.${String(functionName)} was called without a host: run the code with a FakeHost ` +
              "(gpud-sdk/testing), and call no capability when a module is loaded",
          );
        }
        return backend.call(name, String(functionName), args);
      },
  });
}
