// A part of the machine on the overview: its checks that are not healthy, its key figures, its ports.

import { count, short, visible } from './format';
import { type Check, type Group, portsOf } from './groups';
import type { Live } from './live';
import { meaningOf } from './meaning';
import { Meter, Text, Verdict, healthClass } from './parts';
import { address } from './routes';
import type { Health, Summary, Trouble } from './types';

/** Rows of a group's checks that are not healthy: one for each trouble, however many checks report it. */
function reported(checks: Check[], summary: Summary): { key: string; label: string; href: string; text: string; health: Health }[] {
  const found = new Map<string, { trouble?: Trouble; checks: Check[] }>();
  for (const check of checks) {
    const trouble = summary.troubles.find((one) => one.states.some((state) => state.component === check.component));
    const key = trouble && trouble.states.length > 1 ? trouble.id : check.component;
    const row = found.get(key) ?? { trouble, checks: [] };
    row.checks.push(check);
    found.set(key, row);
  }
  return [...found].map(([key, { trouble, checks: all }]) => {
    const first = all[0] as Check;
    if (trouble && trouble.states.length > 1) {
      const text = all.length === 1 ? `${first.component} reports it` : `${all.length} checks report it`;
      return { key, label: trouble.subject.label, href: address('trouble', trouble.id), text, health: trouble.health };
    }
    return { key, label: first.component, href: address('check', first.component), text: meaningOf(summary, first.component, first.reason), health: first.health };
  });
}

/** Shows one group. */
export function GroupCard({ group, live, summary }: { group: Group; live: Live; summary: Summary }) {
  const bad = group.checks.filter((check) => check.health === 'Unhealthy' || check.health === 'Degraded');
  const waiting = group.checks.filter((check) => check.health === 'Initializing').length;
  const ports = group.name === 'Fabric and network' ? portsOf(live.states) : [];
  return (
    <div class="group card">
      <h3>
        {group.name}
        {bad.length ? <Verdict health={group.health}>{count(bad.length, 'check')} not healthy</Verdict> : waiting === group.checks.length ? <Verdict health="Initializing">starting</Verdict> : <span class="verdict-word calm">healthy</span>}
      </h3>
      <ul>
        {reported(bad, summary)
          .slice(0, 8)
          .map((row) => (
            <li key={row.key} class={healthClass(row.health)}>
              <a href={row.href}>
                <Text>{row.label}</Text>
              </a>
              <span class="v">
                <Text>{short(row.text, 140)}</Text>
              </span>
            </li>
          ))}
        {group.figures.slice(0, 8).map((figure) => (
          <li key={figure.label} class={figure.health ? healthClass(figure.health) : ''}>
            <a href={address('check', figure.component)}>
              <Text>{figure.label}</Text>
            </a>
            {figure.used !== undefined && <Meter used={figure.used} hot={figure.used > 0.9} label={figure.label} />}
            <span class="v">
              <Text>{figure.value}</Text>
            </span>
          </li>
        ))}
      </ul>
      {ports.length > 0 && (
        <div class="ports">
          {ports.map((port) => (
            <span key={`${port.device}/${port.port}`} class={port.isGood ? '' : 'down'} title={visible([port.state, port.rate, port.note].filter(Boolean).join(', '))}>
              <Text>{`${port.device}/${port.port}`}</Text>
              {port.isGood ? '' : ' down'}
            </span>
          ))}
        </div>
      )}
      <details>
        <summary>
          {count(group.checks.length, 'check')}
          {waiting > 0 && `, ${waiting} not ready yet`}
        </summary>
        <ul>
          {group.checks.map((check) => (
            <li key={check.component}>
              <a href={address('check', check.component)}>
                <Text>{check.component}</Text>
              </a>
              <span class="v dim">
                <Text>{short(meaningOf(summary, check.component, check.reason), 200)}</Text>
              </span>
            </li>
          ))}
        </ul>
      </details>
    </div>
  );
}
