// The frame around the views: what machine this is, where to go, whether the page is up to date.

import { render } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { type Action, ActionDialog, Locked } from './actions';
import { clockDifference, json } from './api';
import { CheckView, Checks, GpuView } from './checks';
import { setTheme, setUtc, useChoices, useNow, useRoute } from './context';
import { clock, duration, visible, zone } from './format';
import { follow, useLive } from './live';
import { Metrics } from './metrics';
import { Overview } from './overview';
import { Text, Time } from './parts';
import { Plugins } from './plugins';
import { type Route, address } from './routes';
import { Timeline } from './timeline';
import { TroubleView } from './trouble';
import type { Link } from './live';
import type { PluginSpec, Summary } from './types';

const VIEWS: [Route['view'], string][] = [
  ['overview', 'Overview'],
  ['timeline', 'Timeline'],
  ['metrics', 'Charts'],
  ['checks', 'Checks'],
  ['plugins', 'Plugins'],
];

function App() {
  const live = useLive();
  const route = useRoute();
  const [action, setAction] = useState<Action>();
  const [names, setNames] = useState<string>('');
  const summary = live.summary;
  useEffect(() => {
    if (!summary) return;
    json<PluginSpec[] | null>('v1/plugins').then(
      (specs) => setNames((specs ?? []).map((spec) => spec.plugin_name).join('\n')),
      () => undefined,
    );
  }, [summary === undefined, live.states.length]);
  const plugins = useMemo(() => new Set(names.split('\n').filter(Boolean)), [names]);
  useTitle(summary);
  useEffect(() => {
    scrollTo(0, 0);
  }, [route.view, route.key]);
  const props = summary && { live, summary, plugins, act: setAction };
  return (
    <>
      <a class="skip" href="#main" onClick={(event) => { event.preventDefault(); document.getElementById('main')?.focus(); }}>
        To the content
      </a>
      <Header summary={summary} link={live.link} route={route} />
      <main id="main" tabIndex={-1} class={live.link.state === 'lost' ? 'old' : ''}>
        <Banner link={live.link} at={live.at} />
        {live.link.state === 'locked' ? (
          <Locked why={live.link.why} />
        ) : props ? (
          <View {...props} route={route} />
        ) : (
          <p class="loading">{live.link.state === 'lost' ? <Text>{live.link.why}</Text> : 'Reading the state of this machine …'}</p>
        )}
      </main>
      <ActionDialog action={action} close={() => setAction(undefined)} />
    </>
  );
}

function View(props: Parameters<typeof Overview>[0] & { route: Route }) {
  const { route } = props;
  switch (route.view) {
    case 'timeline':
      return <Timeline live={props.live} route={route} plugins={props.plugins} />;
    case 'metrics':
      return <Metrics live={props.live} route={route} />;
    case 'plugins':
      return <Plugins {...props} />;
    case 'checks':
      return <Checks {...props} />;
    case 'check':
      return <CheckView {...props} name={route.key} key={route.key} />;
    case 'gpu':
      return <GpuView {...props} name={route.key} key={route.key} />;
    case 'trouble':
      return <TroubleView {...props} name={route.key} />;
    default:
      return <Overview {...props} />;
  }
}

function useTitle(summary: Summary | undefined): void {
  const name = summary?.machine.hostname ?? 'gpud';
  useEffect(() => {
    document.title = summary ? `${summary.verdict} · ${visible(name)}` : 'gpud';
  }, [name, summary?.verdict]);
}

function Header({ summary, link, route }: { summary: Summary | undefined; link: Link; route: Route }) {
  const { theme } = useChoices();
  const machine = summary?.machine;
  const facts = [
    machine?.gpu_count ? `${machine.gpu_count} × ${machine.gpu_product || 'GPU'}` : '',
    machine?.driver_version ? `driver ${machine.driver_version}` : '',
    machine?.uptime_seconds ? `up ${duration(machine.uptime_seconds)}` : '',
  ].filter(Boolean);
  const dark = theme === 'dark' || (theme === 'auto' && matchMedia('(prefers-color-scheme: dark)').matches);
  return (
    <header>
      <div class="top">
        <b><Text>{machine?.hostname || 'gpud'}</Text></b>
        <span class="dim"><Text>{facts.join(' · ')}</Text></span>
        <span class="right">
          <LinkState link={link} /> <Clock />
          {machine?.gpud_version && <span class="dim version"> gpud <Text>{machine.gpud_version}</Text></span>}
          <button type="button" class="quiet" onClick={() => setTheme(dark ? 'light' : 'dark')} aria-label={dark ? 'Light colours' : 'Dark colours'} title={dark ? 'Light colours' : 'Dark colours'}>
            <span aria-hidden="true">{dark ? '☀' : '☾'}</span>
          </button>
        </span>
      </div>
      <nav aria-label="Views">
        {VIEWS.map(([view, name]) => {
          const isHere = view === route.view || (view === 'checks' && route.view === 'check') || (view === 'overview' && (route.view === 'gpu' || route.view === 'trouble'));
          return (
            <a key={view} href={address(view)} aria-current={isHere ? 'page' : undefined}>
              {name}
            </a>
          );
        })}
      </nav>
    </header>
  );
}

const LINKS: Record<Link['state'], [string, string]> = {
  starting: ['dim', 'connecting'],
  live: ['ok', 'live'],
  polling: ['dim', 'asks every 30 s'],
  lost: ['bad', 'not connected'],
  locked: ['warn', 'locked'],
};

function LinkState({ link }: { link: Link }) {
  const [name, words] = LINKS[link.state];
  return (
    <span class={`link ${name}`} role="status" data-link={link.state}>
      <span aria-hidden="true">●</span> {words}
    </span>
  );
}

/** The machine's time, in the viewer's zone or UTC. */
function Clock() {
  const { utc } = useChoices();
  const time = useNow(1000);
  return (
    <button type="button" class="quiet clock" onClick={() => setUtc(!utc)} title={utc ? 'Times are in UTC; show them in your zone' : 'Times are in your zone; show them in UTC'}>
      {clock(time, time, utc)} {utc ? 'UTC' : zone(time)}
    </button>
  );
}

function Banner({ link, at }: { link: Link; at: number }) {
  const off = clockDifference();
  const time = useNow(5_000);
  return (
    <>
      {link.state === 'lost' && (
        <p class="banner bad" role="alert">
          <b>gpud does not answer</b> since <Time at={link.since} />. {at > 0 && <>What is shown is of <Time at={at} />. </>}The page asks again by itself.
          {/* A new certificate is made at each start unless the operator gave one, and a script cannot accept it. */}
          {time - link.since > 15_000 && (
            <>
              {' '}
              If gpud was started again, this browser may not know its new certificate yet:{' '}
              <button type="button" onClick={() => location.reload()}>
                Load the page again
              </button>
            </>
          )}
        </p>
      )}
      {Math.abs(off) > 60_000 && (
        <p class="banner">
          The clock of this browser is {duration(Math.abs(off) / 1000)} {off > 0 ? 'behind' : 'ahead of'} the machine's. Times here are the machine's.
        </p>
      )}
    </>
  );
}

const root = document.getElementById('app');
if (root) {
  root.textContent = '';
  render(<App />, root);
  void follow();
}
