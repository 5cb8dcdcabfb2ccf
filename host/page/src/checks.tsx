// All checks in a list, and one check or GPU with everything that is known of it.

import { setHealthy, runNow } from './actions';
import { documentOf, isDict } from './data';
import { count, millis, visible } from './format';
import { gathered } from './gathered';
import { gpusOf } from './gpus';
import { Bars, Facts, LastSeen, Links, PcieLanes, hasReadings } from './gpu-card';
import { checkOf } from './groups';
import { useHistory } from './history';
import { useLastSeen } from './last-seen';
import { meaningOf } from './meaning';
import { Charts } from './metrics';
import type { ViewProps } from './overview';
import { Heading, Text, Time, Verdict, healthClass } from './parts';
import { address } from './routes';
import { EntryRow } from './timeline';
import type { State } from './types';

const ORDER = { Unhealthy: 0, Degraded: 1, Initializing: 2, Healthy: 3 };

export function Checks({ live, summary }: ViewProps) {
  const absent = new Map(summary.absent.map((one) => [one.component, one.reason]));
  const checks = live.states.map((one) => checkOf(one.component, one.states ?? []));
  const present = checks.filter((check) => !absent.has(check.component) && check.states.length).sort((a, b) => ORDER[a.health] - ORDER[b.health] || (a.component < b.component ? -1 : 1));
  return (
    <section aria-labelledby="checks">
      <Heading id="checks" title="Checks">
        {present.length} on this machine, {absent.size} do not apply
      </Heading>
      <table class="card">
        <thead>
          <tr>
            <th scope="col">Check</th>
            <th scope="col">Verdict</th>
            <th scope="col">Reason</th>
          </tr>
        </thead>
        <tbody>
          {present.map((check) => (
            <tr key={check.component} data-check={check.component}>
              <td><a href={address('check', check.component)}><Text>{check.component}</Text></a></td>
              <td><Verdict health={check.health} /></td>
              <td class="dim"><Text>{meaningOf(summary, check.component, check.reason)}</Text></td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  );
}

export function CheckView({ live, summary, act, name }: ViewProps & { name: string }) {
  const found = live.states.find((one) => one.component === name);
  const history = useHistory(14 * 86_400_000, name, live.changes, 100);
  if (!found) return <p class="card">There is no check called <b><Text>{name}</Text></b>. <a href={address('checks')}>All checks</a></p>;
  const states = found.states ?? [];
  const check = checkOf(name, states);
  const absent = summary.absent.find((one) => one.component === name);
  return (
    <section aria-labelledby="check">
      <p class="crumbs"><a href={address('checks')}>Checks</a> ›</p>
      <Heading id="check" title={visible(name)}>
        {absent ? 'does not apply to this machine' : <Verdict health={check.health} />}
      </Heading>
      <div class="buttons">
        <button type="button" onClick={() => act(runNow(name))}>Run now…</button>
        <button type="button" onClick={() => act(setHealthy([name]))}>Set healthy…</button>
        <a class="button" href={address('timeline', '', { range: '14d', component: name })}>Timeline</a>
        <a class="button" href={address('metrics', name)}>Charts</a>
      </div>
      {absent && <p class="card"><Text>{absent.reason}</Text></p>}
      {states.map((state, index) => (
        <StateCard key={index} state={state} means={states.length > 1 && state.health === 'Healthy' ? (state.reason ?? '') : meaningOf(summary, name, state.reason ?? '')} />
      ))}
      {history.entries.length > 0 && (
        <>
          <h3>Last events and changes</h3>
          <ol class="entries card">
            {history.entries.slice(0, 20).map((entry) => (
              <EntryRow key={entry.id} entry={entry} />
            ))}
          </ol>
        </>
      )}
      <h3>Last hour</h3>
      <Charts component={name} range={3_600_000} live={live} />
    </section>
  );
}

function StateCard({ state, means }: { state: State; means: string }) {
  const document = documentOf(state);
  const info = Object.entries(state.extra_info ?? {}).filter(([key]) => key !== 'data');
  return (
    <div class={`state card ${state.health === 'Healthy' ? '' : healthClass(state.health)}`}>
      <p>
        <Verdict health={state.health ?? 'Initializing'} /> <b><Text>{state.name}</Text></b>{' '}
        <span class="dim">checked <Time at={millis(state.time)} /></span>
      </p>
      <p><Text>{means}</Text></p>
      {means !== state.reason && <p class="dim">in the check's words: <Text>{state.reason}</Text></p>}
      {state.error && <p class="dim"><Text>{state.error}</Text></p>}
      {state.suggested_actions?.description && <p><b><Text>{state.suggested_actions.description}</Text></b></p>}
      {info.length > 0 && (
        <dl>
          {info.slice(0, 100).map(([key, value]) => (
            <div key={key}>
              <dt><Text>{key}</Text></dt>
              <dd><Text>{value.slice(0, 2000)}</Text></dd>
            </div>
          ))}
        </dl>
      )}
      {state.raw_output && <details><summary>Output</summary><pre><Text>{state.raw_output}</Text></pre></details>}
      {Object.entries(document).map(([key, value]) => (
        <Reading key={key} name={key} value={value} />
      ))}
    </div>
  );
}

const MOST_ROWS = 200;

/** A part of a check's readings: a table where it is a list of objects, else as it was given. */
function Reading({ name, value }: { name: string; value: unknown }) {
  const title = visible(name.replace(/_/g, ' '));
  if (Array.isArray(value) && value.length && value.every(isDict)) {
    const rows = value as Record<string, unknown>[];
    const keys = [...new Set(rows.slice(0, MOST_ROWS).flatMap(Object.keys))].slice(0, 16);
    return (
      <details>
        <summary>{title} ({rows.length})</summary>
        <div class="wide">
          <table>
            <thead><tr>{keys.map((key) => <th key={key} scope="col"><Text>{key.replace(/_/g, ' ')}</Text></th>)}</tr></thead>
            <tbody>
              {rows.slice(0, MOST_ROWS).map((row, index) => (
                <tr key={index}>{keys.map((key) => <td key={key}><Text>{shown(row[key])}</Text></td>)}</tr>
              ))}
            </tbody>
          </table>
        </div>
      </details>
    );
  }
  if (isDict(value) || Array.isArray(value)) {
    return <details><summary>{title}</summary><pre><Text>{JSON.stringify(value, null, 1).slice(0, 20_000)}</Text></pre></details>;
  }
  return <p class="fact"><span class="dim">{title}</span> <Text>{shown(value)}</Text></p>;
}

function shown(value: unknown): string {
  if (value === null || value === undefined) return '';
  return (typeof value === 'object' ? JSON.stringify(value) : String(value)).slice(0, 400);
}

export function GpuView({ live, summary, act, name }: ViewProps & { name: string }) {
  const gpus = gpusOf(live.states, live.machine, summary.troubles);
  const gpu = gpus.find((one) => one.key === name || String(one.index) === name);
  const last = useLastSeen(gpu ? [gpu] : []).get(gpu?.uuid ?? '');
  const history = useHistory(14 * 86_400_000, '', live.changes, 2_000);
  if (!gpu) return <p class="card">There is no GPU <b><Text>{name}</Text></b> here. <a href={address('overview')}>Overview</a></p>;
  const entries = history.entries.filter((entry) => entry.subject?.uuid === gpu.uuid || (entry.subject?.pci && entry.subject.pci === gpu.bus) || entry.message.includes(gpu.uuid || '\0'));
  const facts: [string, string][] = [['Product', gpu.product], ['Serial number', gpu.serial], ['UUID', gpu.uuid], ['PCI address', gpu.bus], ['Clock', gpu.clocks]];
  return (
    <section aria-labelledby="gpu">
      <p class="crumbs"><a href={address('overview')}>Overview</a> ›</p>
      <Heading id="gpu" title={`GPU ${gpu.index}`}><Verdict health={gpu.health} /></Heading>
      {gpu.troubles.map((trouble) => (
        <div key={trouble.id} class={`state card ${healthClass(trouble.health)}`}>
          <p><b><Text>{trouble.sentence}</Text></b> <span class="dim">since <Time at={millis(trouble.since)} /></span></p>
          {trouble.action && <p class="do"><Text>{trouble.action}</Text></p>}
          <p><a href={address('trouble', trouble.id)}>Evidence ({count(trouble.states.length, 'check')})</a></p>
        </div>
      ))}
      <div class="pair">
        <dl class="card">
          {facts.filter(([, value]) => value).map(([key, value]) => (
            <div key={key}><dt>{key}</dt><dd><code><Text>{value}</Text></code></dd></div>
          ))}
        </dl>
        <div class="card gpu-bars">
          {hasReadings(gpu) ? <Bars gpu={gpu} /> : <p class="dim">No check can read this GPU now.</p>}
          {last && <LastSeen seen={last} />}
          <Links links={gpu.links} />
          <PcieLanes link={gpu.pcie} />
          <Facts gpu={gpu} />
        </div>
      </div>
      {gpu.processes.length > 0 && (
        <>
          <h3>Processes</h3>
          <table class="card">
            <thead><tr><th scope="col">Process</th><th scope="col">Command</th><th scope="col">Pod</th><th scope="col">Container</th></tr></thead>
            <tbody>
              {gpu.processes.map((process) => (
                <tr key={process.pid}><td><Text>{process.pid}</Text></td><td><Text>{process.command}</Text></td><td><Text>{process.pod}</Text></td><td><Text>{process.container.slice(0, 12)}</Text></td></tr>
              ))}
            </tbody>
          </table>
        </>
      )}
      {entries.length > 0 && (
        <>
          <h3>Last events and changes</h3>
          <ol class="entries card">{gathered(entries).slice(0, 30).map(({ entry, checks }) => <EntryRow key={entry.id} entry={entry} checks={checks} />)}</ol>
        </>
      )}
      {gpu.uuid && (
        <>
          <h3>Last hour</h3>
          {['utilization', 'temperature', 'power'].map((check) => (
            <Charts key={check} component={`accelerator-nvidia-${check}`} range={3_600_000} filter={gpu.uuid} live={live} />
          ))}
        </>
      )}
      {gpu.troubles.length > 0 && (
        <div class="buttons">
          <button type="button" onClick={() => act(setHealthy([...new Set(gpu.troubles.flatMap((trouble) => trouble.states.map((state) => state.component)))]))}>Set healthy…</button>
        </div>
      )}
    </section>
  );
}
