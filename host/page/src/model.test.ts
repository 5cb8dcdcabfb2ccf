import assert from 'node:assert/strict';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { test } from 'node:test';
import { billsOf } from './bill';
import { gathered } from './gathered';
import { gpusOf } from './gpus';
import { grantWords } from './grants';
import { groupOf, groupsOf, portsOf } from './groups';
import { lanesOf, ticks, weightOf } from './lanes';
import { lastSeen } from './last-seen';
import { meaningOf } from './meaning';
import { address, parse } from './routes';
import { chartsOf, last, titleOf } from './series';
import type { ComponentStates, Entry, Summary, Trouble } from './types';

const data = (component: string, document: unknown): ComponentStates => ({ component, states: [{ health: 'Healthy', reason: 'ok', extra_info: { data: JSON.stringify(document) } }] });

const trouble: Trouble = {
  id: 'gpu:GPU-b',
  subject: { kind: 'gpu', label: 'GPU 1', uuid: 'GPU-b', serial: '42', pci: '0000:2a:00.0', index: 1 },
  health: 'Unhealthy',
  sentence: 'fell off the bus',
  states: [],
};

test('a GPU that no check can read is still there, with its trouble', () => {
  const states = [
    data('accelerator-nvidia-utilization', { utilizations: [{ uuid: 'GPU-a', gpu_used_percent: 97 }] }),
    data('accelerator-nvidia-power', { powers: [{ uuid: 'GPU-a', usage_milli_watts: 548000, enforced_limit_milli_watts: 700000 }] }),
    data('accelerator-nvidia-nvlink', { nvlinks: [{ uuid: 'GPU-a', states: [{ feature_enabled: true }, { feature_enabled: false }] }] }),
  ];
  const gpus = gpusOf(states, { gpuInfo: { gpus: [{ uuid: 'GPU-a', busID: '0000:18:00.0', sn: '41' }] } }, [trouble]);
  assert.deepEqual(gpus.map((gpu) => [gpu.uuid, gpu.index, gpu.health, gpu.busy, gpu.serial]), [['GPU-a', 0, 'Healthy', 97, '41'], ['GPU-b', 1, 'Unhealthy', undefined, '42']]);
  assert.deepEqual(gpus[0]?.power, { value: 548, limit: 700 });
  assert.deepEqual(gpus[0]?.links, [true, false]);
});

test('a trouble that names a GPU by its number only is on that GPU', () => {
  const lost: Trouble = { ...trouble, subject: { kind: 'gpu', label: 'GPU 1', index: 1 } };
  const machine = { gpuInfo: { gpus: [{ uuid: 'GPU-a', busID: '0000:18:00.0' }, { uuid: 'unknown-gpu-1' }] } };
  const gpus = gpusOf([], machine, [lost]);
  assert.deepEqual(gpus.map((gpu) => [gpu.index, gpu.health, gpu.troubles.length]), [[0, 'Healthy', 0], [1, 'Unhealthy', 1]]);
});

test('a GPU that was lost before gpud started is one card, with the names that the trouble knows', () => {
  const machine = { gpuInfo: { gpus: [{ uuid: 'GPU-a', busID: '0000:18:00.0' }, { uuid: 'unknown-gpu-1' }, { uuid: 'GPU-c', busID: '0000:3a:00.0' }] } };
  const gpus = gpusOf([], machine, [trouble]);
  assert.deepEqual(gpus.map((gpu) => [gpu.index, gpu.uuid, gpu.bus, gpu.serial, gpu.troubles.length]), [
    [0, 'GPU-a', '0000:18:00.0', '', 0],
    [1, 'GPU-b', '0000:2a:00.0', '42', 1],
    [2, 'GPU-c', '0000:3a:00.0', '', 0],
  ]);
});

