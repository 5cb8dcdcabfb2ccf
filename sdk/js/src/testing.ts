/**
 * A host for tests: capabilities that answer from plain values.
 *
 *     const host = new FakeHost({ files: { "/proc/uptime": "12.5 3.0\n" }, config: { warn: 70 } });
 *     const report = host.check(plugin);
 *     assert.equal(report.states[0].reason, "up for 12.5 s");
 *
 * What is not given is not there: a file, a program, a port is `NotFound`. An `AccessError` in the place of a value is
 * thrown. `host.state`, `host.logs` and `host.calls` show what a check left behind.
 */

import * as bounds from "./bounds.ts";
import { AccessError, Denied, InvalidArgument, NotFound, NotSupported, TooLarge, accessErrorToWit } from "./errors.ts";
import type { Output } from "./exec.ts";
import type { StoredEvent } from "./history.ts";
import { eventToWit } from "./host/events.ts";
import { setBackend } from "./host/native.ts";
import type { WitResult } from "./host/values.ts";
import type { WitGrpcRequest, WitRequest } from "./host/wit.ts";
import type { Message } from "./kmsg.ts";
import type { GrpcResponse } from "./net.ts";
import type { Plugin } from "./plugin.ts";
import type { Entry, FileStat, FsUsage } from "./sysfs.ts";
import { encodeText } from "./text.ts";
import type { CheckContext, Event, Pairs, Report } from "./types.ts";

/** The time of a check unless the test says otherwise: 2026-01-01T00:00:00Z. */
export const NOW = 1_767_225_600_000;

/** A value, or why there is none. */
export type Given<T> = T | AccessError;

/** A GPU: its readings by the name of the method, as values, errors, or functions of the method's arguments. */
export type FakeGpu = Record<string, unknown>;

/** The machine as a check sees it. */
export interface Machine {
  /** Path to content. Directories are there where files are. */
  files: Record<string, Given<string | Uint8Array>>;
  /** Path to target, for `readLink`. */
  links: Record<string, string>;
  /** Path to facts, for `stat`; files that are not listed are small regular files of root. */
  stats: Record<string, Given<FileStat>>;
  /** Path to space, for `statvfs`. */
  filesystems: Record<string, Given<FsUsage>>;
  /** An object, or the text of the document. */
  config: object | string;
  state: Map<string, Uint8Array>;
  /** Program (`bash` for scripts) to what it gives. */
  programs: Record<string, Given<Output> | ((args: string[]) => Given<Output>)>;
  /** `8080/path` or `/run/x.sock /path` to an answer. */
  http: Record<string, Given<FakeResponse> | ((headers: Pairs) => Given<FakeResponse>)>;
  /** `host:port` to microseconds. */
  tcp: Record<string, Given<number>>;
  /** `/run/x.sock /package.Service/Method` to an answer. */
  grpc: Record<string, Given<GrpcResponse> | ((message: Uint8Array) => Given<GrpcResponse>)>;
  messages: Message[];
  events: StoredEvent[];
  reboots: number[];
  marks: number[];
  /** False as in `gpud scan`. */
  hasStore: boolean;
  /** Left out where there is no NVML. */
  gpus: FakeGpu[] | undefined;
  /** Further functions of the library: `driverVersion`, `cudaVersion`, `productName`, `gpmMetricsOfAll`. */
  nvml: Record<string, unknown>;
  /** Interfaces that the operator did not grant. */
  denied: string[];
}

/** An answer of a service. */
export interface FakeResponse {
  readonly status: number;
  readonly body?: string | Uint8Array;
  readonly headers?: Pairs;
}

/** What a program printed. */
export function output(stdout: string, exitCode = 0, stderr = ""): Output {
  return {
    exitCode,
    signal: null,
    stdout: encodeText(stdout),
    stderr: encodeText(stderr),
    truncated: false,
    durationMs: 1,
  };
}

/** Runs checks on a machine of plain values. */
export class FakeHost {
  machine: Machine;
  /** What was logged. */
  readonly logs: { level: string; message: string }[] = [];
  /** Which calls came: `sysfs.read`. */
  readonly calls: string[] = [];

