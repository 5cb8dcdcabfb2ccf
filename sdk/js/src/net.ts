/**
 * Local services and plain reachability.
 *
 * Grant: lists of unix socket paths and loopback ports for `httpGet`, of `host:port` endpoints for `tcpConnect`, and
 * under `grpc`, by unix socket path, of methods for `grpcUnary`.
 */

import wit from "#host/net";
import { ask } from "./host/ask.ts";
import { decodeText } from "./text.ts";
import type { Pairs } from "./types.ts";

/** How to ask: 64 KiB of body (at most 4 MiB) and 5 s for the whole exchange if left out. */
export interface Options {
  /** `Host` defaults to `localhost`. */
  readonly headers?: Pairs;
  readonly maxBodyBytes?: number;
  readonly timeoutMs?: number;
}

/** An answer. */
export interface Response {
  readonly status: number;
  /** Names in lower case. */
  readonly headers: Pairs;
  readonly body: Uint8Array;
}

/**
 * Sends an HTTP/1.1 GET request to a port of 127.0.0.1 (a number) or a unix socket (an absolute path). A body beyond
 * `maxBodyBytes` is `TooLarge`.
 */
export function httpGet(endpoint: number | string, path = "/", options: Options = {}): Response {
  const { headers = {}, maxBodyBytes = 65_536, timeoutMs = 5_000 } = options;
  const response = ask(() =>
    wit.httpGet({
      endpoint:
        typeof endpoint === "number" ? { tag: "loopback", val: endpoint } : { tag: "unix-socket", val: endpoint },
      path,
      headers: Object.entries(headers),
      maxBodyBytes,
      timeoutMs,
    }),
  );
  return { ...response, headers: Object.fromEntries(response.headers) };
}

/** The body as text; bytes that are not UTF-8 become U+FFFD. */
export function textOf(response: Response): string {
  return decodeText(response.body);
}

/** Opens and closes a TCP connection; gives the microseconds that it took. */
export function tcpConnect(host: string, port: number, timeoutMs = 5_000): number {
  return ask(() => wit.tcpConnect(host, port, timeoutMs));
}

/** The answer of a gRPC service. */
export interface GrpcResponse {
  /** Status code of gRPC. 0 is success, 12 a method that the service does not have, 14 unavailable. */
  readonly status: number;
  /** What the service says about the status; mostly empty on success. */
  readonly statusMessage: string;
  /** The response message; empty unless the status is 0. */
  readonly message: Uint8Array;
}

/**
 * Makes a unary gRPC call of `/package.Service/Method` on a unix socket; messages are encoded protobuf. Any status is
 * an answer. `NotFound` is a socket that is not there, `OtherError` nobody who listens.
 */
export function grpcUnary(
  socket: string,
  method: string,
  message: Uint8Array = new Uint8Array(),
  options: { readonly maxMessageBytes?: number; readonly timeoutMs?: number } = {},
): GrpcResponse {
  const { maxMessageBytes = 65_536, timeoutMs = 5_000 } = options;
  return ask(() => wit.grpcUnary({ socket, method, message, maxMessageBytes, timeoutMs }));
}
