// Bundles the tests of a project, types stripped, and runs them with node's test runner.

import { spawn } from "node:child_process";
import { mkdtemp, readdir, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { BuildError, bundle } from "./build.mjs";

/** Runs `tests/*.test.{js,mjs,ts}`; gives the exit code. */
export async function test(folder) {
  const root = path.resolve(folder);
  const names = await readdir(path.join(root, "tests")).catch(() => []);
  const entryPoints = names
    .filter((name) => /\.test\.(m?js|ts)$/.test(name))
    .map((name) => path.join(root, "tests", name));
  if (entryPoints.length === 0) throw new BuildError(`${path.join(root, "tests")}: no *.test.js or *.test.ts`);
  const scratch = await mkdtemp(path.join(tmpdir(), "gpud-test-"));
  try {
    const outExtension = { ".js": ".mjs" };
    const options = { entryPoints, platform: "node", outdir: scratch, outExtension, sourcemap: "inline" };
    const { outputFiles } = await bundle(options);
    await Promise.all(outputFiles.map((file) => writeFile(file.path, file.contents)));
    const files = outputFiles.map((file) => file.path);
    const command = ["--enable-source-maps", "--test", "--test-reporter=spec", ...files];
    const child = spawn(process.execPath, command, { cwd: root, stdio: "inherit" });
    return await new Promise((resolve) => child.on("close", (code) => resolve(code ?? 1)));
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
