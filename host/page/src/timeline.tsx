// Events and changes of health over time: lanes to look at, a list to read.

import { useMemo, useState } from 'preact/hooks';
import { now } from './api';
import { useChoices, useNow } from './context';
import { count, millis, moment, short, visible, zone } from './format';
import { Explain } from './explanation';
import { gathered } from './gathered';
import { useHistory } from './history';
import { type Bin, type Lane, WEIGHTS, lanesOf, ticks, timeOf, weightOf } from './lanes';
import type { Live } from './live';
import { Heading, Problem, Text, Time, Verdict } from './parts';
import { type Route, address } from './routes';
import type { Entry, Health } from './types';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
export const RANGES: [string, string, number][] = [
  ['5m', '5 min', 5 * MINUTE],
  ['30m', '30 min', 30 * MINUTE],
  ['1h', '1 h', HOUR],
  ['6h', '6 h', 6 * HOUR],
  ['1d', '1 d', DAY],
  ['3d', '3 d', 3 * DAY],
  ['14d', '14 d', 14 * DAY],
];

const BINS = 180;

/** The last six hours, on the overview. */
export function TimelineStrip({ plugins, changes }: { plugins: ReadonlySet<string>; changes: number }) {
  const range = 6 * HOUR;
  const read = useHistory(range, '', changes, 1_000);
  const time = useNow(30_000);
  const open = (bin: Bin) => {
    const at = (bin.entries[0] && timeOf(bin.entries[0]));
    location.hash = address('timeline', '', { range: '6h', until: at ? new Date(at + 2 * MINUTE).toISOString() : '' });
  };
  return (
    <div class="card">
      {read.problem && <Problem message={read.problem} />}
      <Lanes lanes={lanesOf(read.entries, time - range, time, BINS, plugins)} from={time - range} to={time} choose={open} />
      {!read.isReading && !read.problem && !read.entries.length && <p class="dim calm-line">Nothing happened in the last 6 hours.</p>}
      <ol class="entries compact">
        {gathered(read.entries).slice(0, 5).map(({ entry, checks }) => (
          <EntryRow key={entry.id} entry={entry} checks={checks} most={200} />
        ))}
      </ol>
    </div>
  );
}

/** The lanes as a drawing; the list below has the same for screen readers. */
function Lanes({ lanes, from, to, choose }: { lanes: Lane[]; from: number; to: number; choose: (bin: Bin) => void }) {
  const { utc } = useChoices();
  const offset = utc ? 0 : -new Date(to).getTimezoneOffset() * MINUTE;
  const narrow = innerWidth < 600;
  const at = (time: number) => (100 * (time - from)) / (to - from);
  const label = (time: number) => {
    const text = moment(time, utc);
    return (to - from) > 2 * DAY ? text.slice(5, 10) : text.slice(11, 16);
  };
  if (!lanes.length) return null;
  const axis = ticks(from, to, narrow ? 4 : 8, offset).filter((tick) => at(tick) > 2 && at(tick) < 98);
  return (
    <div class="lanes">
      {lanes.map((lane) => (
        <div class="lane" key={lane.name}>
          <span class="name">{lane.name}</span>
          <div class="track">
            {lane.bins.map((bin) => (
              <button
                type="button"
                key={bin.at}
                // The list and the buttons above do the same by keyboard, without a hundred stops.
                tabIndex={-1}
                class={`bin w${bin.weight}`}
                style={{ left: `${(100 * bin.at) / BINS}%` }}
                title={visible(binTitle(bin, utc))}
                aria-label={visible(`${lane.name}: ${binTitle(bin, utc)}`)}
                onClick={() => choose(bin)}
              />
            ))}
          </div>
        </div>
      ))}
      <div class="lane axis" aria-hidden="true">
        <span class="name">{utc ? 'UTC' : zone(to)}</span>
        <div class="track">
          {axis.map((tick) => (
            <span key={tick} style={{ left: `${at(tick)}%` }}>
              {label(tick)}
            </span>
          ))}
        </div>
      </div>
    </div>
  );
}

function binTitle(bin: Bin, utc: boolean): string {
  const first = bin.entries[0];
  const at = first && timeOf(first);
  return `${count(bin.entries.length, 'entry', 'entries')}, worst: ${WEIGHTS[bin.weight]}. ${at ? moment(at, utc) : ''} ${(first?.means || first?.message || '').slice(0, 120)}`;
}

/** An entry of the list, in at most so many letters; where it speaks for others, with the number of `checks` that say so. */
export function EntryRow({ entry, checks = 1, most = 1000, isOpen = false }: { entry: Entry; checks?: number; most?: number; isOpen?: boolean }) {
  const weight = weightOf(entry);
  const words = checks > 1 && entry.to === 'Healthy' ? 'is well again' : entry.means || entry.message || entry.name || '';
  const shown = short(words, most);
  return (
    <li class="entry" data-entry={entry.id}>
      <span class="t">
        <Time at={timeOf(entry)} />
      </span>
      <span class={`kind w${weight}`}>{entry.kind === 'health' ? <Verdict health={(entry.to ?? 'Initializing') as Health} /> : <Text>{entry.severity ?? 'Info'}</Text>}</span>
      <span class="what">
        <a href={address('check', entry.component)}>
          <Text>{entry.subject?.label ?? entry.component}</Text>
        </a>{' '}
        <span title={entry.means || shown !== words ? visible(entry.message) : undefined}>
          <Text>{shown}</Text>
        </span>
        {checks > 1 && <span class="dim"> · {checks} checks say so</span>}
        {(entry.count ?? 1) > 1 && <span class="dim"> · {entry.count?.toLocaleString('en')} times since <Time at={millis(entry.time)} /></span>}
        {entry.kind === 'event' && entry.name && <span class="dim"> · <Text>{entry.name}</Text></span>}
        {entry.kind === 'health' && entry.subject && checks === 1 && <span class="dim"> · <Text>{entry.component}</Text></span>}
        {entry.kind === 'health' && entry.from && <span class="dim"> · was <Text>{entry.from}</Text></span>}
        {entry.explained && <Explain entry={entry} isOpen={isOpen} />}
      </span>
    </li>
  );
}

