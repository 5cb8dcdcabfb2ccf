// Puts together what the checks say of each GPU.

import { type Dict, documentIn, isDict, numberOf, rows, textOf } from './data';
import type { ComponentStates, Health, MachineInfo, Trouble } from './types';

/** A value beside its limit. */
export interface Reading {
  value: number;
  limit?: number;
}

/** A link of PCI Express now, and what GPU and slot can do. */
export interface PcieLink {
  generation: number;
  width: number;
  maxGeneration: number;
  maxWidth: number;
  /** It has fewer lanes than it can have, or its check complains. */
  isLess: boolean;
}

export interface Process {
  pid: string;
  command: string;
  /** Namespace and name where a check knows them, else its id. */
  pod: string;
  container: string;
  memory?: number;
}

export interface Gpu {
  /** UUID, else bus id: what addresses of the page name. */
  key: string;
  index: number;
  uuid: string;
  bus: string;
  serial: string;
  product: string;
  health: Health;
  troubles: Trouble[];
  /** Percent. */
  busy?: number;
  /** Percent of the places for warps that are taken. */
  occupancy?: number;
  /** Bytes. */
  memory?: Reading;
  /** Watts. */
  power?: Reading;
  /** °C; the limit is where it slows down. */
  heat?: Reading;
  ecc?: { corrected: number; uncorrected: number };
  remapped?: { rows: number; pending: boolean; failed: boolean };
  pcie?: PcieLink;
  links: boolean[];
  clocks: string;
  processes: Process[];
}

type ByGpu = Map<string, Dict>;

function byGpu(list: Dict[], key: string): ByGpu {
  return new Map(list.map((row) => [textOf(row, key), row]));
}

/** Bus ids are written with four or eight digits of the domain, in either case. */
function bus(id: string): string {
  return id.toLowerCase().replace(/^0000(?=[0-9a-f]{4}:)/, '');
}

const WORST: Record<string, number> = { Healthy: 0, Initializing: 1, Degraded: 2, Unhealthy: 3 };

/** Returns the worse of two verdicts. */
export function worse(a: Health, b: Health): Health {
  return (WORST[b] ?? 0) > (WORST[a] ?? 0) ? b : a;
}

/** Whether the driver has never said what this GPU is called. */
const isNameless = (gpu: Gpu) => gpu.bus === '' && (gpu.uuid === '' || gpu.uuid.startsWith('unknown-gpu-'));

/** Returns the GPUs of the machine, also those that no longer answer, in the driver's order. */
export function gpusOf(states: ComponentStates[], machine: MachineInfo | undefined, troubles: Trouble[]): Gpu[] {
  const nvidia = (name: string) => documentIn(states, `accelerator-nvidia-${name}`);
  const amd = (name: string) => documentIn(states, `accelerator-amd-${name}`);
  const inventory = rows(nvidia('inventory'), 'gpus');
  const gpus = new Map<string, Gpu>();
  const add = (uuid: string, busId: string, serial: string, product: string): Gpu => {
    const key = uuid || busId;
    const known = [...gpus.values()].find((gpu) => gpu.key === key || (busId !== '' && bus(gpu.bus) === bus(busId)));
    if (known) {
      known.serial ||= serial;
      known.bus ||= busId;
      known.product ||= product;
      return known;
    }
    const gpu: Gpu = { key, index: gpus.size, uuid, bus: busId, serial, product, health: 'Healthy', troubles: [], links: [], clocks: '', processes: [] };
    gpus.set(key, gpu);
    return gpu;
  };
  for (const gpu of machine?.gpuInfo?.gpus ?? []) add(gpu.uuid ?? '', gpu.busID ?? '', gpu.sn ?? '', machine?.gpuInfo?.product ?? '');
  for (const row of inventory) add(textOf(row, 'uuid'), textOf(row, 'bus_id'), textOf(row, 'serial'), textOf(row, 'name'));
  for (const row of rows(amd('utilization'), 'gpus')) add('', textOf(row, 'bus_id'), '', textOf(row, 'product'));
  for (const trouble of troubles) {
    const subject = trouble.subject;
    if (subject.kind !== 'gpu') continue;
    // A GPU that was lost before its driver was asked is known to the driver by its number only; the trouble may know more.
    const nameless = [...gpus.values()].find((one) => one.index === subject.index && isNameless(one));
    if (nameless && (subject.uuid || subject.pci)) {
      nameless.key = subject.uuid || subject.pci || nameless.key;
      nameless.uuid = subject.uuid || nameless.uuid;
      nameless.bus ||= subject.pci ?? '';
    }
    const gpu = subject.uuid || subject.pci ? add(subject.uuid ?? '', subject.pci ?? '', subject.serial ?? '', '') : [...gpus.values()].find((one) => one.index === subject.index);
    if (!gpu) continue;
    gpu.troubles.push(trouble);
    gpu.health = worse(gpu.health, trouble.health);
    if (typeof subject.index === 'number') gpu.index = subject.index;
  }
  addNvidia([...gpus.values()], nvidia, podsOf(states));
  addAmd([...gpus.values()], amd);
  return [...gpus.values()].sort((a, b) => a.index - b.index);
}

