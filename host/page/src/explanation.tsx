// What an event of the history means: its kernel line, and what `gpud explain` says of it.

import { useEffect, useState } from 'preact/hooks';
import { ApiError, json } from './api';
import { Cache } from './cache';
import { Text } from './parts';
import type { Entry, Explained, Explanation, History, Trouble } from './types';

/** Explanations do not change while the event is stored. */
const explanations = new Cache<Explanation>(200);

/** Reads the explanation of an event, once. */
export async function explanationOf(id: string): Promise<Explanation> {
  const query = new URLSearchParams({ id });
  return explanations.get(id, async () => (await json<Explained>(`v1/history/event?${query.toString()}`)).explanation);
}

/** Returns the newest kernel line that a trouble was drawn from; empty where there is none, or none is stored. */
export function useKernelLine(trouble: Trouble): string {
  const [line, setLine] = useState('');
  const component = trouble.states.find((state) => (state.evidence ?? []).some(isKernelRecord))?.component ?? '';
  useEffect(() => {
    let isShown = true;
    if (component) {
      kernelLineOf(component, trouble).then(
        (found) => isShown && setLine(found),
        // The row says which record it was.
        () => undefined,
      );
    }
    return () => {
      isShown = false;
    };
  }, [component, trouble.id, trouble.states.length]);
  return line;
}

const isKernelRecord = (one: unknown) => typeof one === 'object' && one !== null && 'kind' in one && one.kind === 'kmsg';

async function kernelLineOf(component: string, { subject }: Trouble): Promise<string> {
  const query = new URLSearchParams({ component, limit: '50' });
  const { entries } = await json<History>(`v1/history?${query.toString()}`);
  const isOfIt = (entry: Entry) => entry.component === subject.label || entry.subject?.label === subject.label || (subject.uuid !== undefined && entry.subject?.uuid === subject.uuid);
  const found = entries.find((entry) => entry.explained && isOfIt(entry));
  return found ? (await explanationOf(found.id)).kernel_line : '';
}

/** A button, and below it what the event means. */
export function Explain({ entry, isOpen = false }: { entry: Entry; isOpen?: boolean }) {
  const [open, setOpen] = useState(isOpen);
  return (
    <>
      {' '}
      <button type="button" class="more" aria-expanded={open} onClick={() => setOpen(!open)}>
        {open ? 'less' : 'what it means'}
      </button>
      {open && <Loaded id={entry.id} />}
    </>
  );
}

function Loaded({ id }: { id: string }) {
  const [read, setRead] = useState<{ explanation?: Explanation; problem?: string }>({});
  useEffect(() => {
    let isShown = true;
    explanationOf(id).then(
      (explanation) => isShown && setRead({ explanation }),
      (error: unknown) => isShown && setRead({ problem: error instanceof ApiError && error.status === 404 ? 'It is no longer stored.' : error instanceof Error ? error.message : 'It cannot be read.' }),
    );
    return () => {
      isShown = false;
    };
  }, [id]);
  if (read.problem) return <div class="explanation problem" role="alert"><Text>{read.problem}</Text></div>;
  if (!read.explanation) return <div class="explanation dim">reading …</div>;
  return <Words explanation={read.explanation} />;
}

function Words({ explanation }: { explanation: Explanation }) {
  const { kernel_line: line, meaning, likely_causes: causes, actions, advice, facts, reference } = explanation;
  const todo = [...actions.map((action) => `${action}.`), advice].filter(Boolean).join(' ');
  // Only an address is a link; what stands behind it is text.
  const [target = '', ...rest] = reference.split(' ');
  const rows: [string, string][] = [
    ['Means', meaning],
    ['Likely causes', causes.join(', ')],
    ['To do', todo],
    ...facts.map((fact): [string, string] => [fact.name, fact.value]),
  ];
  const shown = rows.filter(([, value]) => value);
  return (
    <div class="explanation">
      {line && <p class="line"><span class="dim">kernel log</span> <code><Text>{line}</Text></code></p>}
      {shown.length > 0 && (
        <dl>
          {shown.map(([name, value]) => (
            <div key={name}>
              <dt><Text>{name}</Text></dt>
              <dd class={name === 'To do' ? 'do' : ''}><Text>{value}</Text></dd>
            </div>
          ))}
        </dl>
      )}
      {!line && !shown.length && <p class="dim">gpud knows no more of it.</p>}
      {target.startsWith('https://') && (
        <p class="dim">
          Described at <a href={target} target="_blank" rel="noopener noreferrer"><Text>{target}</Text></a> <Text>{rest.join(' ')}</Text>
        </p>
      )}
    </div>
  );
}
