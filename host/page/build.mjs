// Builds the page into dist/. The same sources and lock file give the same bytes, which CI compares.
import { build } from 'esbuild';
import { cp, mkdir, readdir, rm, writeFile } from 'node:fs/promises';
import { gzipSync } from 'node:zlib';
import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const here = fileURLToPath(new URL('.', import.meta.url));
const common = { absWorkingDir: here, bundle: true, format: 'esm', target: 'es2022', jsx: 'automatic', jsxImportSource: 'preact', logLevel: 'warning' };

if (process.argv.includes('--test')) {
  await rm(`${here}.test`, { recursive: true, force: true });
  const tests = (await readdir(`${here}src`)).filter((name) => name.endsWith('.test.ts'));
  await build({ ...common, platform: 'node', entryPoints: tests.map((name) => `src/${name}`), outdir: '.test', outExtension: { '.js': '.mjs' } });
} else {
  const out = process.argv[2] ?? `${here}dist`;
  await rm(out, { recursive: true, force: true });
  await mkdir(out, { recursive: true });
  const options = { ...common, minify: true, legalComments: 'none', charset: 'utf8', outdir: out };
  await build({ ...options, entryPoints: { app: 'src/main.tsx', charts: 'src/plot.ts' } });
  await build({ ...options, entryPoints: { app: 'src/app.css', charts: 'src/charts.css' } });
  // What their licences ask of copies.
  const licences = ['preact', 'uplot'].map((name) => `${name}\n\n${readFileSync(`${here}node_modules/${name}/LICENSE`, 'utf8').trim()}\n`);
  await writeFile(`${out}/licenses.txt`, `Parts of the page are made of these libraries.\n\n${licences.join('\n')}`);
  for (const name of ['index.html', 'icon.svg']) await cp(`${here}${name}`, `${out}/${name}`);
  // The greatest size of all files together, compressed.
  const most = 150 * 1024;
  const sizes = (await readdir(out)).map((name) => [name, gzipSync(readFileSync(`${out}/${name}`), { level: 9 }).length]);
  const all = sizes.reduce((sum, [, size]) => sum + size, 0);
  console.log(`${sizes.map(([name, size]) => `${name} ${size}`).join(', ')}: ${all} bytes compressed`);
  if (all > most) throw new Error(`the page is larger than ${most} bytes`);
}