  constructor(machine: Partial<Machine> = {}) {
    this.machine = {
      files: {},
      links: {},
      stats: {},
      filesystems: {},
      config: {},
      state: new Map(),
      programs: {},
      http: {},
      tcp: {},
      grpc: {},
      messages: [],
      events: [],
      reboots: [],
      marks: [],
      hasStore: true,
      gpus: undefined,
      nvml: {},
      denied: [],
      ...machine,
    };
  }

  /** What the component keeps. */
  get state(): Map<string, Uint8Array> {
    return this.machine.state;
  }

  /** A context for the first component of a plugin. */
  context(plugin: Plugin, more: Partial<CheckContext> = {}): CheckContext {
    return {
      component: plugin.components[0]?.name ?? "",
      now: NOW,
      trigger: "manual",
      bootId: "boot-1",
      bootTime: NOW - 3_600_000,
      previousCheck: null,
      extra: {},
      ...more,
    };
  }

  /** One check, with a report within the host's bounds. */
  check(plugin: Plugin, more?: Partial<CheckContext>): Report {
    return this.#judged(plugin, more, (context) => plugin.check(context));
  }

  /** One scan. */
  scan(plugin: Plugin, more?: Partial<CheckContext>): Report {
    return this.#judged(plugin, more, (context) => {
      if (!plugin.scan) throw new Error("the plugin has no `scan`");
      return plugin.scan(context);
    });
  }

  /** Delivers those messages that match the plugin's patterns (as JavaScript understands them). */
  onMessages(plugin: Plugin, messages: Message[], more?: Partial<CheckContext>): Event[] {
    const context = this.context(plugin, more);
    const { kmsg } = plugin;
    if (!kmsg) throw new Error("the plugin has no `kmsg`");
    return this.run(() => {
      const patterns = kmsg.patterns(context.component).map((pattern) => new RegExp(pattern));
      const matching = messages.filter(({ text }) => patterns.some((pattern) => pattern.test(text)));
      const events = matching.length ? kmsg.onMessages(context, matching) : [];
      refuse(bounds.ofEvents(events, context.now));
      return events;
    });
  }

  /** Runs any code with this host behind the capabilities. */
  run<T>(code: () => T): T {
    const before = setBackend(this);
    try {
      return code();
    } finally {
      setBackend(before);
    }
  }

  #judged(plugin: Plugin, more: Partial<CheckContext> | undefined, call: (context: CheckContext) => Report): Report {
    const context = this.context(plugin, more);
    const kept = new Map(this.machine.state);
    try {
      const report = this.run(() => call(context));
      refuse([...bounds.ofPlugin(plugin), ...bounds.ofReport(report, context.now)]);
      return report;
    } catch (error) {
      this.machine.state = kept; // what a failed call wrote is not kept
      throw error;
    }
  }

  /** Answers a call; the capabilities use it. */
  call(interfaceName: string, functionName: string, args: unknown[]): unknown {
    const name = `${interfaceName}.${functionName}`;
    this.calls.push(name);
    if (this.machine.denied.includes(interfaceName)) throw new Denied(name);
    if (interfaceName === "nvml") return this.#nvml(functionName, args);
    const answer = (this.#answers as Record<string, (...args: never[]) => unknown>)[name];
    if (!answer) throw new Error(`${name} is no function of the contract`);
    return answer(...(args as never[]));
  }

  readonly #answers = {
    "log.write": (level: string, message: string) => void this.logs.push({ level, message }),
    "config.document": () => {
      const { config } = this.machine;
      return typeof config === "string" ? config : JSON.stringify(config);
    },
    "sysfs.read": (path: string, maxBytes: number) => this.#file(path, maxBytes),
    "sysfs.readGlob": (pattern: string, maxBytesEach: number, maxFiles: number) => {
      const paths = Object.keys(this.machine.files).filter((path) => matches(path, absolute(pattern)));
      limited(pattern, paths.length, maxFiles);
      return paths.sort().flatMap((path): { path: string; content: WitResult<Uint8Array> }[] => {
        try {
          return [{ path, content: { tag: "ok", val: this.#file(path, maxBytesEach) } }];
        } catch (error) {
          if (error instanceof NotFound) return []; // it vanished
          return [{ path, content: { tag: "err", val: accessErrorToWit(error as AccessError) } }];
        }
      });
    },
    "sysfs.listDirectory": (path: string, maxEntries: number): Entry[] => {
      const root = `${absolute(path).replace(/\/+$/, "")}/`;
      const found = new Map<string, Entry["kind"]>();
      for (const other of [...Object.keys(this.machine.files), ...Object.keys(this.machine.links)]) {
        if (!other.startsWith(root)) continue;
        const [name = "", ...deeper] = other.slice(root.length).split("/");
        found.set(name, deeper.length ? "directory" : other in this.machine.links ? "link" : "file");
      }
      if (found.size === 0) throw new NotFound(path);
      limited(path, found.size, maxEntries);
      return [...found].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, kind]) => ({ name, kind }));
    },
    "sysfs.countEntries": (pattern: string, maxDirectories: number) => {
      const folders = new Map<string, Set<string>>();
      for (const path of [...Object.keys(this.machine.files), ...Object.keys(this.machine.links)]) {
        const parts = path.split("/");
        for (let depth = 1; depth < parts.length; depth++) {
          const folder = parts.slice(0, depth).join("/") || "/";
          folders.set(folder, (folders.get(folder) ?? new Set()).add(parts[depth] ?? ""));
        }
      }
      const found = [...folders]
        .filter(([path]) => matches(path, absolute(pattern)))
        .sort(([a], [b]) => (a < b ? -1 : 1));
      limited(pattern, found.length, maxDirectories);
      return found.map(([path, names]) => ({ path, count: { tag: "ok", val: names.size } }));
    },
    "sysfs.readLink": (path: string) => there(path, this.machine.links[path]),
    "sysfs.stat": (path: string): FileStat => {
      const facts = this.machine.stats[path];
      if (facts !== undefined) return given(facts);
      there(path, this.machine.files[path]);
      return { kind: "file", size: 4096, mode: 0o444, modified: NOW, deviceMajor: 0, deviceMinor: 0, uid: 0 };
    },
    "sysfs.statvfs": (path: string) => given(there(path, this.machine.filesystems[path])),
    "sysfs.statvfsAll": (paths: string[]): WitResult<FsUsage>[] => {
      limited("paths", paths.length, 1_024);
      return paths.map((path) => {
        const usage = this.machine.filesystems[path] ?? new NotFound(path);
        return usage instanceof AccessError
          ? { tag: "err", val: accessErrorToWit(usage) }
          : { tag: "ok", val: usage };
      });
    },
    "state.get": (key: string) => this.machine.state.get(key) ?? null,
    "state.set": (key: string, value: Uint8Array) => {
      limited(key, value.length, 65_536);
      if (!this.machine.state.has(key)) limited("keys", this.machine.state.size + 1, 256);
      this.machine.state.set(key, value);
    },
    "state.delete": (key: string) => void this.machine.state.delete(key),
    "state.keys": (prefix: string) => [...this.machine.state.keys()].filter((key) => key.startsWith(prefix)).sort(),
    "history.ownEvents": (since: number, limit: number) =>
      this.#stored(this.machine.events.filter(({ event }) => seconds(event.time) > seconds(since)))
        .sort((a, b) => b.event.time - a.event.time)
        .slice(0, limit)
        .map((one) => ({ ...one, event: eventToWit(one.event) })),
    "history.reboots": (since: number) =>
      this.#stored(this.machine.reboots.filter((time) => seconds(time) > seconds(since)))
        .sort((a, b) => b - a)
        .map((time) => ({ time })),
    "history.setHealthyMarks": (since: number) =>
      this.#stored(this.machine.marks.filter((time) => time > since)).sort((a, b) => b - a),
    "history.available": () => this.machine.hasStore,
    "kmsg.readBack": (patterns: string[], maxMessages: number) => {
      const compiled = patterns.map((pattern) => new RegExp(pattern));
      const matching = this.machine.messages.filter(({ text }) => compiled.some((pattern) => pattern.test(text)));
      const messages = matching.slice(Math.max(0, matching.length - maxMessages));
      const plain = messages.map((one) => ({ ...one, dictionary: Object.entries(one.dictionary) }));
      return { messages: plain, scanned: this.machine.messages.length, unparsable: 0 };
    },
    "exec.runProgram": (program: string, args: string[]) => this.#program(program, args),
    "exec.runBash": (script: string) => this.#program("bash", [script]),
    "net.httpGet": ({ endpoint, path, headers, maxBodyBytes }: WitRequest) => {
      const key = endpoint.tag === "loopback" ? `${endpoint.val}${path}` : `${endpoint.val} ${path}`;
      const answer = there(`GET ${key}`, this.machine.http[key]);
      const response = given(typeof answer === "function" ? answer(Object.fromEntries(headers)) : answer);
      const body = typeof response.body === "string" ? encodeText(response.body) : (response.body ?? new Uint8Array());
      limited(`GET ${key}`, body.length, maxBodyBytes);
      return { status: response.status, headers: Object.entries(response.headers ?? {}), body };
    },
    "net.grpcUnary": ({ socket, method, message, maxMessageBytes }: WitGrpcRequest): GrpcResponse => {
      const key = `${socket} ${method}`;
      const answer = there(key, this.machine.grpc[key]);
      const response = given(typeof answer === "function" ? answer(message) : answer);
      limited(key, response.message.length, maxMessageBytes);
      return response;
    },
    "net.tcpConnect": (host: string, port: number) =>
      given(there(`${host}:${port}`, this.machine.tcp[`${host}:${port}`])),
  };

  #file(path: string, maxBytes: number): Uint8Array {
    const content = given(there(absolute(path), this.machine.files[path]));
    const bytes = typeof content === "string" ? encodeText(content) : content;
    limited(path, bytes.length, maxBytes);
    return bytes;
  }

  #stored<T>(list: T[]): T[] {
    return this.machine.hasStore ? list : [];
  }

  #program(program: string, args: string[]): Output {
    const answer = there(program, this.machine.programs[program]);
    return given(typeof answer === "function" ? answer(args) : answer);
  }

  #nvml(functionName: string, args: unknown[]): unknown {
    const { gpus, nvml } = this.machine;
    if (functionName === "libraryStatus")
      return gpus ? { tag: "loaded" } : { tag: "not-found", val: "libnvidia-ml.so.1" };
    if (!gpus) throw new NotFound("libnvidia-ml.so.1");
    if (functionName === "devices") return gpus.map((gpu) => handleOf(gpu, this.calls));
    if (!(functionName in nvml)) throw new NotSupported(functionName);
    return reading(nvml[functionName], args);
  }
}

