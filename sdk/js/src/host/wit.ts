// The imports of a component as the componentizer gives them: camelCase names, numbers for u64, `null` for none.
// A function whose WIT type is a result throws an Error with the error case under `payload`.

import type { Entry, FileStat, FsUsage } from "../sysfs.ts";
import type { WitEvent, WitResult } from "./values.ts";
import type { Output } from "../exec.ts";

export type Pairs = [string, string][];

export interface WitMessage {
  sequence: number;
  time: number;
  level: number;
  facility: number;
  text: string;
  dictionary: Pairs | null;
}

export interface WitRequest {
  endpoint: { tag: "unix-socket"; val: string } | { tag: "loopback"; val: number };
  path: string;
  headers: Pairs;
  maxBodyBytes: number;
  timeoutMs: number;
}

export interface WitGrpcRequest {
  socket: string;
  method: string;
  message: Uint8Array;
  maxMessageBytes: number;
  timeoutMs: number;
}

export interface WitOptions {
  timeoutMs: number;
  maxOutputBytes: number;
  environment: Pairs;
}

export interface Wit {
  config: { document(): string };
  exec: {
    runBash(script: string, options: WitOptions): Output;
    runProgram(program: string, args: string[], options: WitOptions): Output;
  };
  history: {
    ownEvents(since: number, limit: number): { event: WitEvent; count: number; lastTime: number }[];
    reboots(since: number): { time: number }[];
    setHealthyMarks(since: number): number[];
    available(): boolean;
  };
  kmsg: {
    readBack(patterns: string[], maxMessages: number): { messages: WitMessage[]; scanned: number; unparsable: number };
  };
  log: { write(level: "debug" | "info" | "warn" | "error", message: string): void };
  net: {
    httpGet(request: WitRequest): { status: number; headers: Pairs; body: Uint8Array };
    grpcUnary(request: WitGrpcRequest): { status: number; statusMessage: string; message: Uint8Array };
    tcpConnect(host: string, port: number, timeoutMs: number): number;
  };
  nvml: {
    libraryStatus(): { tag: string; val?: string };
    driverVersion(): string;
    cudaVersion(): number;
    productName(): string;
    devices(): object[];
    gpmMetricsOfAll(
      ids: number[],
      periodMs: number,
    ): { uuid: string; metrics: WitResult<{ id: number; value: number }[]> }[];
  };
  state: {
    get(key: string): Uint8Array | null;
    set(key: string, value: Uint8Array): void;
    delete(key: string): void;
    keys(prefix: string): string[];
  };
  sysfs: {
    read(path: string, maxBytes: number): Uint8Array;
    readGlob(
      pattern: string,
      maxBytesEach: number,
      maxFiles: number,
    ): { path: string; content: WitResult<Uint8Array> }[];
    listDirectory(path: string, maxEntries: number): Entry[];
    countEntries(pattern: string, maxDirectories: number): { path: string; count: WitResult<number> }[];
    readLink(path: string): string;
    stat(path: string): FileStat;
    statvfs(path: string): FsUsage;
    statvfsAll(paths: string[]): WitResult<FsUsage>[];
  };
}
