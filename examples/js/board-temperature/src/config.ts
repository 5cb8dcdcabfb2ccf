/** What the operator configured. Pure. */

import { CheckFailed } from "gpud-sdk";

/** Degrees Celsius. */
export interface Limits {
  /** From here on Degraded. */
  readonly warn: number;
  /** From here on Unhealthy. */
  readonly critical: number;
}

/** Limits of every sensor, and of single ones by key. */
export interface Config {
  readonly all: Limits;
  readonly sensors: ReadonlyMap<string, Limits>;
}

/** Processors run at up to 100 degrees by design. */
const USUAL: Limits = { warn: 95, critical: 105 };

const properties = {
  warn: { type: "number", description: "Degraded from here on, degrees Celsius; 95 by default" },
  critical: { type: "number", description: "Unhealthy from here on; 105 by default" },
};

/** JSON Schema of the document. */
export const SCHEMA = {
  type: "object",
  additionalProperties: false,
  properties: {
    ...properties,
    sensors: {
      type: "object",
      description: 'Limits of single sensors: {"nvme/Composite": {"warn": 70}}',
      maxProperties: 256,
      additionalProperties: { type: "object", additionalProperties: false, properties },
    },
  },
};

/** Reads the document; throws `CheckFailed` in words. */
export function parse(document: Record<string, unknown>): Config {
  const all = limits("the document", document, USUAL);
  const { sensors = {} } = document;
  if (!isObject(sensors)) throw new CheckFailed("config: sensors is not an object");
  const own = Object.entries(sensors).map(([key, one]) => [key, limits(key.slice(0, 100), one, all)] as const);
  return { all, sensors: new Map(own) };
}

function limits(where: string, of: unknown, otherwise: Limits): Limits {
  if (!isObject(of)) throw new CheckFailed(`config: ${where} is not an object`);
  const { warn = otherwise.warn, critical = otherwise.critical } = of;
  if (typeof warn !== "number" || typeof critical !== "number") {
    throw new CheckFailed(`config: ${where}: warn and critical are numbers`);
  }
  if (!(warn < critical)) throw new CheckFailed(`config: ${where}: warn has to be less than critical`);
  return { warn, critical };
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
