// Turns stored samples into what uPlot draws: one row of times and one row of values for each series.

import { bytes, finite, plain } from './format';
import type { Sample } from './types';

export interface Series {
  /** Labels as text, such as `uuid=GPU-1`; empty without labels. */
  label: string;
  values: (number | null)[];
}

export interface Chart {
  name: string;
  /** Unix seconds, ascending. */
  times: number[];
  series: Series[];
  /** Series that are not drawn. */
  left: number;
  /** Values that are no numbers. */
  gaps: number;
}

/** Most series of one chart: more cannot be distinguished, and take too long to draw. */
export const MOST_SERIES = 32;

/** Returns one chart for each metric. `filter` chooses series by a part of their labels. */
export function chartsOf(samples: Sample[], filter = '', most = MOST_SERIES): Chart[] {
  const metrics = new Map<string, Map<string, Map<number, number | null>>>();
  const wanted = filter.trim().toLowerCase();
  for (const sample of samples) {
    const label = Object.entries(sample.labels ?? {})
      .map(([key, value]) => `${key}=${value}`)
      .join(' ');
    if (wanted && !label.toLowerCase().includes(wanted) && !sample.name.toLowerCase().includes(wanted)) continue;
    const series = metrics.get(sample.name) ?? new Map<string, Map<number, number | null>>();
    metrics.set(sample.name, series);
    const values = series.get(label) ?? new Map<number, number | null>();
    series.set(label, values);
    values.set(Math.round(sample.unix_seconds / 1000), finite(sample.value) ?? null);
  }
  return [...metrics].sort(([a], [b]) => (a < b ? -1 : 1)).map(([name, series]) => chart(name, series, most));
}

function chart(name: string, all: Map<string, Map<number, number | null>>, most: number): Chart {
  const drawn = [...all].sort(([a], [b]) => a.localeCompare(b, 'en', { numeric: true })).slice(0, most);
  const times = [...new Set(drawn.flatMap(([, values]) => [...values.keys()]))].sort((a, b) => a - b);
  let gaps = 0;
  const series = drawn.map(([label, values]): Series => {
    for (const value of values.values()) if (value === null) gaps += 1;
    return { label, values: times.map((time) => values.get(time) ?? null) };
  });
  return { name, times, series, left: all.size - drawn.length, gaps };
}

/** Returns the last number of a series. */
export function last(series: Series): number | undefined {
  for (let index = series.values.length - 1; index >= 0; index -= 1) {
    const value = series.values[index];
    if (value !== null && value !== undefined) return value;
  }
  return undefined;
}

/** Returns a value with its unit. */
export function shown(value: number, unit: string): string {
  if (unit === 'bytes') return bytes(value);
  return `${plain(value)}${unit ? ` ${unit}` : ''}`;
}

/** Returns names for people in place of labels: a GPU for its UUID, the value alone where there is one label. */
export function named(chart: Chart, gpus: ReadonlyMap<string, string>): Chart {
  const keys = new Set(chart.series.map((series) => series.label.replace(/=.*$/s, '')));
  const isSingle = keys.size === 1 && chart.series.every((series) => !/ \w+=/.test(series.label));
  const series = chart.series.map((one) => {
    let label = one.label;
    for (const [uuid, name] of gpus) label = label.replace(`uuid=${uuid}`, name);
    return { ...one, label: isSingle ? label.replace(/^\w+=/, '') : label };
  });
  return { ...chart, series };
}

/** Returns a metric's name in words, and its unit: `accelerator_nvidia_power_current_usage_milli_watts`. */
export function titleOf(name: string): { title: string; unit: string; scale: number } {
  const units: [RegExp, string, number][] = [
    [/_milli_watts$/, 'W', 0.001],
    [/_watts$/, 'W', 1],
    [/_celsius$/, '°C', 1],
    [/_percent$/, '%', 1],
    [/_bytes(_total)?$/, 'bytes', 1],
    [/_mhz$/, 'MHz', 1],
    [/_seconds(_total)?$/, 's', 1],
  ];
  const found = units.find(([pattern]) => pattern.test(name));
  const words = name
    .replace(/^accelerator_(nvidia|amd)_/, '')
    .replace(found?.[0] ?? /$^/, '')
    .replace(/_/g, ' ');
  return { title: words || name, unit: found?.[1] ?? '', scale: found?.[2] ?? 1 };
}
