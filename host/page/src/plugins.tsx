// What runs beside the built-in checks, what it may reach, and what every check costs.

import { useEffect, useState } from 'preact/hooks';
import { runNow, setHealthy } from './actions';
import { ApiError, json, now, text } from './api';
import { type Bill, billsOf } from './bill';
import { bytes, count, duration, interval, millis, plain, visible } from './format';
import { grantWords } from './grants';
import { checkOf } from './groups';
import type { ViewProps } from './overview';
import { meaningOf } from './meaning';
import { Heading, Problem, Text, Time, Verdict } from './parts';
import { address } from './routes';
import type { PluginSpec, Shadow } from './types';

interface Read {
  specs: PluginSpec[];
  bills: Bill[];
  shadows: Map<string, Shadow>;
  problem: string;
}

async function read(): Promise<Read> {
  const [specs, metrics] = await Promise.all([json<PluginSpec[] | null>('v1/plugins'), text('metrics')]);
  const shadows = new Map<string, Shadow>();
  for (const spec of specs ?? []) {
    if (!spec.shadow) continue;
    try {
      shadows.set(spec.plugin_name, await json<Shadow>(`v1/plugins/shadow?componentName=${encodeURIComponent(spec.plugin_name)}`));
    } catch {
      // It has just been removed.
    }
  }
  return { specs: specs ?? [], bills: billsOf(metrics), shadows, problem: '' };
}

export function Plugins({ live, summary, act }: ViewProps) {
  const [found, setFound] = useState<Read>({ specs: [], bills: [], shadows: new Map(), problem: '' });
  useEffect(() => {
    const once = () =>
      read().then(setFound, (error: unknown) => setFound((old) => ({ ...old, problem: error instanceof ApiError ? error.message : 'gpud does not answer' })));
    void once();
    const timer = setInterval(() => {
      if (!document.hidden) void once();
    }, 30_000);
    return () => clearInterval(timer);
  }, []);
  const bill = new Map(found.bills.map((one) => [one.component, one]));
  const [rows, setRows] = useState(12);
  const own = new Set(found.specs.map((spec) => spec.plugin_name));
  return (
    <>
      <section aria-labelledby="plugins">
        <Heading id="plugins" title="Plugins">
          {count(found.specs.length, 'plugin')} of yours, {live.states.length - own.size} checks built in
        </Heading>
        {found.problem && <Problem message={found.problem} />}
        {!found.specs.length && !found.problem && <p class="card dim">No plugins run on this machine. They are named in a spec file, see <code>gpud plugin --help</code>.</p>}
        {found.specs.map((spec) => (
          <PluginCard key={spec.plugin_name} spec={spec} bill={bill.get(spec.plugin_name)} shadow={found.shadows.get(spec.plugin_name)} live={live} summary={summary} act={act} />
        ))}
      </section>
      <section aria-labelledby="bill">
        <Heading id="bill" title="What checks cost">since gpud started; the most expensive first</Heading>
        <div class="wide card">
          <table>
            <thead>
              <tr>
                <th scope="col">Check</th>
                <th scope="col" class="n">Time</th>
                <th scope="col" class="n">Memory, most</th>
                <th scope="col" class="n">Calls to the host</th>
                <th scope="col" class="n">Bytes read</th>
                <th scope="col" class="n">Time-outs</th>
                <th scope="col" class="n">Crashes</th>
              </tr>
            </thead>
            <tbody>
              {found.bills.slice(0, rows).map((one) => (
                <tr key={one.component}>
                  <td><a href={address('check', one.component)}><Text>{one.component}</Text></a></td>
                  <td class="n">{plain(one.seconds)} s</td>
                  <td class="n">{one.memory > 0 ? bytes(one.memory) : '–'}</td>
                  <td class="n">{one.calls.toLocaleString('en')}</td>
                  <td class="n">{bytes(one.bytes)}</td>
                  <td class={`n ${one.timeouts ? 'warn' : 'dim'}`}>{one.timeouts}</td>
                  <td class={`n ${one.traps ? 'bad' : 'dim'}`}>{one.traps}</td>
                </tr>
              ))}
            </tbody>
          </table>
        </div>
        {found.bills.length > rows && (
          <p>
            <button type="button" onClick={() => setRows(found.bills.length)}>
              Show all {found.bills.length}
            </button>
          </p>
        )}
      </section>
    </>
  );
}

function PluginCard({ spec, bill, shadow, live, summary, act }: { spec: PluginSpec; bill?: Bill; shadow?: Shadow } & Pick<ViewProps, 'live' | 'summary' | 'act'>) {
  const states = live.states.find((one) => one.component === spec.plugin_name)?.states ?? [];
  const check = checkOf(spec.plugin_name, states);
  const isWasm = spec.plugin_type === 'wasm';
  const words = isWasm ? grantWords(spec.grants) : ['runs a script, with the rights of gpud'];
  const version = spec.running_version;
  const checked = millis(states[0]?.time) ?? bill?.last;
  return (
    <div class="plugin card" data-plugin={spec.plugin_name}>
      <h3>
        <a href={address('check', spec.plugin_name)}><Text>{spec.plugin_name}</Text></a>
        {states.length > 0 && <Verdict health={check.health} />}
      </h3>
      {check.reason && <p><Text>{meaningOf(summary, spec.plugin_name, check.reason)}</Text></p>}
      <dl>
        <div><dt>Kind</dt><dd>{isWasm ? 'WebAssembly' : spec.plugin_type === 'init' ? 'script at the start' : 'script'}, {spec.run_mode === 'manual' ? 'on demand' : 'by itself'}</dd></div>
        {isWasm && <div><dt>File</dt><dd><code><Text>{spec.path}</Text></code></dd></div>}
        {version?.digest && <div><dt>Version</dt><dd><code title={visible(version.digest)}><Text>{version.digest.slice(0, 19)}</Text>…</code>{version.on_probation && <span class="warn"> on probation: not checked well three times yet</span>}</dd></div>}
        {version?.rolled_back && <div><dt>Taken back</dt><dd class="warn"><Text>{`the version ${version.rolled_back.digest?.slice(0, 19) ?? ''} ${version.rolled_back.reason ?? ''}`}</Text> <Time at={millis(version.rolled_back.time)} /></dd></div>}
        <div><dt>May reach</dt><dd>{words.length ? <ul class="words">{words.map((word) => <li key={word}><Text>{word}</Text></li>)}</ul> : 'nothing'}</dd></div>
        <div><dt>Last check</dt><dd>{checked === undefined ? 'not yet' : <><Time at={checked} /> ({duration((now() - checked) / 1000)} ago)</>}{spec.interval && `, every ${visible(interval(spec.interval))}`}</dd></div>
        {bill && <div><dt>Cost so far</dt><dd>{plain(bill.seconds)} s{isWasm && `, at most ${bytes(bill.memory)}, ${bill.calls.toLocaleString('en')} calls to the host, ${bytes(bill.bytes)} read`}</dd></div>}
        {shadow && <div><dt>Beside it</dt><dd><Text>{shadow.problem || `another version was compared ${shadow.compared} times and said the same ${shadow.same} times`}</Text> <code>{visible((shadow.digest ?? '').slice(0, 19))}</code></dd></div>}
      </dl>
      <div class="buttons">
        <button type="button" onClick={() => act(runNow(spec.plugin_name))}>Run now…</button>
        <button type="button" onClick={() => act(setHealthy([spec.plugin_name]))}>Set healthy…</button>
      </div>
    </div>
  );
}
