/** The verdict, from plain values. Pure. */

import { AccessError, type CheckContext, type Report, clip, findings, gauge, unsupported } from "gpud-sdk";
import { type Service, isObject } from "./config.ts";

/** Name of the gauge. */
export const METRIC = "http_health_up";
/** Longest word that is shown, bytes. */
const MAX_WORD = 100;

/** What a service answered, or why it did not. */
export type Answer = { readonly status: number; readonly body: string } | AccessError;

/** What an answer means. */
export interface Opinion {
  readonly health: "healthy" | "degraded" | "unhealthy";
  readonly text: string;
}

/** Failures in a row, by service. */
export type Failures = ReadonlyMap<string, number>;

/** From what `save` gave; anything else is nothing. */
export function restore(saved: string | undefined): Failures {
  try {
    const entries = Object.entries(JSON.parse(saved ?? "{}") as object);
    return new Map(entries.filter((entry): entry is [string, number] => Number.isSafeInteger(entry[1])));
  } catch {
    return new Map();
  }
}

/** As text. */
export function save(failures: Failures): string {
  return JSON.stringify(Object.fromEntries(failures));
}

/** What one answer says of a service. */
export function opinion(service: Service, answer: Answer): Opinion {
  if (answer instanceof AccessError) return { health: "unhealthy", text: answer.message };
  const code = `HTTP status ${answer.status}`;
  const refused = answer.status < 200 || answer.status > 299;
  if (service.field === "") return { health: refused ? "unhealthy" : "healthy", text: code };
  // Many services say how they are in the body of a 503, too.
  const found = wordOf(answer.body, service.field);
  if (found === undefined) {
    return refused
      ? { health: "unhealthy", text: code }
      : { health: "degraded", text: `${code} without \`${service.field}\`` };
  }
  const text = `${service.field} is ${clip(found, MAX_WORD)}`;
  const word = found.toLowerCase();
  if (!refused && service.healthy.includes(word)) return { health: "healthy", text };
  if (service.degraded.includes(word)) return { health: "degraded", text };
  return { health: "unhealthy", text: refused ? `${text}, ${code}` : text };
}

/** The text at a dotted path of a JSON document. */
export function wordOf(body: string, field: string): string | undefined {
  let at: unknown;
  try {
    at = JSON.parse(body);
  } catch {
    return undefined;
  }
  for (const key of field.split(".")) {
    if (!isObject(at) || !Object.hasOwn(at, key)) return undefined;
    at = at[key];
  }
  return typeof at === "string" || typeof at === "boolean" || typeof at === "number" ? String(at) : undefined;
}

/** Judges all services. `before` and `open` are what the last check gave back. */
export function judge(
  context: CheckContext,
  services: readonly Service[],
  answers: readonly Answer[],
  before: Failures,
  open: findings.Open,
): { report: Report; failures: Failures; open: findings.Open } {
  if (services.length === 0) {
    return { report: unsupported(context, "no service is configured"), failures: new Map(), open: new Map() };
  }
  const failures = new Map<string, number>();
  const found: findings.Finding[] = [];
  const metrics = services.map((service, index) => {
    const { name } = service;
    const answer = answers[index];
    const { health, text } = answer ? opinion(service, answer) : { health: "unhealthy" as const, text: "not asked" };
    const subject = { other: ["service", clip(name, findings.MAX_KEY)] } as const;
    if (health === "degraded") {
      found.push({ key: name, event: "service_degraded", text: `${name}: ${text}`, health, subject });
    }
    if (health === "unhealthy") {
      const count = (before.get(name) ?? 0) + 1;
      failures.set(name, count);
      const isDown = count >= service.failures;
      found.push({
        key: name,
        event: isDown ? "service_down" : "service_failed",
        text: isDown && count > 1 ? `${name}: ${text}, ${count} times in a row` : `${name}: ${text}`,
        health: isDown ? "unhealthy" : "degraded",
        subject,
      });
    }
    return gauge(METRIC, health === "unhealthy" ? 0 : 1, { service: name });
  });
  const all = services.length === 1 ? "the service is well" : `all ${services.length} services are well`;
  const judged = findings.judge(context, all, found, open);
  return { report: { ...judged.report, metrics }, failures, open: judged.open };
}
