/** What the operator configured. Pure. */

import { CheckFailed } from "gpud-sdk";

/** One service. */
export interface Service {
  readonly name: string;
  /** A port of 127.0.0.1, or the path of a unix socket. */
  readonly endpoint: number | string;
  readonly path: string;
  /**
   * Where in the JSON answer the word about its health is, `status` or `components.db.status`; empty: not looked
   * at.
   */
  readonly field: string;
  /** Words that say it is well, and that it is not quite well; without regard to case. */
  readonly healthy: readonly string[];
  readonly degraded: readonly string[];
  /** Checks in a row that must fail before it counts as down. */
  readonly failures: number;
  readonly timeoutMs: number;
}

const MAX_SERVICES = 64;
const words = { type: "array", maxItems: 16, items: { type: "string" } };

/** JSON Schema of the document. */
export const SCHEMA = {
  type: "object",
  additionalProperties: false,
  properties: {
    services: {
      type: "object",
      description: "Services by name",
      maxProperties: MAX_SERVICES,
      additionalProperties: {
        type: "object",
        additionalProperties: false,
        properties: {
          port: { type: "integer", minimum: 1, maximum: 65_535, description: "Port of 127.0.0.1" },
          socket: { type: "string", pattern: "^/", description: "Unix socket, instead of a port" },
          path: { type: "string", pattern: "^/", description: "/health by default" },
          field: { type: "string", description: "Where the word is: `status` by default, empty: only the status code" },
          healthy: { ...words, description: "ok, up, healthy, pass and serving by default" },
          degraded: { ...words, description: "degraded, warn and warning by default" },
          failures: { type: "integer", minimum: 1, maximum: 100, description: "Failures in a row; 2 by default" },
          timeout_ms: { type: "integer", minimum: 1, maximum: 30_000, description: "2,000 by default" },
        },
      },
    },
  },
};

/** Reads the document; throws `CheckFailed` in words. */
export function parse(document: Record<string, unknown>): Service[] {
  const { services = {} } = document;
  if (!isObject(services)) throw new CheckFailed("config: services is not an object");
  const entries = Object.entries(services);
  if (entries.length > MAX_SERVICES) throw new CheckFailed(`config: more than ${MAX_SERVICES} services`);
  return entries.map(([name, of]) => service(name.slice(0, 100), of));
}

function service(name: string, of: unknown): Service {
  if (!isObject(of)) throw new CheckFailed(`config: ${name} is not an object`);
  const endpoint = of.socket ?? of.port;
  const isPort = typeof endpoint === "number" && Number.isInteger(endpoint) && endpoint > 0 && endpoint < 65_536;
  if (!isPort && !(typeof endpoint === "string" && endpoint.startsWith("/"))) {
    throw new CheckFailed(`config: ${name}: wants a port or the path of a socket`);
  }
  return {
    name,
    endpoint,
    path: text(name, "path", of.path, "/health"),
    field: text(name, "field", of.field, "status"),
    healthy: list(name, "healthy", of.healthy, ["ok", "up", "healthy", "pass", "serving"]),
    degraded: list(name, "degraded", of.degraded, ["degraded", "warn", "warning"]),
    failures: number(name, "failures", of.failures, 2),
    timeoutMs: number(name, "timeout_ms", of.timeout_ms, 2_000),
  };
}

function text(name: string, key: string, value: unknown, otherwise: string): string {
  if (value === undefined) return otherwise;
  if (typeof value !== "string") throw new CheckFailed(`config: ${name}: ${key} is not a text`);
  return value;
}

function list(name: string, key: string, value: unknown, otherwise: string[]): string[] {
  if (value === undefined) return otherwise;
  if (!Array.isArray(value) || !value.every((one) => typeof one === "string")) {
    throw new CheckFailed(`config: ${name}: ${key} is not a list of texts`);
  }
  return value.map((one) => one.toLowerCase());
}

function number(name: string, key: string, value: unknown, otherwise: number): number {
  if (value === undefined) return otherwise;
  if (typeof value !== "number" || !Number.isInteger(value) || value < 1) {
    throw new CheckFailed(`config: ${name}: ${key} is not a whole number from 1 on`);
  }
  return value;
}

/** Neither a list nor a plain value. */
export function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
