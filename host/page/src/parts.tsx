// Small pieces that several views use.

import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { now } from './api';
import { useChoices, useNow } from './context';
import { clock, duration, moment, visible } from './format';
import type { Health } from './types';

const CLASS: Record<Health, string> = { Healthy: 'ok', Degraded: 'warn', Unhealthy: 'bad', Initializing: 'dim' };
const SYMBOL: Record<Health, string> = { Healthy: '✓', Degraded: '!', Unhealthy: '✕', Initializing: '…' };

export const healthClass = (health: Health | undefined) => CLASS[health ?? 'Initializing'] ?? 'dim';

/** A verdict as a word with its sign: never colour alone. */
export function Verdict({ health, children }: { health: Health; children?: ComponentChildren }) {
  return (
    <span class={`verdict-word ${healthClass(health)}`}>
      <span aria-hidden="true">{SYMBOL[health] ?? '?'}</span> {children ?? visible(health)}
    </span>
  );
}

/** A moment in the viewer's zone or UTC; the whole of it as a tooltip, in both. */
export function Time({ at, whole = false }: { at: number | undefined; whole?: boolean }) {
  const { utc } = useChoices();
  if (at === undefined) return null;
  const both = `${moment(at, false)} · ${moment(at, true)}`;
  return (
    <time dateTime={new Date(at).toISOString()} title={both}>
      {whole ? moment(at, utc) : clock(at, now(), utc)}
    </time>
  );
}

/** How long ago a moment was. */
export function Ago({ at }: { at: number | undefined }) {
  const time = useNow(10_000);
  if (at === undefined) return null;
  return <span>{duration((time - at) / 1000)}</span>;
}

/** Text of the machine, shown as text whatever it holds. */
export function Text({ children }: { children: string | undefined }) {
  return <bdi>{visible(children ?? '')}</bdi>;
}

/** A bar for a value beside its limit. */
export function Meter({ used, hot, label }: { used: number | undefined; hot?: boolean; label: string }) {
  const percent = used === undefined || !Number.isFinite(used) ? 0 : Math.min(100, Math.max(0, used * 100));
  return (
    <span class="meter" role="img" aria-label={used === undefined ? `${label}: unknown` : `${label}: ${Math.round(percent)} %`}>
      <i class={hot ? 'hot' : ''} style={{ width: `${percent}%` }} />
    </span>
  );
}

/** A button that copies text and says so. */
export function Copy({ text, children }: { text: () => string; children: ComponentChildren }) {
  const [done, setDone] = useState('');
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(text());
      setDone('Copied');
    } catch {
      setDone('This browser does not allow it');
    }
    setTimeout(() => setDone(''), 2500);
  };
  return (
    <button type="button" onClick={copy}>
      <span aria-live="polite">{done || children}</span>
    </button>
  );
}

/** A heading of a section, with what it holds in small letters. */
export function Heading({ id, title, children }: { id: string; title: string; children?: ComponentChildren }) {
  return (
    <h2 id={id}>
      {title} {children && <small>{children}</small>}
    </h2>
  );
}

export function Problem({ message }: { message: string }) {
  return (
    <p class="problem" role="alert">
      {message}
    </p>
  );
}