test('a document that is broken or has other types is none', () => {
  for (const text of ['{', 'null', '[1]', '{"utilizations":{"uuid":1}}', '{"utilizations":[null,3,"x"]}']) {
    const states: ComponentStates[] = [{ component: 'accelerator-nvidia-utilization', states: [{ extra_info: { data: text } }] }];
    assert.equal(gpusOf(states, { gpuInfo: { gpus: [{ uuid: 'GPU-a' }] } }, [])[0]?.busy, undefined, text);
  }
});

test('processes say their pod by name', () => {
  const states = [
    data('accelerator-nvidia-processes', { processes: [{ uuid: 'GPU-a', running_processes: [{ pid: 7, cmd_args: ['/usr/bin/python3', 'x.py'], pod_uid: 'u1', container_id: 'c1' }] }] }),
    data('kubelet', { pods: [{ id: 'u1', namespace: 'team', name: 'train-0' }] }),
  ];
  const [gpu] = gpusOf(states, { gpuInfo: { gpus: [{ uuid: 'GPU-a' }] } }, []);
  assert.deepEqual(gpu?.processes.map(({ pid, command, pod }) => [pid, command, pod]), [['7', 'python3', 'team/train-0']]);
});

test('every check has a group, and what does not apply is left out', () => {
  assert.equal(groupOf('accelerator-nvidia-infiniband', false), 'Fabric and network');
  assert.equal(groupOf('accelerator-nvidia-ecc', false), 'GPUs');
  assert.equal(groupOf('disk', true), 'Plugins');
  const states: ComponentStates[] = [data('disk', {}), data('nfs', {}), { component: 'ipmi', states: null }];
  const groups = groupsOf(states, new Set(['nfs']), new Set());
  assert.deepEqual(groups.map((group) => [group.name, group.checks.map((check) => check.component)]), [['Storage', ['disk']]]);
});

test('each built-in check is in a group of built-in checks', () => {
  const folder = new URL('../../../builtin-plugins/', import.meta.url);
  const manifests = readdirSync(folder).map((name) => new URL(`${name}/manifest.json`, folder)).filter((file) => existsSync(file));
  const components = manifests.map((file) => (JSON.parse(readFileSync(file, 'utf8')) as { component: string }).component);
  assert.ok(components.length > 50, `${components.length} manifests`);
  assert.deepEqual(components.filter((component) => groupOf(component, false) === 'Plugins'), []);
});

test('ports of the fabric stand beside the number that is expected', () => {
  const port = (device: string, state: string) => ({ device, port: '1', state, rate_gb_sec: state === 'Active' ? 400 : 0, note: '' });
  const states = [data('accelerator-nvidia-infiniband', { at_least_ports: 3, at_least_rate: 400, ports_ok: 2, ports: [port('mlx5_0', 'Active'), port('mlx5_1', 'Active'), port('mlx5_2', 'Down')] })];
  const [fabric] = groupsOf(states, new Set(), new Set());
  assert.equal(fabric?.name, 'Fabric and network');
  assert.deepEqual(fabric?.figures.map((figure) => [figure.label, figure.value, figure.health]), [['InfiniBand ports', '2 of 3 up, 400 Gb/s', 'Unhealthy']]);
  assert.deepEqual(portsOf(states).map((one) => [one.device, one.rate, one.isGood]), [['mlx5_0', '400 Gb/s', true], ['mlx5_1', '400 Gb/s', true], ['mlx5_2', '', false]]);
});

const entry = (id: number, time: string, more: Partial<Entry> = {}): Entry => ({ id: `e${id}`, time, kind: 'event', component: 'disk', severity: 'Warning', message: 'm', ...more });

test('a hundred thousand entries become few bins', () => {
  const from = Date.UTC(2026, 0, 1);
  const entries = Array.from({ length: 100_000 }, (_, index) => entry(index, new Date(from + index * 10).toISOString()));
  const lanes = lanesOf(entries, from, from + 1_000_000, 180, new Set());
  assert.equal(lanes.length, 1);
  assert.ok((lanes[0]?.bins.length ?? 0) <= 180);
  assert.equal(lanes[0]?.bins.reduce((sum, bin) => sum + bin.entries.length, 0), 100_000);
});