function handleOf(gpu: FakeGpu, calls: string[]): object {
  return new Proxy(gpu, {
    get:
      (_, name) =>
      (...args: unknown[]) => {
        calls.push(`nvml.${String(name)}`);
        if (!(name in gpu)) throw new NotSupported(String(name));
        return reading(gpu[String(name)], args);
      },
  });
}

function reading(value: unknown, args: unknown[]): unknown {
  return given(typeof value === "function" ? (value as (...args: unknown[]) => unknown)(...args) : value);
}

function given<T>(value: Given<T>): T {
  if (value instanceof AccessError) throw value;
  return value;
}

function there<T>(what: string, value: T | undefined): T {
  if (value === undefined) throw new NotFound(what);
  return value;
}

function limited(what: string, size: number, limit: number): void {
  if (size > limit) throw new TooLarge(what, size, limit);
}

function absolute(path: string): string {
  if (!path.startsWith("/") || /(^|\/)\.\.?(\/|$)/.test(path)) {
    throw new InvalidArgument(`${path}: not an absolute path without . and ..`);
  }
  return path;
}

function matches(path: string, pattern: string): boolean {
  const source = pattern
    .replace(/[.+^${}()|\\]/g, "\\$&")
    .replace(/\*/g, "[^/]*")
    .replace(/\?/g, "[^/]");
  return new RegExp(`^${source}$`).test(path);
}

function seconds(time: number): number {
  return Math.floor(time / 1_000);
}

function refuse(problems: string[]): void {
  if (problems.length) throw new Error(`the host would refuse this: ${problems.join("; ")}`);
}
