/** The component's configuration. Grant: `config: true`. */

import wit from "#host/config";
import { CheckFailed } from "./errors.ts";

/** The JSON document as the operator wrote it; `{}` when nothing was configured. At most 256 KiB. */
export function text(): string {
  return wit.document();
}

/**
 * The document as an object. It fits the schema of the descriptor; read it with care all the same.
 *
 * @throws CheckFailed when it is not one JSON object.
 */
export function document(): Record<string, unknown> {
  let document: unknown;
  try {
    document = JSON.parse(text());
  } catch (error) {
    throw new CheckFailed(`the configuration is not JSON: ${(error as Error).message}`);
  }
  if (typeof document !== "object" || document === null || Array.isArray(document)) {
    throw new CheckFailed("the configuration is not a JSON object");
  }
  return document as Record<string, unknown>;
}