test('the worst entry of a bin decides', () => {
  const time = new Date(1000).toISOString();
  assert.equal(weightOf(entry(1, time, { kind: 'health', to: 'Unhealthy' })), 2);
  assert.equal(weightOf(entry(1, time, { severity: 'unheard of' })), 0);
  const lanes = lanesOf([entry(1, time, { severity: 'Info' }), entry(2, time, { severity: 'Fatal' }), entry(3, 'no time')], 0, 2000, 10, new Set());
  assert.deepEqual(lanes[0]?.bins.map((bin) => [bin.at, bin.weight, bin.entries.length]), [[5, 3, 2]]);
});

test('what many checks say of one GPU is one row, and speaks with the words of most', () => {
  const lost = (id: number, time: string, message: string, uuid = 'GPU-b'): Entry => entry(id, time, { kind: 'health', to: 'Unhealthy', component: `check-${id}`, message, subject: { kind: 'gpu', label: 'GPU 1', uuid } });
  const shown = gathered([
    lost(9, '2026-01-01T00:00:59Z', 'the fabric is not up'),
    lost(8, '2026-01-01T00:00:58Z', 'lost'),
    entry(7, '2026-01-01T00:00:57Z'),
    entry(6, '2026-01-01T00:00:57Z'),
    lost(5, '2026-01-01T00:00:02Z', 'lost'),
    lost(4, '2026-01-01T00:00:02Z', 'lost', 'GPU-a'),
    lost(3, '2025-12-31T00:00:01Z', 'lost'),
  ]);
  assert.deepEqual(shown.map((one) => [one.entry.id, one.checks]), [['e8', 3], ['e7', 1], ['e6', 1], ['e4', 1], ['e3', 1]]);
});

test('verdicts are said in words for a person', () => {
  const bad = { component: 'ecc', health: 'Unhealthy', reason: 'GPU lost', means: 'the driver has lost the GPU' } as const;
  const summary = { troubles: [{ ...trouble, states: [bad] }], healthy: [{ component: 'fuse', reason: 'no FUSE connection is congested' }], absent: [] } as unknown as Summary;
  assert.equal(meaningOf(summary, 'ecc', 'GPU lost'), 'the driver has lost the GPU');
  assert.equal(meaningOf(summary, 'ecc', 'of a moment ago'), 'of a moment ago');
  assert.equal(meaningOf(summary, 'fuse', 'successfully fuse connection(s)'), 'no FUSE connection is congested');
  assert.equal(meaningOf(summary, 'my-plugin', 'ok'), 'ok');
});

test('ticks stand at full hours of the zone', () => {
  const hour = 3_600_000;
  const found = ticks(10 * hour + 1, 16 * hour, 8, 1.5 * hour);
  assert.ok(found.length > 3 && found.every((tick) => (tick + 1.5 * hour) % hour === 0));
});

test('two thousand series are bounded, and what is no number is a gap', () => {
  const samples = Array.from({ length: 2000 }, (_, index) => ({ unix_seconds: 1000, name: 'm', labels: { n: String(index) }, value: index === 1 ? null : index }));
  const [chart] = chartsOf(samples);
  assert.deepEqual([chart?.series.length, chart?.left, chart?.gaps], [32, 1968, 1]);
  assert.deepEqual(chartsOf(samples, 'n=1999')[0]?.series.map((series) => [series.label, last(series)]), [['n=1999', 1999]]);
  assert.deepEqual(titleOf('accelerator_nvidia_power_current_usage_milli_watts'), { title: 'power current usage', unit: 'W', scale: 0.001 });
});

