// What the page knows of the machine, and how it stays up to date: the stream says that something changed, and what
// changed is then read. Without a stream the page asks at intervals.

import { useEffect, useReducer } from 'preact/hooks';
import { ApiError, json, now, request } from './api';
import { EventReader } from './events';
import type { ComponentStates, MachineInfo, Summary } from './types';

export interface Link {
  state: 'starting' | 'live' | 'polling' | 'lost' | 'locked';
  /** Since when it is lost, and why. */
  since: number;
  why: string;
}

export interface Live {
  summary?: Summary;
  states: ComponentStates[];
  machine?: MachineInfo;
  link: Link;
  /** When the states were read. */
  at: number;
  /** Goes up when the stream has brought something, for views that show the history. */
  changes: number;
}

const live: Live = { states: [], link: { state: 'starting', since: 0, why: '' }, at: 0, changes: 0 };
const listeners = new Set<() => void>();

function tell(): void {
  for (const listener of listeners) listener();
}

/** Re-renders the caller when anything here changes. */
export function useLive(): Live {
  const [, again] = useReducer((count: number) => count + 1, 0);
  useEffect(() => {
    const listener = () => again(undefined as never);
    listeners.add(listener);
    return () => {
      listeners.delete(listener);
    };
  }, []);
  return live;
}

function failed(error: unknown): void {
  const problem = error instanceof ApiError ? error : new ApiError(0, 'gpud does not answer');
  const state = problem.wantsToken ? 'locked' : 'lost';
  if (live.link.state !== state) live.link = { state, since: now(), why: problem.message };
  else live.link = { ...live.link, why: problem.message };
  tell();
}

let reading: Promise<void> | undefined;
let again = false;

/** Reads summary and states. Calls in the meantime lead to one more reading. */
export function refresh(): Promise<void> {
  if (reading) {
    again = true;
    return reading;
  }
  reading = read().finally(() => {
    reading = undefined;
    if (again) {
      again = false;
      void refresh();
    }
  });
  return reading;
}

async function read(): Promise<void> {
  try {
    const [summary, states] = await Promise.all([json<Summary>('v1/summary'), json<ComponentStates[] | null>('v1/states')]);
    live.summary = summary;
    live.states = states ?? [];
    live.at = now();
    if (live.link.state === 'starting' || live.link.state === 'locked') live.link = { state: 'polling', since: now(), why: '' };
    tell();
    if (now() - machineAt > INVENTORY) void readMachine();
  } catch (error) {
    failed(error);
  }
}

/** The inventory rarely changes. */
const INVENTORY = 300_000;
let machineAt = 0;

async function readMachine(): Promise<void> {
  machineAt = now();
  try {
    live.machine = await json<MachineInfo>('machine-info');
    tell();
  } catch {
    // The overview does without until the next reading.
    machineAt = 0;
  }
}

let pending: ReturnType<typeof setTimeout> | undefined;
let lastReading = 0;
/** Changes of a moment are read together. */
const TOGETHER = 400;
/** In a storm of changes the page reads no more often than this. */
const BETWEEN = 3_000;

/** Reads soon: many changes within a moment lead to one reading. */
function refreshSoon(): void {
  pending ??= setTimeout(
    () => {
      pending = undefined;
      lastReading = Date.now();
      live.changes += 1;
      void refresh();
    },
    Math.max(TOGETHER, lastReading + BETWEEN - Date.now()),
  );
}

let lastId = '';
/** The daemon sends a comment every 30 seconds: a stream that is silent for longer is dead. */
const SILENCE = 75_000;
/** Readings change without an event. */
const READINGS = 30_000;
const FIRST_PAUSE = 1_000;
const LONGEST_PAUSE = 15_000;

let aborter: AbortController | undefined;

/** Ends the stream, so that it is opened again with the token that is known now. */
export function reconnect(): void {
  aborter?.abort();
  wake?.();
  void refresh();
}

let wake: (() => void) | undefined;

function pause(time: number): Promise<void> {
  return new Promise((resolve) => {
    const timer = setTimeout(resolve, time);
    wake = () => {
      clearTimeout(timer);
      resolve();
    };
  });
}

/** Keeps the page up to date until it is closed. */
export async function follow(): Promise<void> {
  setInterval(() => {
    if (!document.hidden && live.link.state !== 'locked') void refresh();
  }, READINGS);
  document.addEventListener('visibilitychange', () => {
    if (!document.hidden && now() - live.at > READINGS) void refresh();
  });
  void refresh();
  let wait = FIRST_PAUSE;
  for (;;) {
    const opened = Date.now();
    try {
      await stream();
    } catch (error) {
      if (error instanceof ApiError && error.status === 404) {
        // A daemon without a stream.
        live.link = { state: 'polling', since: now(), why: '' };
        tell();
        wait = LONGEST_PAUSE;
      } else if (!(error instanceof DOMException && error.name === 'AbortError') || live.link.state === 'lost') {
        failed(error);
      }
    }
    wait = Date.now() - opened > LONGEST_PAUSE ? FIRST_PAUSE : Math.min(LONGEST_PAUSE, wait * 1.7);
    // Not all pages of a machine ask at the same moment.
    await pause(wait * (0.7 + Math.random() * 0.6));
  }
}

async function stream(): Promise<void> {
  const abort = new AbortController();
  aborter = abort;
  let watchdog = setTimeout(() => abort.abort(), SILENCE);
  try {
    const response = await request('v1/stream', {
      headers: { Accept: 'text/event-stream', ...(lastId ? { 'Last-Event-ID': lastId } : {}) },
      signal: abort.signal,
    });
    const body = response.body;
    if (!body) throw new ApiError(0, 'gpud does not answer');
    const missed = live.link.state === 'lost';
    live.link = { state: 'live', since: now(), why: '' };
    tell();
    if (missed) void refresh();
    const reader = body.pipeThrough(new TextDecoderStream()).getReader();
    const events = new EventReader();
    for (;;) {
      const { done, value } = await reader.read();
      if (done) break;
      clearTimeout(watchdog);
      watchdog = setTimeout(() => abort.abort(), SILENCE);
      // What has changed is read from the API; the stream only says that something has.
      if (events.feed(value).length) refreshSoon();
      if (events.lastId) lastId = events.lastId;
    }
    throw new ApiError(0, 'gpud ended the connection');
  } catch (error) {
    if (error instanceof ApiError || (error instanceof DOMException && error.name === 'AbortError')) throw error;
    throw new ApiError(0, 'the connection to gpud broke');
  } finally {
    clearTimeout(watchdog);
  }
}
