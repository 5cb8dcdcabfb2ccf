// What the API answers with: only the fields that the page reads.

export type Health = 'Healthy' | 'Degraded' | 'Unhealthy' | 'Initializing';

export interface Subject {
  kind: string;
  label: string;
  detail?: string;
  uuid?: string;
  serial?: string;
  pci?: string;
  index?: number;
}

export interface TroubleState {
  component: string;
  name?: string;
  health: Health;
  reason: string;
  /** The reason in words for a person, where the check's are not. */
  means?: string;
  error?: string;
  /** What the check advises, in its own words. */
  advice?: string;
  time?: string | null;
  evidence?: unknown[];
}

export interface Trouble {
  id: string;
  subject: Subject;
  health: Health;
  since?: string | null;
  sentence: string;
  /** The sentence with the subject. */
  headline?: string;
  action?: string;
  repair_actions?: string[];
  states: TroubleState[];
}

export interface Named {
  component: string;
  reason: string;
}

export interface Summary {
  verdict: Health;
  sentence: string;
  since?: string | null;
  machine: {
    hostname?: string;
    machine_id?: string;
    gpu_product?: string;
    gpu_count?: number;
    driver_version?: string;
    uptime_seconds?: number | null;
    gpud_version?: string;
  };
  counts: { healthy: number; degraded: number; unhealthy: number; initializing: number; absent: number };
  troubles: Trouble[];
  healthy: Named[];
  initializing: Named[];
  absent: Named[];
}

export interface State {
  time?: string;
  component?: string;
  component_type?: string;
  name?: string;
  run_mode?: string;
  health?: Health;
  reason?: string;
  error?: string;
  suggested_actions?: { description?: string; repair_actions?: string[] | null };
  extra_info?: Record<string, string>;
  raw_output?: string;
}

export interface ComponentStates {
  component: string;
  states: State[] | null;
}

export interface Entry {
  id: string;
  time: string;
  kind: 'event' | 'health';
  component: string;
  name?: string;
  severity?: string;
  from?: string | null;
  to?: string | null;
  message: string;
  /** The message in words for a person, where the check's are not. */
  means?: string;
  subject?: Subject;
  /** There is an explanation of it. */
  explained?: boolean;
  count?: number;
  last_time?: string | null;
}

/** What `gpud explain` says of an event; what is not known is empty. */
export interface Explanation {
  kernel_line: string;
  meaning: string;
  likely_causes: string[];
  actions: string[];
  advice: string;
  facts: { name: string; value: string }[];
  reference: string;
}

export interface Explained {
  event: Entry;
  explanation: Explanation;
}

export interface History {
  entries: Entry[];
  next?: string | null;
}

export interface MachineInfo {
  gpudVersion?: string;
  gpuDriverVersion?: string;
  cudaVersion?: string;
  kernelVersion?: string;
  osImage?: string;
  hostname?: string;
  machineID?: string;
  bootID?: string;
  uptime?: string | null;
  containerRuntimeVersion?: string;
  cpuInfo?: { type?: string; logicalCores?: number; architecture?: string };
  memoryInfo?: { totalBytes?: number };
  gpuInfo?: { product?: string; memory?: string; gpus?: { uuid?: string; busID?: string; sn?: string; minorID?: string }[] };
  diskInfo?: { blockDevices?: { name?: string; type?: string; size?: number; used?: number; mountPoint?: string; fsType?: string; model?: string }[] };
  nicInfo?: { privateIPInterfaces?: { interface?: string; ip?: string; mac?: string }[] };
}

export interface Sample {
  /** Milliseconds, whatever the name says. */
  unix_seconds: number;
  name: string;
  labels?: Record<string, string>;
  value: number | string | null;
}

export interface ComponentMetrics {
  component: string;
  metrics: Sample[];
}

export interface PluginSpec {
  plugin_name: string;
  plugin_type: string;
  run_mode?: string;
  tags?: string[];
  timeout?: string;
  interval?: string;
  path?: string;
  grants?: unknown;
  limits?: unknown;
  shadow?: { path?: string };
  running_version?: { digest?: string; on_probation?: boolean; rolled_back?: { digest?: string; reason?: string; time?: string } };
  health_state_plugin?: unknown;
}

export interface Shadow {
  digest?: string;
  problem?: string;
  compared: number;
  same: number;
  skipped: number;
  differing?: Record<string, number>;
}
