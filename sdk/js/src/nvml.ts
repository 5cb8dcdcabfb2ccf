/**
 * NVIDIA GPUs through the driver's management library (NVML). Grant: `nvml: true`.
 *
 * Units and numbers are NVML's unless stated; facts of structs and enums: NVIDIA's `nvml.h`. Readings may be 3 seconds
 * old, the list of devices 10. A call that does not come back is `TimedOut` after 5 seconds; a GPU that is gone answers
 * `SourceLost`, one that wants a reset `NeedsReset`. What the driver cannot do is `NotSupported`, and without a library
 * or a driver all is `NotFound`. `wit/nvml.wit` of this package has all that is known of each reading.
 */

import wit from "#host/nvml";
import type { AccessError } from "./errors.ts";
import { ask, settled } from "./host/ask.ts";

/** What is known of the library; `detail` says what was looked for, or NVML's text. */
export interface Library {
  readonly status: "loaded" | "not-found" | "failed" | "other";
  readonly detail: string;
}

/** The identity of a GPU. */
export interface Identity {
  readonly index: number;
  readonly uuid: string;
  readonly name: string;
  readonly busId: string;
  readonly brand: number;
  readonly computeCapability: readonly [major: number, minor: number];
  readonly serial: string | null;
  readonly minorNumber: number | null;
  readonly boardId: number | null;
  /** Further facts by key, for example `chassis-serial`. */
  readonly extra: readonly (readonly [key: string, value: string])[];
}

/** Frame buffer, bytes. */
export interface MemoryInfo {
  readonly total: number;
  readonly reserved: number;
  readonly free: number;
  readonly used: number;
}

/** Per cent of the last sample period. */
export interface Utilization {
  readonly gpu: number;
  readonly memory: number;
}

/** Power, milliwatts; `null` where the GPU does not say. */
export interface Power {
  readonly usage: number | null;
  readonly enforcedLimit: number | null;
  readonly managementLimit: number | null;
}

/** Whether ECC is on, now and after the next reboot. */
export interface EccMode {
  readonly current: boolean;
  readonly pending: boolean;
}

/** Row remapping. */
export interface RemappedRows {
  readonly correctable: number;
  readonly uncorrectable: number;
  readonly pending: boolean;
  readonly failed: boolean;
}

/** Error counters of an NVLink. */
export interface NvlinkErrors {
  readonly replay: number;
  readonly recovery: number;
  readonly crc: number;
}

/** One NVLink. */
export interface Nvlink {
  readonly link: number;
  readonly active: boolean;
  readonly errors: NvlinkErrors | null;
}

/** What the GPU says of the NVLink fabric. */
export interface FabricInfo {
  readonly clusterUuid: string;
  readonly cliqueId: number;
  readonly state: number;
  readonly status: number;
  readonly healthMask: number | null;
  readonly healthSummary: number | null;
}

/** A process with a compute context. */
export interface ComputeProcess {
  readonly pid: number;
  readonly usedMemory: number | null;
  readonly smUtilization: number | null;
}

/** What a process used of the GPU, per cent. */
export interface ProcessUtilization {
  readonly pid: number;
  readonly time: number;
  readonly sm: number;
  readonly memory: number;
  readonly encoder: number;
  readonly decoder: number;
}

/** One GPU performance metric by `nvmlGpmMetricId_t`. */
export interface GpmMetric {
  readonly id: number;
  readonly value: number;
}

/** One MIG device. */
export interface MigDevice {
  readonly index: number;
  readonly uuid: string;
  readonly name: string;
  readonly gpuInstance: number | null;
  readonly computeInstance: number | null;
  readonly memory: MemoryInfo | null;
  readonly multiprocessors: number | null;
}

/** The PCIe link as it runs, and what it could do. */
export interface PcieLink {
  readonly generation: number | null;
  readonly width: number | null;
  readonly maxGeneration: number | null;
  readonly maxWidth: number | null;
}

/** How many banks have how many rows left for remapping. */
export interface RowHistogram {
  readonly max: number;
  readonly high: number;
  readonly partial: number;
  readonly low: number;
  readonly none: number;
}

/**
 * Errors of on-chip memory (SRAM). `aggregate…` is over the life of the board, `volatile…` since the last reset; the last
 * five counters are the uncorrectable ones by unit.
 */
