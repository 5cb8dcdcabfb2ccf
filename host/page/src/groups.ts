// The parts of a machine under which its checks are shown, and their key figures.

import { type Dict, documentIn, numberOf, rows, textOf } from './data';
import { bytes, count, part, plain } from './format';
import type { ComponentStates, Health, State } from './types';
import { worse } from './gpus';

export type GroupName = 'GPUs' | 'Fabric and network' | 'Storage' | 'Kernel and memory' | 'Containers and services' | 'Board' | 'Plugins';

export const GROUPS: GroupName[] = ['GPUs', 'Fabric and network', 'Storage', 'Kernel and memory', 'Containers and services', 'Board', 'Plugins'];

const FABRIC = /^(accelerator-(nvidia|amd)-(infiniband|fabric-manager|nvlink|error-sxid|peermem|nccl|topology|xgmi)|ethernet|network-.*)$/;
const STORAGE = /^(disk.*|inodes|block-io|nfs|fuse|storage-.*|container-storage)$/;
const KERNEL = /^(cpu.*|memory.*|os|kernel-.*|pressure|machine-check|pcie-aer|pci|cgroup-oom|device-loss|time-sync|library)$/;
const SERVICES = /^(containerd|docker|kubelet|systemd.*|tailscale)$/;
const BOARD = /^(board-sensors|ipmi)$/;

/** Returns the group of a component. */
export function groupOf(component: string, isPlugin: boolean): GroupName {
  if (isPlugin) return 'Plugins';
  if (FABRIC.test(component)) return 'Fabric and network';
  if (component.startsWith('accelerator-')) return 'GPUs';
  if (STORAGE.test(component)) return 'Storage';
  if (KERNEL.test(component)) return 'Kernel and memory';
  if (SERVICES.test(component)) return 'Containers and services';
  if (BOARD.test(component)) return 'Board';
  return 'Plugins';
}

export interface Check {
  component: string;
  health: Health;
  reason: string;
  states: State[];
}

export interface Figure {
  label: string;
  value: string;
  health?: Health;
  /** Component that says it. */
  component: string;
  /** Part of the whole that is used, 0 to 1. */
  used?: number;
}

export interface Group {
  name: GroupName;
  health: Health;
  checks: Check[];
  figures: Figure[];
}

/** Returns a component's worst verdict with its reason. */
export function checkOf(component: string, states: State[]): Check {
  let found: Check = { component, health: 'Healthy', reason: states[0]?.reason ?? '', states };
  for (const state of states) {
    const health = state.health ?? 'Initializing';
    if (worse(found.health, health) !== found.health) found = { ...found, health, reason: state.reason ?? '' };
  }
  return found;
}

/** Whether a component has come from a plugin, script or WebAssembly. */
export function isPlugin(component: ComponentStates, plugins: ReadonlySet<string>): boolean {
  return plugins.has(component.component) || (component.states ?? []).some((state) => (state.component_type ?? '') !== '');
}

/** Returns the groups that have something on this machine. Checks that do not apply here are not in them. */
export function groupsOf(all: ComponentStates[], absent: ReadonlySet<string>, plugins: ReadonlySet<string>): Group[] {
  const groups = GROUPS.map((name): Group => ({ name, health: 'Healthy', checks: [], figures: [] }));
  for (const component of all) {
    if (!component.states || absent.has(component.component)) continue;
    const group = groups.find((one) => one.name === groupOf(component.component, isPlugin(component, plugins)));
    if (!group) continue;
    const check = checkOf(component.component, component.states);
    group.checks.push(check);
    group.health = worse(group.health, check.health);
  }
  for (const group of groups) {
    group.figures = figuresOf(group.name, all);
    group.checks.sort((a, b) => (a.health === b.health ? (a.component < b.component ? -1 : 1) : worse(a.health, b.health) === a.health ? -1 : 1));
  }
  return groups.filter((group) => group.checks.length > 0);
}

function figuresOf(group: GroupName, all: ComponentStates[]): Figure[] {
  switch (group) {
    case 'Fabric and network':
      return fabric(all);
    case 'Storage':
      return storage(all);
    case 'Kernel and memory':
      return kernel(all);
    default:
      return [];
  }
}

