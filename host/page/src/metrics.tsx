// Charts of stored samples, one for each metric of a check, with the moments of its events.

import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { ApiError, json, now } from './api';
import { useChoices } from './context';
import { count, visible } from './format';
import { gpusOf } from './gpus';
import { useHistory } from './history';
import { timeOf, weightOf } from './lanes';
import type { Live } from './live';
import { Heading, Problem, Text } from './parts';
import type { Mark } from './plot';
import { type Route, address } from './routes';
import { type Chart, chartsOf, last, named, shown, titleOf } from './series';
import type { ComponentMetrics, Sample } from './types';

type Plot = typeof import('./plot');

/** The chunk with the drawing is loaded when the first chart is shown. */
let plotting: Promise<Plot> | undefined;

function loadPlot(): Promise<Plot> {
  if (!plotting) {
    const sheet = document.createElement('link');
    sheet.rel = 'stylesheet';
    sheet.href = new URL('charts.css', import.meta.url).href;
    document.head.append(sheet);
    const chunk = new URL('charts.js', import.meta.url).href;
    plotting = import(chunk) as Promise<Plot>;
    plotting.catch(() => {
      plotting = undefined;
    });
  }
  return plotting;
}

const MINUTE = 60_000;
const RANGES: [string, string, number][] = [
  ['15m', '15 min', 15 * MINUTE],
  ['1h', '1 h', 60 * MINUTE],
  ['3h', '3 h', 180 * MINUTE],
  ['24h', '1 d', 1440 * MINUTE],
];

/** Reads the samples of a component again every half minute. */
function useSamples(component: string, range: number): { samples: Sample[]; problem: string; isReading: boolean; at: number } {
  const [read, setRead] = useState<{ samples: Sample[]; problem: string; isReading: boolean; at: number; of: string }>({ samples: [], problem: '', isReading: true, at: 0, of: '' });
  useEffect(() => {
    if (!component) return undefined;
    let gone = false;
    const once = async () => {
      if (document.hidden) return;
      const query = new URLSearchParams({ components: component, since: `${Math.round(range / 1000)}s` });
      try {
        const found = await json<ComponentMetrics[]>(`v1/metrics?${query.toString()}`);
        if (!gone) setRead({ samples: found.flatMap((one) => one.metrics), problem: '', isReading: false, at: now(), of: component });
      } catch (error) {
        if (!gone) setRead((old) => ({ ...old, isReading: false, problem: error instanceof ApiError ? error.message : 'gpud does not answer' }));
      }
    };
    setRead((old) => ({ ...old, isReading: true }));
    void once();
    const timer = setInterval(() => void once(), 30_000);
    return () => {
      gone = true;
      clearInterval(timer);
    };
  }, [component, range]);
  return read.of === component ? read : { samples: [], problem: read.problem, isReading: read.isReading, at: 0 };
}

function ChartCard({ chart, marks, from, to }: { chart: Chart; marks: Mark[]; from: number; to: number }) {
  const element = useRef<HTMLDivElement>(null);
  const { utc, theme } = useChoices();
  const [problem, setProblem] = useState('');
  useEffect(() => {
    let remove: (() => void) | undefined;
    let gone = false;
    loadPlot().then(
      (plot) => {
        if (!gone && element.current) remove = plot.draw(element.current, chart, marks, from, to, utc);
      },
      () => setProblem('The charts cannot be loaded: gpud does not answer.'),
    );
    return () => {
      gone = true;
      remove?.();
    };
  }, [chart, marks, from, to, utc, theme]);
  const { title, unit, scale } = titleOf(chart.name);
  const newest = chart.series.map(last).filter((value) => value !== undefined);
  const [least, most] = [Math.min(...newest), Math.max(...newest)].map((value) => shown(value * scale, unit));
  const words = !newest.length ? 'no number' : least === most ? `now ${most}` : `now ${least} to ${most}`;
  return (
    <figure class="chart card" data-metric={chart.name}>
      <figcaption>
        <b><Text>{title}</Text></b> <span class="dim">{words}</span>
        <code><Text>{chart.name}</Text></code>
      </figcaption>
      <div ref={element} class="plot" role="img" aria-label={visible(`${title}: ${count(chart.series.length, 'series', 'series')}, ${words}`)} />
      {problem && <Problem message={problem} />}
      {chart.left > 0 && <p class="note">{chart.series.length} of {(chart.series.length + chart.left).toLocaleString('en')} series are drawn. Filter by a part of their labels to see others.</p>}
      {chart.gaps > 0 && <p class="note">{count(chart.gaps, 'value is', 'values are')} no number, and left out.</p>}
    </figure>
  );
}

