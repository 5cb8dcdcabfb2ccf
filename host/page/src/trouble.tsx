// One trouble: what happened, and what each check says of it.

import { setHealthy } from './actions';
import { evidenceText } from './evidence';
import { millis, visible } from './format';
import { gathered } from './gathered';
import { useHistory } from './history';
import type { ViewProps } from './overview';
import { Heading, Text, Time, Verdict, healthClass } from './parts';
import { address } from './routes';
import { EntryRow } from './timeline';
import type { TroubleState } from './types';

export function TroubleView({ live, summary, act, name }: ViewProps & { name: string }) {
  const trouble = summary.troubles.find((one) => one.id === name);
  const whose = [...new Set(trouble?.states.map((state) => state.component) ?? [])].join(',');
  const history = useHistory(14 * 86_400_000, whose, live.changes, 500);
  if (!trouble) return <p class="card">This trouble is over: <b><Text>{name}</Text></b>. <a href={address('timeline')}>Timeline</a></p>;
  const components = whose.split(',');
  const { label, uuid } = trouble.subject;
  const entries = history.entries.filter((entry) => entry.component === label || entry.subject?.label === label || (uuid && entry.subject?.uuid === uuid));
  const explained = entries.find((entry) => entry.explained);
  return (
    <section aria-labelledby="trouble">
      <p class="crumbs"><a href={address('overview')}>Overview</a> ›</p>
      <Heading id="trouble" title={visible(trouble.subject.label)}><Verdict health={trouble.health} /></Heading>
      <div class={`state card ${healthClass(trouble.health)}`}>
        <p><b><Text>{trouble.sentence}</Text></b> <span class="dim">since <Time at={millis(trouble.since)} whole /></span></p>
        {trouble.subject.detail && <p><code><Text>{trouble.subject.detail}</Text></code></p>}
        {trouble.action && <p class="do"><Text>{trouble.action}</Text></p>}
        <div class="buttons"><button type="button" onClick={() => act(setHealthy(components))}>Set healthy…</button></div>
      </div>
      {entries.length > 0 && (
        <>
          <h3>What happened</h3>
          <ol class="entries card">
            {gathered(entries).slice(0, 20).map(({ entry, checks }) => (
              <EntryRow key={entry.id} entry={entry} checks={checks} isOpen={entry === explained} />
            ))}
          </ol>
        </>
      )}
      <h3>What the checks say</h3>
      {[...saying(trouble.states)].map(([key, states]) => (
        <Saying key={key} states={states} />
      ))}
    </section>
  );
}

/** States of a trouble by what they say: a lost GPU has a dozen checks that say the same. */
function saying(states: TroubleState[]): Map<string, TroubleState[]> {
  const found = new Map<string, TroubleState[]>();
  for (const state of states) {
    const key = JSON.stringify([state.health, state.reason, state.advice]);
    found.set(key, [...(found.get(key) ?? []), state]);
  }
  return found;
}

/** What one check says, or several say alike. */
function Saying({ states }: { states: TroubleState[] }) {
  const state = states[0] as TroubleState;
  // Some checks repeat their reason as advice.
  const advice = state.advice && !state.reason.includes(state.advice) ? state.advice : '';
  return (
    <div class="state card">
      <p>
        <Verdict health={state.health} />{' '}
        {states.length === 1 ? <CheckLink state={state} /> : <b>{states.length} checks</b>}
      </p>
      <p><Text>{state.means || state.reason}</Text></p>
      {state.means && <p class="dim">in {states.length === 1 ? "the check's" : 'their'} words: <Text>{state.reason}</Text></p>}
      {advice && <p><b><Text>{advice}</Text></b></p>}
      {states.length === 1 ? (
        <Proof state={state} />
      ) : (
        <ul class="says">
          {states.map((one, index) => (
            <li key={index}>
              <CheckLink state={one} />
              <Proof state={one} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function CheckLink({ state }: { state: TroubleState }) {
  return (
    <>
      <a href={address('check', state.component)}><Text>{state.component}</Text></a> <span class="dim"><Time at={millis(state.time)} /></span>
    </>
  );
}

/** The error that a state met, and what it was drawn from. */
function Proof({ state }: { state: TroubleState }) {
  return (
    <>
      {state.error && <p class="dim"><Text>{state.error}</Text></p>}
      {(state.evidence ?? []).map((one, key) => <p key={key}><code><Text>{evidenceText(one)}</Text></code></p>)}
    </>
  );
}
