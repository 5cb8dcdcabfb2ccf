// What each check has cost since the daemon started, read from the Prometheus text of /metrics.

export interface Bill {
  component: string;
  seconds: number;
  memory: number;
  calls: number;
  bytes: number;
  timeouts: number;
  traps: number;
  /** Milliseconds, of the last check. */
  last?: number;
}

const FIELDS: Record<string, keyof Bill> = {
  gpud_checker_seconds_total: 'seconds',
  gpud_checker_memory_high_water_bytes: 'memory',
  gpud_checker_host_calls_total: 'calls',
  gpud_checker_bytes_total: 'bytes',
  gpud_checker_timeouts_total: 'timeouts',
  gpud_checker_traps_total: 'traps',
  gpud_component_last_check_timestamp_seconds: 'last',
};

/** Returns the value of a label of a line, with the format's escapes undone. */
function label(line: string, name: string): string | undefined {
  const found = new RegExp(`[{,]${name}="((?:[^"\\\\]|\\\\.)*)"`).exec(line);
  return found?.[1]?.replace(/\\(.)/g, (_, c: string) => (c === 'n' ? '\n' : c));
}

/** Reads the bills; the most expensive component is first. */
export function billsOf(text: string): Bill[] {
  const bills = new Map<string, Bill>();
  for (const line of text.split('\n')) {
    if (!line.startsWith('gpud_c')) continue;
    const brace = line.indexOf('{');
    const field = FIELDS[line.slice(0, brace)];
    const component = label(line, 'checker') ?? label(line, 'gpud_component');
    const value = Number(line.slice(line.lastIndexOf('}') + 1).trim().split(' ')[0]);
    if (!field || component === undefined || !Number.isFinite(value)) continue;
    const bill = bills.get(component) ?? { component, seconds: 0, memory: 0, calls: 0, bytes: 0, timeouts: 0, traps: 0 };
    if (field === 'last') bill.last = value * 1000;
    else if (field === 'memory') bill.memory = Math.max(bill.memory, value);
    else if (field !== 'component') bill[field] = (bill[field] ?? 0) + value;
    bills.set(component, bill);
  }
  return [...bills.values()].sort((a, b) => b.seconds - a.seconds || (a.component < b.component ? -1 : 1));
}