function fabric(all: ComponentStates[]): Figure[] {
  const figures: Figure[] = [];
  const component = 'accelerator-nvidia-infiniband';
  const document = documentIn(all, component);
  const wanted = numberOf(document, 'at_least_ports') ?? 0;
  const rate = numberOf(document, 'at_least_rate') ?? 0;
  const ports = rows(document, 'ports');
  if (ports.length || wanted > 0) {
    const good = numberOf(document, 'ports_ok') ?? 0;
    const most = wanted || ports.length;
    figures.push({ label: 'InfiniBand ports', value: `${good} of ${most} up${rate ? `, ${rate} Gb/s` : ''}`, health: wanted > good ? 'Unhealthy' : undefined, component });
  }
  const interfaces = rows(documentIn(all, 'network-interface'), 'interfaces');
  if (interfaces.length) {
    const up = interfaces.filter((one) => one.link === true).length;
    figures.push({ label: 'Network interfaces', value: `${up} of ${interfaces.length} with a link`, component: 'network-interface' });
  }
  const fabrics = rows(documentIn(all, 'accelerator-nvidia-fabric-manager'), 'fabric_states');
  if (fabrics.length) {
    // NVML's words for a fabric that is up are not a person's.
    const said = (one: Dict) => [textOf(one, 'state'), textOf(one, 'status')].filter(Boolean).join(', ');
    const words = new Set(fabrics.map((one) => (said(one) === 'Completed, Success' ? 'up' : said(one))));
    figures.push({ label: 'NVLink fabric', value: words.size === 1 ? [...words].join('') : `${words.size} different states`, component: 'accelerator-nvidia-fabric-manager' });
  }
  return figures;
}

function storage(all: ComponentStates[]): Figure[] {
  const document = documentIn(all, 'disk');
  const seen = new Set<string>();
  const figures: Figure[] = [];
  for (const row of [...rows(document, 'ext_partitions'), ...rows(document, 'nfs_partitions')]) {
    const mount = textOf(row, 'mount_point');
    if (seen.has(mount)) continue;
    seen.add(mount);
    const usage = rows({ usage: [row.usage] }, 'usage')[0];
    const total = numberOf(usage, 'total_bytes');
    const used = numberOf(usage, 'used_bytes');
    const silent = row.stat_timed_out === true;
    if (!silent && (!total || used === undefined)) continue;
    figures.push({
      label: `${mount} ${textOf(row, 'fstype')}`,
      value: silent ? 'does not answer' : part(used ?? 0, total ?? 0),
      used: silent ? undefined : (used ?? 0) / (total ?? 1),
      health: silent ? 'Unhealthy' : undefined,
      component: 'disk',
    });
  }
  return figures.sort((a, b) => (b.used ?? 2) - (a.used ?? 2));
}

function kernel(all: ComponentStates[]): Figure[] {
  const figures: Figure[] = [];
  const memory = documentIn(all, 'memory');
  const total = numberOf(memory, 'total_bytes');
  const used = numberOf(memory, 'used_bytes');
  if (total && used !== undefined) figures.push({ label: 'Memory', value: part(used, total), used: used / total, component: 'memory' });
  const cpu = documentIn(all, 'cpu');
  const usage = rows({ usage: [cpu.usage] }, 'usage')[0];
  const cores = numberOf(rows({ cores: [cpu.cores] }, 'cores')[0], 'logical');
  const load = numberOf(usage, 'load_avg_5min');
  if (cores && load !== undefined) figures.push({ label: 'Load, 5 minutes', value: `${plain(load)} on ${count(cores, 'core')}`, component: 'cpu' });
  const os = documentIn(all, 'os');
  const version = rows({ kernel: [os.kernel] }, 'kernel')[0];
  if (version) figures.push({ label: 'Kernel', value: textOf(version, 'version'), component: 'os' });
  const edac = documentIn(all, 'memory-edac');
  const corrected = numberOf(edac, 'corrected');
  if (corrected !== undefined) figures.push({ label: 'Memory errors corrected', value: plain(corrected), component: 'memory-edac' });
  return figures;
}

/** One port of the fabric. */
export interface Port {
  device: string;
  port: string;
  state: string;
  rate: string;
  note: string;
  isGood: boolean;
  /** Milliseconds. */
  downSince?: number;
}

/** Returns the InfiniBand and RoCE ports that the check lists. */
export function portsOf(all: ComponentStates[]): Port[] {
  return rows(documentIn(all, 'accelerator-nvidia-infiniband'), 'ports').map((row) => {
    const rate = numberOf(row, 'rate_gb_sec');
    const since = numberOf(row, 'down_since');
    return {
      device: textOf(row, 'device'),
      port: textOf(row, 'port'),
      state: textOf(row, 'state'),
      rate: rate ? `${rate} Gb/s` : '',
      note: textOf(row, 'note'),
      isGood: textOf(row, 'state').includes('ACTIVE') || textOf(row, 'state') === 'Active',
      downSince: since ? since * 1000 : undefined,
    };
  });
}

/** Bytes as a figure of the machine. */
export const memorySize = (total: number | undefined) => (total ? bytes(total) : '');
