// From a project to a component. `package.json` of the project says what the plugin is:
//
//     "name": "fan-check",
//     "gpud": { "plugin": "src/plugin.ts" }
//
// With `"warmUp": false` beside it, no check is run before the snapshot of the component is taken.

import { cp, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import path from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { componentize } from "componentize-qjs";
import esbuild from "esbuild";

const SDK = path.resolve(path.dirname(fileURLToPath(import.meta.url)), "..");
const PREFIX = "gpud:plugin/";

const GRANTS = {
  config: "config: true",
  exec: 'exec: ["/usr/bin/…"]',
  history: "history: true",
  kmsg: "kmsg: true",
  net: "net: { loopback: [8080] }",
  nvml: "nvml: true",
  state: "state: true",
  sysfs: 'sysfs: ["/sys/class/…/**"]',
};

/** Why there is no component, and what to do. */
export class BuildError extends Error {}

/** The project in a folder. */
export async function project(folder) {
  const root = path.resolve(folder);
  const file = path.join(root, "package.json");
  let document;
  try {
    document = JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    throw new BuildError(`${file}: ${error.message}; run this in the plugin's folder`);
  }
  const { name, gpud: { plugin, warmUp = true } = {} } = document;
  if (typeof name !== "string" || typeof plugin !== "string") {
    throw new BuildError(`${file}: wants "name" and "gpud": { "plugin": "src/plugin.ts" }`);
  }
  return { root, name: name.replace(/^@[^/]*\//, ""), entry: path.join(root, plugin), warmUp };
}

/** A bundle of one module; `gpud-sdk` is this package, wherever the project is. */
export async function bundle(options) {
  try {
    return await esbuild.build({
      bundle: true,
      format: "esm",
      write: false,
      charset: "utf8",
      logLevel: "silent",
      // A project finds the SDK where npm put it; a link to this folder has no modules of its own beside it.
      nodePaths: [path.join(SDK, "node_modules")],
      ...options,
    });
  } catch (error) {
    const messages = await esbuild.formatMessages(error.errors ?? [], { kind: "error" });
    throw new BuildError(messages.length ? messages.join("").trim() : error.message);
  }
}

/** Looks at the plugin, natively: what it exports, and whether the host would take it. */
async function inspect({ root, entry }, scratch) {
  const contents = `
    import plugin from ${JSON.stringify(entry)};
    import * as bounds from ${JSON.stringify(path.join(SDK, "src/bounds.ts"))};
    export default { plugin, problems: bounds.ofPlugin(plugin) };`;
  const stdin = { contents, resolveDir: root, loader: "js" };
  const { outputFiles } = await bundle({ stdin, platform: "node", outfile: "inspect.mjs" });
  const file = path.join(scratch, "inspect.mjs");
  await writeFile(file, outputFiles[0].contents);
  const { plugin, problems } = (await import(pathToFileURL(file))).default;
  if (problems.length) throw new BuildError(`${entry}: ${problems.join("; ")}`);
  return ["checker", ...(plugin.scan ? ["scanner"] : []), ...(plugin.kmsg ? ["kmsg-watcher"] : [])];
}

/** The component's module, and the interfaces that it imports. */
async function compile({ root, entry, warmUp }, exported) {
  const guest = path.join(SDK, "src/guest.ts");
  const names = exported.map((name) => name.replace(/-(.)/g, (_, letter) => letter.toUpperCase()));
  const contents = [
    `import plugin from ${JSON.stringify(entry)};`,
    `import * as guest from ${JSON.stringify(guest)};`,
    ...names.map((name) => `export const ${name} = guest.${name}(plugin);`),
    ...(warmUp ? ["guest.warmUp(plugin, checker);"] : []),
  ].join("\n");
  const imports = {
    name: "gpud",
    // Without side effects: an import that nothing uses is no request for a grant.
    setup: (on) => on.onResolve({ filter: /^gpud:/ }, ({ path }) => ({ path, external: true, sideEffects: false })),
  };
  const { outputFiles, metafile } = await bundle({
    stdin: { contents, resolveDir: root, loader: "js" },
    platform: "neutral",
    mainFields: ["module", "main"],
    conditions: ["gpud"],
    target: "es2023",
    outfile: "plugin.js",
    metafile: true,
    plugins: [imports],
  });
  const found = Object.values(metafile.outputs).flatMap((output) => output.imports);
  const interfaces = found
    .filter(({ path }) => path.startsWith(PREFIX))
    .map(({ path }) => path.slice(PREFIX.length).split("@")[0]);
  return { source: outputFiles[0].text, interfaces: [...new Set(interfaces)].sort() };
}

/** Makes the component, and says what it asks for. */
export async function build(folder) {
  const plugin = await project(folder);
  const scratch = await mkdtemp(path.join(tmpdir(), "gpud-build-"));
  try {
    const exported = await inspect(plugin, scratch);
    const { source, interfaces } = await compile(plugin, exported);
    const wit = path.join(scratch, "wit");
    await cp(path.join(SDK, "wit"), wit, { recursive: true });
    const lines = [...interfaces.map((name) => `import ${name};`), ...exported.map((name) => `export ${name};`)];
    await writeFile(path.join(wit, "gpud-sdk-plugin.wit"), `world gpud-sdk-plugin {\n${lines.join("\n")}\n}\n`);
    const options = { witPath: wit, world: "gpud-sdk-plugin", jsSource: source, stubWasi: true, sync: true };
    const { component } = await componentize(options).catch((error) => {
      throw new BuildError(`componentize-qjs failed: ${error.message}`);
    });
    const file = path.join(plugin.root, "dist", `${plugin.name}.wasm`);
    await mkdir(path.dirname(file), { recursive: true });
    await writeFile(file, component);
    console.log(`${file}: ${(component.length / 1e6).toFixed(1)} MB`);
    const asked = interfaces.filter((name) => name in GRANTS);
    console.log(asked.length ? "It asks for these grants:" : "It asks for no grant.");
    for (const name of asked) console.log(`  ${GRANTS[name]}`);
  } finally {
    await rm(scratch, { recursive: true, force: true });
  }
}
