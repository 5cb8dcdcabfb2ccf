/** Local services and plain reachability. Grant: unix socket paths, loopback ports, `host:port` for `tcpConnect`. */

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