test('last readings of lost GPUs', () => {
  const sample = (unix_seconds: number, value: number) => ({ unix_seconds, name: 'accelerator_nvidia_temperature_current_celsius', labels: { uuid: 'GPU-b' }, value });
  const seen = lastSeen([{ component: 't', metrics: [sample(1, 60), sample(2, 61)] }], new Set(['GPU-b']));
  assert.deepEqual(seen.get('GPU-b'), { at: 2, heat: 61 });
});

test('the bill is read from the text of metrics', () => {
  const text = 'gpud_checker_seconds_total{checker="a"} 1.5\ngpud_checker_seconds_total{checker="b\\"<"} 2\ngpud_checker_host_calls_total{checker="a"} 7\nother{checker="a"} 3\ngpud_checker_seconds_total{checker="c"} NaN\n';
  assert.deepEqual(billsOf(text).map((bill) => [bill.component, bill.seconds, bill.calls]), [['b"<', 2, 0], ['a', 1.5, 7]]);
});

test('grants are said in words', () => {
  assert.deepEqual(grantWords({ kmsg: true, exec: ['lsblk'], net: { loopback: [9100] }, other: { a: 1 }, nvml: false }), ['reads the kernel log', 'runs lsblk', 'asks port 9100 of this machine', 'other: {"a":1}']);
  assert.deepEqual(grantWords({ exec: 'bash' }), ['runs any program, with the rights of gpud']);
  assert.deepEqual(grantWords(null), []);
});

test('addresses lead back to what they name', () => {
  for (const key of ['a/b', 'ünï %', '<x>"', '']) {
    const route = parse(address('check', key, { range: '6h', empty: '' }));
    assert.deepEqual([route.view, route.key, route.query.get('range'), route.query.has('empty')], ['check', key, '6h', false]);
  }
  assert.equal(parse('#/nonsense/x').view, 'overview');
  assert.equal(parse('#/check/%zz').key, '%zz');
});

test('a PCIe link is less than it can be by its lanes, or where its check says so', () => {
  const link = (values: Record<string, number>, troubles: Trouble[] = []) => {
    const states = [data('accelerator-nvidia-inventory', { gpus: [{ uuid: 'GPU-a', bus_id: '0000:01:00.0' }] }), data('accelerator-nvidia-pcie-link', { pcie_links: [{ uuid: 'GPU-a', ...values }] })];
    return gpusOf(states, undefined, troubles)[0]?.pcie;
  };
  const whole = { generation: 5, width: 16, max_generation: 5, max_width: 16 };
  assert.deepEqual(link(whole), { generation: 5, width: 16, maxGeneration: 5, maxWidth: 16, isLess: false });
  // An idle GPU lowers the generation.
  assert.equal(link({ ...whole, generation: 1 })?.isLess, false);
  assert.equal(link({ ...whole, width: 8 })?.isLess, true);
  const reported: Trouble = { id: 't', subject: { kind: 'gpu', label: 'GPU 0', uuid: 'GPU-a' }, health: 'Degraded', sentence: 'x', states: [{ component: 'accelerator-nvidia-pcie-link', health: 'Degraded', reason: 'x' }] };
  assert.equal(link({ ...whole, generation: 3 }, [reported])?.isLess, true);
  // Without a maximum the link is taken to be whole.
  assert.deepEqual(link({ generation: 4, width: 8 }), { generation: 4, width: 8, maxGeneration: 4, maxWidth: 8, isLess: false });
  assert.equal(link({}), undefined);
});

test('a fabric that is up says so in one word', () => {
  const value = (...states: [string, string][]) => {
    const fabric_states = states.map(([state, status]) => ({ state, status }));
    const [group] = groupsOf([data('accelerator-nvidia-fabric-manager', { fabric_states })], new Set(), new Set());
    return group?.figures.find((figure) => figure.label === 'NVLink fabric')?.value;
  };
  assert.equal(value(['Completed', 'Success'], ['Completed', 'Success']), 'up');
  assert.equal(value(['In Progress', 'Success']), 'In Progress, Success');
  assert.equal(value(['In Progress', 'Success'], ['Completed', 'Success']), '2 different states');
});
