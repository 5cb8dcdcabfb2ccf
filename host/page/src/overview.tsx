// The first view: is it fine, what is wrong, what to do, which GPU, what else, when did it start.

import { type Action, setHealthy } from './actions';
import { now } from './api';
import { useNow } from './context';
import { evidenceOf } from './evidence';
import { useKernelLine } from './explanation';
import { count, duration, millis, moment, short, visible } from './format';
import { type Gpu, gpusOf } from './gpus';
import { GpuGrid, hasReadings } from './gpu-card';
import { GroupCard } from './group-card';
import { groupsOf, portsOf } from './groups';
import { useLastSeen } from './last-seen';
import type { Live } from './live';
import { Copy, Heading, Text, Time, Verdict, healthClass } from './parts';
import { address } from './routes';
import { TimelineStrip } from './timeline';
import type { Summary, Trouble } from './types';

export interface ViewProps {
  live: Live;
  summary: Summary;
  plugins: ReadonlySet<string>;
  act: (action: Action) => void;
}

export function Overview({ live, summary, plugins, act }: ViewProps) {
  const gpus = gpusOf(live.states, live.machine, summary.troubles);
  const absent = new Set(summary.absent.map((one) => one.component));
  const groups = groupsOf(live.states, absent, plugins);
  const answering = gpus.filter(hasReadings).length;
  const seen = useLastSeen(gpus);
  const product = summary.machine.gpu_product ?? gpus[0]?.product ?? '';
  return (
    <>
      <VerdictBox summary={summary} act={act} />
      {summary.troubles.length > 0 && <Troubles troubles={summary.troubles} subjects={subjects(live, gpus)} />}
      {gpus.length > 0 && (
        <section aria-labelledby="gpus">
          <Heading id="gpus" title="GPUs">
            {answering === gpus.length ? `all ${gpus.length} answer` : `${answering} of ${gpus.length} answer`}
            {product && ` · ${visible(product)}`}
          </Heading>
          <GpuGrid gpus={gpus} seen={seen} />
        </section>
      )}
      <section aria-labelledby="machine">
        <Heading id="machine" title="Machine">
          {count(summary.counts.healthy, 'check')} healthy
          {summary.counts.initializing > 0 && ` · ${summary.counts.initializing} not ready yet`}
          {summary.counts.absent > 0 && ` · ${summary.counts.absent} do not apply here`}
        </Heading>
        <div class={`groups n${groups.length}`}>
          {groups.map((group) => (
            <GroupCard key={group.name} group={group} live={live} summary={summary} />
          ))}
        </div>
        <Absent summary={summary} />
      </section>
      <section aria-labelledby="timeline">
        <Heading id="timeline" title="Timeline">
          last 6 hours · <a href={address('timeline')}>all of it</a>
        </Heading>
        <TimelineStrip plugins={plugins} changes={live.changes} />
      </section>
    </>
  );
}

/** How many things are watched, to set the number of troubles against. */
function subjects(live: Live, gpus: Gpu[]): number {
  return gpus.length + portsOf(live.states).length + live.states.length;
}

/** The verdict without its first word twice: `Unhealthy: GPU 3 fell off the bus`. */
function headline(summary: Summary): string {
  const first = summary.sentence.split(/(?<=\.)\s/)[0] ?? '';
  return first.replace(/^(Healthy|Degraded|Unhealthy|Initializing)[:.]?\s*/, '').replace(/\.$/, '');
}

/** Everything of the verdict as text, for a ticket or a chat. */
function asText(summary: Summary): string {
  const machine = summary.machine;
  const lines = [`${machine.hostname ?? 'this machine'}: ${summary.verdict}. ${summary.sentence}`];
  if (machine.gpu_count) lines.push(`${machine.gpu_count} × ${machine.gpu_product ?? 'GPU'}, driver ${machine.driver_version ?? 'unknown'}`);
  for (const trouble of summary.troubles) {
    const since = millis(trouble.since);
    lines.push(`- ${trouble.subject.label}${trouble.subject.detail ? ` (${trouble.subject.detail})` : ''}: ${trouble.sentence}${since ? `, since ${moment(since, true)}` : ''}`);
    if (trouble.action) lines.push(`  ${trouble.action}`);
  }
  lines.push(`gpud ${machine.gpud_version ?? ''}, ${moment(now(), true)}`);
  return lines.join('\n');
}

