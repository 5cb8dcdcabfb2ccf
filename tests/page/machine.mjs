// Daemons on machines that are made up: GPUs of tests/nvml-mock, a kernel log that is a file.

import { spawn } from 'node:child_process';
import { appendFileSync, copyFileSync, cpSync, existsSync, mkdtempSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { createServer } from 'node:net';
import { tmpdir, uptime } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** Returns a port that was free a moment ago. */
export function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.on('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** Waits until `look` gives something that is true. It ends with the test's own limit. */
export async function eventually(what, look, limit = 240_000) {
  const end = Date.now() + limit;
  let last;
  for (;;) {
    try {
      const found = await look();
      if (found) return found;
      last = found;
    } catch (error) {
      last = error;
    }
    if (Date.now() > end) throw new Error(`not in time: ${what} (${last})`);
    await sleep(250);
  }
}

let lines = 0;
/** Compiled code of the first daemon: the next ones need not compile it again. */
let compiled;

export class Machine {
  /**
   * Starts a daemon. `scenario` is one of nvml-mock; without it there is no GPU. `log` holds lines of the kernel log,
   * `plugins` a spec file.
   */
  static async start({ scenario, log = [], plugins, flags = [] } = {}) {
    const machine = new Machine();
    machine.folder = mkdtempSync(join(tmpdir(), 'gpud-page-'));
    machine.log = join(machine.folder, 'kmsg');
    writeFileSync(machine.log, '');
    for (const line of log) machine.kernel(line);
    const library = join(machine.folder, 'driver');
    mkdirSync(library);
    if (scenario) {
      copyFileSync(process.env.GPUD_NVML_MOCK, join(library, 'libnvidia-ml.so.1'));
      machine.scenario(scenario);
    }
    machine.flags = [...flags, '--nvml-library', join(library, 'libnvidia-ml.so.1')];
    if (plugins) {
      const file = join(machine.folder, 'plugins.yaml');
      writeFileSync(file, plugins, { mode: 0o644 });
      machine.flags.push('--plugin-specs-file', file);
    } else {
      machine.flags.push('--plugin-specs-file=');
    }
    machine.port = await freePort();
    if (compiled) {
      mkdirSync(join(machine.folder, 'data'), { mode: 0o700 });
      cpSync(compiled, join(machine.folder, 'data', 'cache'), { recursive: true });
    }
    await machine.up();
    return machine;
  }

  get url() {
    return `https://localhost:${this.port}`;
  }

  /** Writes another scenario; the library reads it at its next call. */
  scenario(text) {
    writeFileSync(join(this.folder, 'driver', 'nvml-mock.yaml'), text);
  }

  /** Adds a line to the kernel log. */
  kernel(text, priority = 3) {
    lines += 1;
    appendFileSync(this.log, `${priority},${lines},${Math.round(uptime() * 1e6)},-;${text}\n`);
  }

  async up() {
    const args = ['run', '--data-dir', join(this.folder, 'data'), '--listen-address', `127.0.0.1:${this.port}`, '--local-socket', 'none', ...this.flags];
    this.output = '';
    this.process = spawn(process.env.GPUD_BIN, args, { env: { ...process.env, KMSG_FILE_PATH: this.log }, stdio: ['ignore', 'pipe', 'pipe'] });
    for (const stream of [this.process.stdout, this.process.stderr]) {
      stream.on('data', (piece) => {
        this.output = (this.output + piece).slice(-20_000);
      });
    }
    this.ended = new Promise((resolve) => this.process.on('exit', resolve));
    await eventually('the API answers', async () => (await this.ask('/healthz')).status === 200);
  }

  /** Stops the daemon in good order. */
  async down() {
    this.process.kill('SIGTERM');
    await this.ended;
  }

  async end() {
    await this.down();
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** One request, with its whole answer. */
  ask(path, headers = {}, method = 'GET') {
    return new Promise((resolve, reject) => {
      const asked = request(`${this.url}${path}`, { method, headers, rejectUnauthorized: false, agent: false }, (answer) => {
        const pieces = [];
        answer.on('data', (piece) => pieces.push(piece));
        answer.on('end', () => resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(pieces) }));
        answer.on('error', reject);
      });
      asked.on('error', reject);
      asked.end();
    });
  }

  async json(path) {
    const answer = await this.ask(path);
    if (answer.status !== 200) throw new Error(`${path}: ${answer.status} ${answer.body}`);
    return JSON.parse(answer.body);
  }

  /** Waits until no component is still being loaded. */
  async settled() {
    await eventually('all checks have run', async () => {
      const states = await this.json('/v1/states');
      return states.every((one) => (one.states ?? []).every((state) => state.health !== 'Initializing'));
    });
    const cache = join(this.folder, 'data', 'cache');
    if (!compiled && existsSync(cache)) {
      compiled = join(mkdtempSync(join(tmpdir(), 'gpud-page-')), 'cache');
      cpSync(cache, compiled, { recursive: true });
      process.on('exit', () => rmSync(dirname(compiled), { recursive: true, force: true }));
    }
  }
}
