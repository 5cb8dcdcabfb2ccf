// The last stored readings of GPUs that can no longer be read.

import { useEffect, useState } from 'preact/hooks';
import { json, now } from './api';
import { finite, millis } from './format';
import type { Gpu } from './gpus';
import type { ComponentMetrics } from './types';

export interface Seen {
  /** Milliseconds. */
  at: number;
  busy?: number;
  heat?: number;
  power?: number;
}

const FIELDS: Record<string, ['busy' | 'heat' | 'power', number]> = {
  accelerator_nvidia_utilization_gpu_util_percent: ['busy', 1],
  accelerator_nvidia_temperature_current_celsius: ['heat', 1],
  accelerator_nvidia_power_current_usage_milli_watts: ['power', 0.001],
};

/** Samples are stored for three hours unless the operator says otherwise. */
const LONGEST = 3 * 3_600_000;

/** Returns the newest sample of each reading, by UUID. */
export function lastSeen(found: ComponentMetrics[], uuids: ReadonlySet<string>): Map<string, Seen> {
  const seen = new Map<string, Seen>();
  for (const sample of found.flatMap((one) => one.metrics)) {
    const uuid = sample.labels?.uuid ?? '';
    const field = FIELDS[sample.name];
    const value = finite(sample.value);
    if (!field || value === undefined || !uuids.has(uuid)) continue;
    const one = seen.get(uuid) ?? { at: 0 };
    // Samples come oldest first.
    one[field[0]] = value * field[1];
    one.at = Math.max(one.at, sample.unix_seconds);
    seen.set(uuid, one);
  }
  return seen;
}

/** Asks once for the last readings of GPUs in trouble that have none now. */
export function useLastSeen(gpus: Gpu[]): ReadonlyMap<string, Seen> {
  const [seen, setSeen] = useState<ReadonlyMap<string, Seen>>(new Map());
  const lost = gpus.filter((gpu) => gpu.uuid && gpu.troubles.length && gpu.busy === undefined && gpu.heat === undefined && gpu.power === undefined);
  const since = Math.min(...lost.map((gpu) => millis(gpu.troubles[0]?.since) ?? now()));
  const key = lost.map((gpu) => gpu.uuid).join(' ');
  useEffect(() => {
    const reach = now() - since + 180_000;
    if (!key || !(reach < LONGEST)) return;
    const query = new URLSearchParams({
      components: 'accelerator-nvidia-utilization,accelerator-nvidia-temperature,accelerator-nvidia-power',
      since: `${Math.round(reach / 1000)}s`,
    });
    json<ComponentMetrics[]>(`v1/metrics?${query.toString()}`).then(
      (found) => setSeen(lastSeen(found, new Set(key.split(' ')))),
      () => undefined,
    );
  }, [key]);
  return seen;
}