function addNvidia(gpus: Gpu[], of: (name: string) => Dict, pods: Map<string, string>): void {
  const table = (name: string, list: string, key = 'uuid') => byGpu(rows(of(name), list), key);
  const utilizations = table('utilization', 'utilizations');
  const occupancies = table('gpm', 'gpm_metrics');
  const memories = table('memory', 'memories');
  const powers = table('power', 'powers');
  const temperatures = table('temperature', 'temperatures');
  const errors = table('ecc', 'ecc_errors');
  const remapped = table('remapped-rows', 'remapped_rows');
  const pcie = table('pcie-link', 'pcie_links');
  const links = table('nvlink', 'nvlinks');
  const processes = table('processes', 'processes');
  const clocks = table('clock-speed', 'clock_speeds');
  for (const gpu of gpus) {
    const row = (from: ByGpu) => from.get(gpu.uuid);
    gpu.busy = numberOf(row(utilizations), 'gpu_used_percent');
    const metrics = row(occupancies)?.metrics;
    gpu.occupancy = isDict(metrics) ? numberOf(metrics, '3') : undefined;
    const memory = row(memories);
    gpu.memory = reading(numberOf(memory, 'used_bytes'), numberOf(memory, 'total_bytes'));
    const power = row(powers);
    const limit = numberOf(power, 'enforced_limit_milli_watts') || numberOf(power, 'management_limit_milli_watts');
    gpu.power = reading(numberOf(power, 'usage_milli_watts'), limit, 1000);
    const heat = row(temperatures);
    const slow = numberOf(heat, 'threshold_celsius_gpu_max') || numberOf(heat, 'threshold_celsius_slowdown');
    gpu.heat = reading(numberOf(heat, 'current_celsius_gpu_core'), slow);
    gpu.ecc = eccOf(row(errors));
    const rowsOf = row(remapped);
    if (rowsOf && rowsOf.supported !== false) {
      const sum = (numberOf(rowsOf, 'remapped_due_to_correctable_errors') ?? 0) + (numberOf(rowsOf, 'remapped_due_to_uncorrectable_errors') ?? 0);
      gpu.remapped = { rows: sum, pending: rowsOf.remapping_pending === true, failed: rowsOf.remapping_failed === true };
    }
    gpu.pcie = pcieOf(row(pcie), gpu.troubles);
    gpu.links = rows(row(links) ?? {}, 'states').map((link) => link.feature_enabled === true);
    const clock = numberOf(row(clocks), 'graphics_mhz');
    gpu.clocks = clock === undefined ? '' : `${clock} MHz`;
    gpu.processes = rows(row(processes) ?? {}, 'running_processes').map((process) => processOf(process, pods));
  }
}

