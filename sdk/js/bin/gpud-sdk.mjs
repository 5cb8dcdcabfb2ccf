#!/usr/bin/env node
// gpud-sdk build | test: from a JavaScript or TypeScript project to a WebAssembly component, and its tests.

import { build, BuildError } from "./build.mjs";
import { test } from "./test.mjs";

const USAGE = `usage: gpud-sdk build [FOLDER]   make dist/NAME.wasm of the project in a folder
       gpud-sdk test [FOLDER]    run tests/*.test.{js,ts} with node's test runner`;

const [command, folder = "."] = process.argv.slice(2);
try {
  if (command === "build") await build(folder);
  else if (command === "test") process.exitCode = await test(folder);
  else {
    console.error(USAGE);
    process.exitCode = 2;
  }
} catch (error) {
  if (!(error instanceof BuildError)) throw error;
  console.error(`error: ${error.message}`);
  process.exitCode = 1;
}
