// What the viewer chose: theme and zone. Both are remembered by the browser.

import { useEffect, useReducer } from 'preact/hooks';
import { now } from './api';
import { type Route, parse } from './routes';

export type Theme = 'auto' | 'light' | 'dark';

interface Choices {
  theme: Theme;
  utc: boolean;
}

function stored(name: string): string {
  try {
    return localStorage.getItem(name) ?? '';
  } catch {
    return '';
  }
}

function store(name: string, value: string): void {
  try {
    localStorage.setItem(name, value);
  } catch {
    // A browser that keeps nothing asks again the next time.
  }
}

const theme = stored('gpud-theme');
const choices: Choices = { theme: theme === 'light' || theme === 'dark' ? theme : 'auto', utc: stored('gpud-zone') === 'utc' };
const listeners = new Set<() => void>();

function apply(): void {
  document.documentElement.dataset.theme = choices.theme;
  for (const listener of listeners) listener();
}

export function setTheme(value: Theme): void {
  choices.theme = value;
  store('gpud-theme', value);
  apply();
}

export function setUtc(value: boolean): void {
  choices.utc = value;
  store('gpud-zone', value ? 'utc' : 'local');
  apply();
}

apply();

function useAgain(subscribe: (listener: () => void) => () => void): void {
  const [, again] = useReducer((count: number) => count + 1, 0);
  useEffect(() => subscribe(() => again(undefined as never)), []);
}

export function useChoices(): Choices {
  useAgain((listener) => {
    listeners.add(listener);
    return () => listeners.delete(listener);
  });
  return choices;
}

/** Returns the machine's time, and re-renders at this interval. */
export function useNow(interval: number): number {
  useAgain((listener) => {
    const timer = setInterval(() => {
      if (!document.hidden) listener();
    }, interval);
    return () => clearInterval(timer);
  });
  return now();
}

/** Returns the view that the address names. */
export function useRoute(): Route {
  useAgain((listener) => {
    addEventListener('hashchange', listener);
    return () => removeEventListener('hashchange', listener);
  });
  return parse(location.hash);
}