/** The whole view, with filters that stand in the address. */
export function Timeline({ live, route, plugins }: { live: Live; route: Route; plugins: ReadonlySet<string> }) {
  const chosen = RANGES.find(([name]) => name === route.query.get('range')) ?? RANGES[3] ?? ['6h', '6 h', 6 * HOUR];
  const [name, , range] = chosen as [string, string, number];
  const component = route.query.get('component') ?? '';
  const subject = route.query.get('subject') ?? '';
  const least = Number(route.query.get('least') ?? 0) || 0;
  const words = route.query.get('words') ?? '';
  const until = millis(route.query.get('until'));
  const [rows, setRows] = useState(200);
  const time = useNow(15_000);
  const to = until ?? time;
  const reach = until === undefined ? range : range + Math.max(0, now() - until);
  // A moving start would read again with every second.
  const read = useHistory(Math.ceil(reach / MINUTE) * MINUTE, component, until === undefined ? live.changes : 0);
  const shown = useMemo(
    () =>
      read.entries.filter((entry) => {
        const at = timeOf(entry) ?? 0;
        if (at > to || at < to - range || weightOf(entry) < least) return false;
        if (subject && entry.subject?.label !== subject) return false;
        return !words || `${entry.message} ${entry.means ?? ''} ${entry.name ?? ''} ${entry.component}`.toLowerCase().includes(words.toLowerCase());
      }),
    [read.entries, to, range, least, subject, words],
  );
  const lanes = useMemo(() => lanesOf(shown, to - range, to, BINS, plugins), [shown, to, range, plugins]);
  const go = (changes: Record<string, string>) => {
    location.hash = address('timeline', '', { range: name, component, subject, least: least ? String(least) : '', words, until: until === undefined ? '' : new Date(until).toISOString(), ...changes });
  };
  const zoom = (bin: Bin) => {
    const index = RANGES.findIndex(([known]) => known === name);
    const smaller = RANGES[Math.max(0, index - 1)];
    const at = (bin.entries[0] && timeOf(bin.entries[0]));
    if (smaller && at) go({ range: smaller[0], until: new Date(Math.min(now(), at + smaller[2] / 2)).toISOString() });
  };
  const components = [...new Set([...live.states.map((one) => one.component), component])].filter(Boolean).sort();
  const subjects = [...new Set([...read.entries.map((entry) => entry.subject?.label ?? ''), subject])].filter((label) => label && !components.includes(label)).sort((a, b) => a.localeCompare(b, 'en', { numeric: true }));
  return (
    <section aria-labelledby="timeline">
      <Heading id="timeline" title="Timeline">
        {count(shown.length, 'entry', 'entries')} {read.isReading ? '· reading …' : ''}
      </Heading>
      <div class="controls">
        <span class="ranges" role="group" aria-label="Time shown">
          {RANGES.map(([key, label]) => (
            <button type="button" key={key} aria-pressed={key === name} onClick={() => go({ range: key })}>
              {label}
            </button>
          ))}
        </span>
        <span class="ranges" role="group" aria-label="Move in time">
          <button type="button" onClick={() => go({ until: new Date(to - range / 2).toISOString() })}>← earlier</button>
          <button type="button" disabled={until === undefined} onClick={() => go({ until: to + range / 2 >= now() ? '' : new Date(to + range / 2).toISOString() })}>later →</button>
          <button type="button" disabled={until === undefined} onClick={() => go({ until: '' })}>now</button>
        </span>
        <label>
          Check
          <select value={component} onChange={(event) => go({ component: event.currentTarget.value })}>
            <option value="">all</option>
            {components.map((one) => (
              <option key={one} value={one}>{visible(one)}</option>
            ))}
          </select>
        </label>
        {subjects.length > 0 && (
          <label>
            Part
            <select value={subject} onChange={(event) => go({ subject: event.currentTarget.value })}>
              <option value="">all</option>
              {subjects.map((one) => (
                <option key={one} value={one}>{visible(one)}</option>
              ))}
            </select>
          </label>
        )}
        <label>
          At least
          <select value={String(least)} onChange={(event) => go({ least: event.currentTarget.value === '0' ? '' : event.currentTarget.value })}>
            {WEIGHTS.map((word, index) => (
              <option key={word} value={String(index)}>{word}</option>
            ))}
          </select>
        </label>
        <label>
          Words
          <input type="search" value={words} onChange={(event) => go({ words: event.currentTarget.value })} />
        </label>
      </div>
      {read.problem && <Problem message={read.problem} />}
      {read.isCut && <p class="note">Only the newest {read.entries.length.toLocaleString('en')} entries are read. Choose a shorter time or one check to see the others.</p>}
      <div class="card">
        <Lanes lanes={lanes} from={to - range} to={to} choose={zoom} />
        {!shown.length && !read.isReading && <p class="dim calm-line">Nothing happened between <Time at={to - range} /> and <Time at={to} />.</p>}
        <ol class="entries">
          {shown.slice(0, rows).map((entry) => (
            <EntryRow key={entry.id} entry={entry} />
          ))}
        </ol>
        {shown.length > rows && (
          <button type="button" onClick={() => setRows(rows + 500)}>
            Show more ({(shown.length - rows).toLocaleString('en')} left)
          </button>
        )}
      </div>
    </section>
  );
}