/** Charts of one component. */
export function Charts({ component, range, filter = '', live }: { component: string; range: number; filter?: string; live: Live }) {
  const read = useSamples(component, range);
  const history = useHistory(range, component, live.changes, 500);
  const [rows, setRows] = useState(24);
  const gpus = gpusOf(live.states, live.machine, []).map((gpu) => `${gpu.uuid}\n${gpu.index}`).join('\n\n');
  const charts = useMemo(() => {
    const names = new Map(gpus.split('\n\n').map((line) => line.split('\n')).filter(([uuid]) => uuid).map(([uuid, index]) => [uuid ?? '', `GPU ${index ?? ''}`]));
    return chartsOf(read.samples, filter).map((chart) => named(chart, names));
  }, [read.samples, filter, gpus]);
  const marks = useMemo(() => history.entries.map((entry): Mark => ({ at: (timeOf(entry) ?? 0) / 1000, weight: weightOf(entry), text: entry.message })), [history.entries]);
  const to = (read.at || now()) / 1000;
  if (read.problem) return <Problem message={read.problem} />;
  if (!charts.length) return <p class="dim calm-line">{read.isReading ? 'Reading samples …' : filter ? 'No series has this in its labels.' : 'This check has stored no samples in this time.'}</p>;
  return (
    <>
      {marks.length > 0 && <p class="note">{marks.length === 1 ? 'The dashed line is an event' : `Dashed lines are the ${marks.length.toLocaleString('en')} events`} of this check.</p>}
      <div class="charts">
        {charts.slice(0, rows).map((chart) => (
          <ChartCard key={chart.name} chart={chart} marks={marks} from={to - range / 1000} to={to} />
        ))}
      </div>
      {charts.length > rows && (
        <button type="button" onClick={() => setRows(rows + 24)}>
          Show more ({charts.length - rows} left)
        </button>
      )}
    </>
  );
}

/** The whole view. Which check, how long and which series stand in the address. */
export function Metrics({ live, route }: { live: Live; route: Route }) {
  const [names, setNames] = useState<string[]>();
  useEffect(() => {
    json<ComponentMetrics[]>('v1/metrics?since=3m').then(
      (found) => setNames(found.map((one) => one.component)),
      () => setNames([]),
    );
  }, []);
  const all = names?.length ? names : live.states.filter((one) => one.states).map((one) => one.component);
  const component = route.key || all.find((name) => /-(utilization|power|temperature)$/.test(name)) || all[0] || '';
  const chosen = RANGES.find(([key]) => key === route.query.get('range')) ?? RANGES[1] ?? ['1h', '1 h', 60 * MINUTE];
  const [name, , range] = chosen as [string, string, number];
  const filter = route.query.get('series') ?? '';
  const go = (key: string, changes: Record<string, string>) => {
    location.hash = address('metrics', key, { range: name, series: filter, ...changes });
  };
  return (
    <section aria-labelledby="metrics">
      <Heading id="metrics" title="Charts">
        of stored samples
      </Heading>
      <div class="controls">
        <label>
          Check
          <select value={component} onChange={(event) => go(event.currentTarget.value, { series: '' })}>
            {[...new Set([...all, component])].filter(Boolean).sort().map((one) => (
              <option key={one} value={one}>{visible(one)}</option>
            ))}
          </select>
        </label>
        <span class="ranges" role="group" aria-label="Time shown">
          {RANGES.map(([key, label]) => (
            <button type="button" key={key} aria-pressed={key === name} onClick={() => go(component, { range: key })}>
              {label}
            </button>
          ))}
        </span>
        <label>
          Series
          <input type="search" placeholder="part of a label" value={filter} onChange={(event) => go(component, { series: event.currentTarget.value })} />
        </label>
      </div>
      {component && <Charts component={component} range={range} filter={filter} live={live} />}
    </section>
  );
}