function addAmd(gpus: Gpu[], of: (name: string) => Dict): void {
  const table = (name: string, list = 'gpus') => new Map(rows(of(name), list).map((row) => [bus(textOf(row, 'bus_id')), row]));
  const utilizations = table('utilization');
  const powers = table('power');
  const temperatures = table('temperature');
  const errors = table('ecc');
  const pcie = table('pcie-link', 'pcie_links');
  for (const gpu of gpus) {
    const row = (from: Map<string, Dict>) => from.get(bus(gpu.bus));
    const use = row(utilizations);
    if (!use && !row(powers)) continue;
    gpu.busy ??= numberOf(use, 'gpu_used_percent');
    gpu.memory ??= reading(numberOf(use, 'vram_used_bytes'), numberOf(use, 'vram_total_bytes'));
    gpu.power ??= reading(numberOf(row(powers), 'usage_watts'), numberOf(row(powers), 'cap_watts'));
    const sensors = row(temperatures)?.sensors;
    const sensor = isDict(sensors) ? [sensors.junction, sensors.edge].find(isDict) : undefined;
    gpu.heat ??= reading(numberOf(sensor, 'celsius'), numberOf(sensor, 'critical'));
    gpu.pcie ??= pcieOf(row(pcie), gpu.troubles);
    const blocks = row(errors)?.errors;
    if (isDict(blocks)) {
      const sum = (key: string) => Object.values(blocks).filter(isDict).reduce((all, block) => all + (numberOf(block, key) ?? 0), 0);
      gpu.ecc ??= { corrected: sum('corrected'), uncorrected: sum('uncorrected') };
    }
  }
}

function reading(value: number | undefined, limit: number | undefined, divisor = 1): Reading | undefined {
  if (value === undefined) return undefined;
  return { value: value / divisor, limit: limit ? limit / divisor : undefined };
}

function eccOf(row: Dict | undefined): Gpu['ecc'] {
  const total = isDict(row?.volatile) ? row.volatile.total : undefined;
  if (!isDict(total)) return undefined;
  return { corrected: numberOf(total, 'corrected') ?? 0, uncorrected: numberOf(total, 'uncorrected') ?? 0 };
}

function pcieOf(row: Dict | undefined, troubles: Trouble[]): PcieLink | undefined {
  const generation = numberOf(row, 'generation');
  const width = numberOf(row, 'width');
  if (generation === undefined || width === undefined) return undefined;
  const maxWidth = Math.max(numberOf(row, 'max_width') ?? 0, width);
  const maxGeneration = Math.max(numberOf(row, 'max_generation') ?? 0, generation);
  // An idle GPU lowers the generation by itself; the number of lanes stays.
  const isReported = troubles.some((trouble) => trouble.states.some((state) => state.component.endsWith('-pcie-link')));
  return { generation, width, maxGeneration, maxWidth, isLess: width < maxWidth || isReported };
}

function processOf(row: Dict, pods: Map<string, string>): Process {
  const words = row.cmd_args;
  const first = Array.isArray(words) ? String(words[0] ?? '') : textOf(row, 'cmd_args').split(/[\0 ]/)[0] ?? '';
  const uid = textOf(row, 'pod_uid');
  return {
    pid: textOf(row, 'pid'),
    command: first.split('/').pop() ?? '',
    pod: pods.get(uid) ?? uid,
    container: textOf(row, 'container_id'),
    memory: numberOf(row, 'gpu_used_memory_bytes'),
  };
}

/** Names of pods by their id, as the checks of kubelet and containerd list them. */
function podsOf(states: ComponentStates[]): Map<string, string> {
  const names = new Map<string, string>();
  for (const component of ['containerd', 'kubelet']) {
    for (const pod of rows(documentIn(states, component), 'pods')) {
      const name = [textOf(pod, 'namespace'), textOf(pod, 'name')].filter(Boolean).join('/');
      for (const id of [textOf(pod, 'id'), textOf(pod, 'uid')]) if (id && name) names.set(id, name);
    }
  }
  return names;
}
