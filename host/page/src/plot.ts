// The chunk that is loaded when charts are shown: uPlot, and how it draws a chart of the page.

import uPlot from 'uplot';
import type { Chart } from './series';
import { last, shown, titleOf } from './series';
import { clock, moment } from './format';

/** A moment that is marked. */
export interface Mark {
  /** Unix seconds. */
  at: number;
  weight: number;
  text: string;
}

const COLOURS = ['#4c78a8', '#b5651d', '#3f8f5b', '#8a5fa8', '#b0413e', '#2f8f9d', '#8c7a2e', '#c4698f'];

function style(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Draws a chart into an element and returns how to remove it. */
export function draw(element: HTMLElement, chart: Chart, marks: Mark[], from: number, to: number, utc: boolean): () => void {
  const { unit, scale } = titleOf(chart.name);
  const time = (at: number) => moment(at * 1000, utc).slice(11, 16);
  const axis: uPlot.Axis = { stroke: style('--dim'), grid: { stroke: style('--line'), width: 1 }, ticks: { show: false }, font: '11px system-ui, sans-serif', gap: 6 };
  const data = [chart.times, ...chart.series.map((series) => series.values.map((value) => (value === null ? null : value * scale)))] as uPlot.AlignedData;
  const options: uPlot.Options = {
    width: element.clientWidth || 400,
    height: 170,
    legend: { show: chart.series.length <= 10, live: true },
    cursor: { sync: { key: 'gpud' }, focus: { prox: 24 }, drag: { x: false, y: false } },
    focus: { alpha: 0.35 },
    scales: { x: { range: [from, to] }, y: { range: (_, low, high) => limits(low, high) } },
    tzDate: utc ? (at) => uPlot.tzDate(new Date(at * 1000), 'Etc/UTC') : (at) => new Date(at * 1000),
    // The last time of the axis needs room for its half.
    padding: [8, 18, 0, 0],
    axes: [
      { ...axis, size: 26, values: (_, splits) => splits.map(time) },
      { ...axis, size: 66, values: (_, splits) => splits.map((value) => shown(value, unit === 'bytes' ? unit : '')) },
    ],
    series: [
      // Without a pointer the legend says the newest values.
      { label: 'time', value: (_, at) => (at === null || at === undefined ? 'newest' : clock(at * 1000, at * 1000, utc)) },
      ...chart.series.map((series, index): uPlot.Series => ({
        label: series.label || 'value',
        stroke: COLOURS[index % COLOURS.length],
        width: 1.5,
        points: { show: chart.times.length < 3 },
        spanGaps: false,
        value: (_, value, __, at) => {
          const one = at === null || at === undefined ? last(series) : value;
          return one === null || one === undefined ? 'no number' : shown(at === null || at === undefined ? one * scale : one, unit);
        },
      })),
    ],
    hooks: { draw: [(plot) => drawMarks(plot, marks)] },
  };
  const plot = new uPlot(options, data, element);
  const observer = new ResizeObserver(() => {
    if (element.clientWidth > 0 && element.clientWidth !== plot.width) plot.setSize({ width: element.clientWidth, height: 170 });
  });
  observer.observe(element);
  return () => {
    observer.disconnect();
    plot.destroy();
  };
}

/** Returns the limits of the axis. A constant line is drawn in the middle, and zero is shown where it is near. */
function limits(low: number | null, high: number | null): [number, number] {
  if (low === null || high === null || !Number.isFinite(low) || !Number.isFinite(high)) return [0, 1];
  const span = high - low || Math.abs(high) || 1;
  const bottom = low >= 0 && low < span ? 0 : low - span * 0.1;
  return [bottom, high + span * 0.1];
}

function drawMarks(plot: uPlot, marks: Mark[]): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.lineWidth = Math.max(1, devicePixelRatio);
  ctx.setLineDash([4 * devicePixelRatio, 3 * devicePixelRatio]);
  for (const mark of marks) {
    const x = Math.round(plot.valToPos(mark.at, 'x', true));
    if (x < bbox.left || x > bbox.left + bbox.width) continue;
    ctx.strokeStyle = style(mark.weight >= 2 ? '--bad' : mark.weight === 1 ? '--warn' : '--dim');
    ctx.beginPath();
    ctx.moveTo(x, bbox.top);
    ctx.lineTo(x, bbox.top + bbox.height);
    ctx.stroke();
  }
  ctx.restore();
}
