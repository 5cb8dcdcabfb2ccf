// Reads `extra_info.data`, the JSON document in which a check says its readings. Everything in it is optional: it comes
// from plugins, other versions and other vendors.

import type { ComponentStates, State } from './types';
import { finite } from './format';

export type Dict = Record<string, unknown>;

export function isDict(value: unknown): value is Dict {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

/** Returns the document of a state; empty if there is none or it cannot be read. */
export function documentOf(state: State | undefined): Dict {
  const text = state?.extra_info?.data;
  if (!text) return {};
  try {
    const value: unknown = JSON.parse(text);
    return isDict(value) ? value : {};
  } catch {
    return {};
  }
}

/** Returns the document of a component's first state that has one. */
export function documentIn(states: ComponentStates[], component: string): Dict {
  const found = states.find((one) => one.component === component);
  for (const state of found?.states ?? []) {
    const value = documentOf(state);
    if (Object.keys(value).length) return value;
  }
  return {};
}

/** Returns the rows of a list of objects. */
export function rows(document: Dict, key: string): Dict[] {
  const value = document[key];
  return Array.isArray(value) ? value.filter(isDict) : [];
}

export function textOf(row: Dict | undefined, key: string): string {
  const value = row?.[key];
  return typeof value === 'string' ? value : typeof value === 'number' ? String(value) : '';
}

export function numberOf(row: Dict | undefined, key: string): number | undefined {
  return finite(row?.[key]);
}