function VerdictBox({ summary, act }: { summary: Summary; act: (action: Action) => void }) {
  const time = useNow(10_000);
  const since = millis(summary.since);
  const worst = summary.troubles[0];
  const rest = headline(summary);
  const components = [...new Set(worst?.states.map((state) => state.component) ?? [])];
  const isGood = summary.verdict === 'Healthy';
  return (
    <section class={`verdict ${healthClass(summary.verdict)}`} aria-live="polite" data-verdict={summary.verdict}>
      <h1>
        {summary.verdict}
        {rest && (
          <>
            {': '}
            <Text>{rest}</Text>
          </>
        )}
      </h1>
      {!isGood && since !== undefined && (
        <p>
          Since <Time at={since} /> ({duration((time - since) / 1000)}).{' '}
          {worst?.subject.detail && (
            <>
              <Text>{worst.subject.label}</Text>: <code><Text>{worst.subject.detail}</Text></code>
            </>
          )}
        </p>
      )}
      {worst?.action ? (
        <p class="do">
          <Text>{worst.action}</Text>
        </p>
      ) : (
        isGood && <p>{since !== undefined && <>Since <Time at={since} />. </>}Nothing to do.</p>
      )}
      {worst && !worst.action && <p class="dim">No check suggests an action. Look at the evidence.</p>}
      {worst && (
        <div class="buttons">
          <Copy text={() => asText(summary)}>Copy summary</Copy>
          <a class="button" href={address('trouble', worst.id)}>
            Evidence ({count(worst.states.length, 'check')})
          </a>
          {components.length > 0 && (
            <button type="button" onClick={() => act(setHealthy(components))}>
              Set healthy…
            </button>
          )}
        </div>
      )}
    </section>
  );
}

function Troubles({ troubles, subjects: all }: { troubles: Trouble[]; subjects: number }) {
  return (
    <section aria-labelledby="troubles">
      <Heading id="troubles" title="In trouble">
        {troubles.length} of {all} things that are watched
      </Heading>
      <ul class="troubles">
        {troubles.slice(0, 50).map((trouble) => (
          <TroubleRow key={trouble.id} trouble={trouble} />
        ))}
      </ul>
      {troubles.length > 50 && <p class="dim">{troubles.length - 50} more, see <a href={address('checks')}>Checks</a>.</p>}
    </section>
  );
}

function TroubleRow({ trouble }: { trouble: Trouble }) {
  const evidence = evidenceOf(trouble)[0];
  const line = useKernelLine(trouble);
  return (
    <li class={`trouble card ${healthClass(trouble.health)}`} data-trouble={trouble.id}>
      <span class="s">
        <a href={trouble.subject.kind === 'gpu' && trouble.subject.uuid ? address('gpu', trouble.subject.uuid) : address('trouble', trouble.id)}>
          <Text>{trouble.subject.label}</Text>
        </a>
        <Verdict health={trouble.health} />
      </span>
      <span class="m">
        <Text>{trouble.sentence}</Text>
        {trouble.states.length > 1 && (
          <>
            {' · '}
            <a href={address('trouble', trouble.id)}>{count(trouble.states.length, 'check')} say so</a>
          </>
        )}
      </span>
      <span class="t">
        <Time at={millis(trouble.since)} />
      </span>
      <span class="why">
        {trouble.action && (
          <b>
            <Text>{trouble.action}</Text>
          </b>
        )}
        {trouble.subject.detail && <code><Text>{trouble.subject.detail}</Text></code>}
        {line ? (
          <span class="evidence">
            kernel log:{' '}
            <code><Text>{short(line, 200)}</Text></code>
          </span>
        ) : (
          evidence && <span class="evidence">seen in: <Text>{short(evidence, 160)}</Text></span>
        )}
      </span>
    </li>
  );
}

function Absent({ summary }: { summary: Summary }) {
  if (!summary.absent.length) return null;
  return (
    <details class="absent">
      <summary>{count(summary.absent.length, 'check does', 'checks do')} not apply to this machine</summary>
      <ul>
        {summary.absent.map((one) => (
          <li key={one.component}>
            <a href={address('check', one.component)}>
              <Text>{one.component}</Text>
            </a>
            <span class="dim">
              <Text>{one.reason}</Text>
            </span>
          </li>
        ))}
      </ul>
    </details>
  );
}