export interface SramEccStatus {
  readonly aggregateUncorrectableParity: number;
  readonly aggregateUncorrectableSecDed: number;
  readonly aggregateCorrectable: number;
  readonly volatileUncorrectableParity: number;
  readonly volatileUncorrectableSecDed: number;
  readonly volatileCorrectable: number;
  readonly aggregateUncorrectableL2: number;
  readonly aggregateUncorrectableSm: number;
  readonly aggregateUncorrectablePcie: number;
  readonly aggregateUncorrectableMicrocontroller: number;
  readonly aggregateUncorrectableOther: number;
  /** The errors passed the driver's threshold: NVIDIA's criterion for having the board looked at. */
  readonly thresholdExceeded: boolean;
}

/** Where a memory error was. */
export type MemoryLocation =
  "l1-cache" | "l2-cache" | "dram" | "register-file" | "texture-memory" | "texture-shared" | "cbu" | "sram";

/** One GPU. A handle names the GPU by UUID and may outlive it: calls then answer `SourceLost` or `NotFound`. */
export interface Device {
  identity(): Identity;
  memoryInfo(): MemoryInfo;
  utilization(): Utilization;
  clockMhz(which: "graphics" | "sm" | "memory" | "video"): number;
  /** Bit mask `nvmlClocksEventReasons`. */
  clockEventReasons(): number;
  power(): Power;
  persistenceMode(): boolean;
  /** Degrees Celsius. */
  temperature(sensor: "core" | "memory"): number;
  temperatureThreshold(threshold: "shutdown" | "slowdown" | "memory-max" | "gpu-max"): number;
  /** Degrees to the nearest slowdown. */
  temperatureMargin(): number;
  eccMode(): EccMode;
  eccTotal(error: "corrected" | "uncorrected", period: "volatile" | "aggregate"): number;
  eccCount(error: "corrected" | "uncorrected", period: "volatile" | "aggregate", location: MemoryLocation): number;
  remappedRows(): RemappedRows;
  nvlinkActive(link: number): boolean;
  nvlinkErrors(link: number): NvlinkErrors;
  nvlinkP2pStatus(other: Device): number;
  fabricInfo(): FabricInfo;
  computeProcesses(): ComputeProcess[];
  gpmMetrics(ids: number[], periodMs: number): GpmMetric[];
  migEnabled(): boolean;
  /** A value of `nvmlFieldValue_t` by field and scope id. */
  fieldValue(field: number, scope: number): number;
  /** Answers when the GPU does; throws why not. */
  presence(): void;
  nvlinks(): Nvlink[];
  processUtilization(): ProcessUtilization[];
  migDevices(): MigDevice[];
  pcieLink(): PcieLink;
  rowHistogram(): RowHistogram;
  /** Not supported before Ampere, where ECC is off, and before driver 550. */
  sramEccStatus(): SramEccStatus;
}

/** Answers of one GPU to `gpmMetricsOfAll`. */
export interface GpmReading {
  readonly uuid: string;
  readonly metrics: readonly GpmMetric[] | AccessError;
}

/** Is NVML there? */
export function libraryStatus(): Library {
  const { tag, val = "" } = wit.libraryStatus();
  return { status: tag as Library["status"], detail: val };
}

/** Driver version, for example `570.133.20`. */
export function driverVersion(): string {
  return ask(() => wit.driverVersion());
}

/** CUDA version that the driver supports, as major × 1000 + minor × 10. */
export function cudaVersion(): number {
  return ask(() => wit.cudaVersion());
}

/** Product name of the first GPU, for example `NVIDIA H100 80GB HBM3`; empty without GPUs. */
export function productName(): string {
  return ask(() => wit.productName());
}

/** All GPUs in NVML's order: those that are there, and those that were since the driver was started. */
export function devices(): Device[] {
  return ask(() => wit.devices()).map(wrapped);
}

/** GPM metrics of all GPUs over one common period. */
export function gpmMetricsOfAll(ids: number[], periodMs: number): GpmReading[] {
  const readings = ask(() => wit.gpmMetricsOfAll(ids, periodMs));
  return readings.map(({ uuid, metrics }) => ({ uuid, metrics: settled(metrics) }));
}

type Handle = Record<string | symbol, (...args: unknown[]) => unknown>;

const handles = new WeakMap<object, object>();

/** A handle whose methods throw `AccessError`s. */
function wrapped(handle: object): Device {
  const device = new Proxy({} as Device, {
    get:
      (_, name) =>
      (...args: unknown[]) => {
        const plain = args.map((one) => (typeof one === "object" && one !== null && handles.get(one)) || one);
        return ask(() => (handle as Handle)[name]?.apply(handle, plain));
      },
  });
  handles.set(device, handle);
  return device;
}
