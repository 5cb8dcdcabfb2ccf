// A GPU as a card, and as a tile where there are many.

import type { Gpu, PcieLink, Reading } from './gpus';
import { bytes, count, millis, part, plain, short, visible } from './format';
import { Meter, Text, Time, Verdict, healthClass } from './parts';
import type { Seen } from './last-seen';
import { address } from './routes';

/** From this number on, GPUs without trouble are tiles. */
export const MANY = 17;

function Row({ name, used, hot, value, title }: { name: string; used: number | undefined; hot?: boolean; value: string; title?: string }) {
  return (
    <div class="row" title={title}>
      <span class="k">{name}</span>
      <Meter used={used} hot={hot} label={name} />
      <span class="v">{value}</span>
    </div>
  );
}

const share = (reading: Reading | undefined) => (reading?.limit ? reading.value / reading.limit : undefined);

const ofLimit = (reading: Reading, unit: string) => (reading.limit ? `${plain(Math.round(reading.value))} / ${plain(Math.round(reading.limit))} ${unit}` : `${plain(Math.round(reading.value))} ${unit}`);

/** Whether the checks have read anything of it. */
export const hasReadings = (gpu: Gpu) => gpu.busy !== undefined || gpu.memory !== undefined || gpu.power !== undefined || gpu.heat !== undefined;

/** Bars of a GPU: each value beside its limit. */
export function Bars({ gpu }: { gpu: Gpu }) {
  const warm = (share(gpu.heat) ?? 0) > 0.88;
  const strong = (share(gpu.power) ?? 0) > 0.98;
  return (
    <>
      {gpu.busy !== undefined && <Row name="busy" used={gpu.busy / 100} value={`${plain(gpu.busy)} %`} title="Part of the time in which a kernel ran" />}
      {gpu.occupancy !== undefined && <Row name="SMs" used={gpu.occupancy / 100} value={`${plain(Math.round(gpu.occupancy))} %`} title="SM occupancy: places for warps that are taken" />}
      {gpu.memory && <Row name="memory" used={share(gpu.memory)} value={gpu.memory.limit ? part(gpu.memory.value, gpu.memory.limit) : bytes(gpu.memory.value)} />}
      {gpu.power && <Row name="power" used={share(gpu.power)} hot={strong} value={ofLimit(gpu.power, 'W')} title="Power, beside the cap that is in force" />}
      {gpu.heat && <Row name="heat" used={share(gpu.heat)} hot={warm} value={ofLimit(gpu.heat, '°C')} title="Temperature of the core, beside the one at which it slows down" />}
    </>
  );
}

/** NVLinks, one mark each. */
export function Links({ links }: { links: boolean[] }) {
  if (!links.length) return null;
  const up = links.filter(Boolean).length;
  const words = up === links.length ? `NVLink: ${links.length} up` : `NVLink: ${up} of ${links.length} up`;
  return (
    <div class="links" role="img" aria-label={words}>
      {links.map((isUp, index) => (
        <i key={index} class={isUp ? '' : 'down'} />
      ))}
      <span class={up < links.length ? 'bad' : ''}>{words}</span>
    </div>
  );
}

/** What a PCIe link is now, and where that is less, what it can be. */
export function pcieWords({ generation, width, maxGeneration, maxWidth, isLess }: PcieLink): string {
  const now = `PCIe ${generation} x${width}`;
  if (!isLess) return now;
  const most = maxGeneration > generation ? `${maxGeneration} x${maxWidth}` : `x${maxWidth}`;
  return `${now} of ${most}`;
}

/** The lanes of the PCIe link, one mark each, as high as its generation is of the highest. */
export function PcieLanes({ link }: { link: PcieLink | undefined }) {
  if (!link) return null;
  const { generation, width, maxGeneration, maxWidth, isLess } = link;
  const lanes = Math.min(Math.max(maxWidth, 1), 32);
  const height = Math.max(3, Math.round((8 * generation) / Math.max(maxGeneration, 1)));
  const words = `PCIe link: ${width} of ${maxWidth} lanes, generation ${generation} of ${maxGeneration}${isLess ? ', less than it can be' : ''}`;
  return (
    <div class="links pcie" role="img" aria-label={words} title={words}>
      {Array.from({ length: lanes }, (_, lane) => (
        <i key={lane} class={lane < width ? '' : 'gone'} style={lane < width ? { height: `${height}px` } : undefined} />
      ))}
      <span class={isLess ? 'warn' : ''}>{pcieWords(link)}</span>
    </div>
  );
}

/** One line for what rarely changes: ECC, remapped rows, and the serial number if it is given. */
export function Facts({ gpu, serial = '' }: { gpu: Gpu; serial?: string }) {
  const { ecc, remapped } = gpu;
  const bad = Boolean(ecc?.uncorrected) || Boolean(remapped?.failed) || Boolean(remapped?.pending);
  return (
    <div class="facts">
      {ecc && <span class={ecc.uncorrected ? 'bad' : ''}>{ecc.corrected + ecc.uncorrected === 0 ? 'no ECC errors' : `ECC: ${ecc.corrected} corrected, ${ecc.uncorrected} not`}</span>}
      {remapped && (remapped.rows > 0 || bad) && (
        <span class={remapped.failed || remapped.pending ? 'bad' : ''}>
          {count(remapped.rows, 'row')} remapped{remapped.failed ? ', one failed' : remapped.pending ? ', one waits for a reset' : ''}
        </span>
      )}
      {serial && (
        <span>
          serial <Text>{short(serial, 40)}</Text>
        </span>
      )}
    </div>
  );
}

function Processes({ gpu }: { gpu: Gpu }) {
  const first = gpu.processes[0];
  if (!first) return <div class="proc">{hasReadings(gpu) ? 'no process' : ''}</div>;
  const more = gpu.processes.length - 1;
  const where = first.pod ? `pod ${first.pod}` : first.container ? `container ${first.container.slice(0, 12)}` : '';
  return (
    <div class="proc">
      <Text>{[short(first.command, 24), `pid ${first.pid}`, short(where, 40)].filter(Boolean).join(' · ')}</Text>
      {more > 0 && ` + ${more} more`}
    </div>
  );
}

/** What is wrong with it, on the card. */
function Why({ gpu }: { gpu: Gpu }) {
  return (
    <>
      {gpu.troubles.slice(0, 3).map((trouble) => (
        <div class="why" key={trouble.id}>
          <p class={healthClass(trouble.health)}>
            <b>
              <Text>{trouble.sentence}</Text>
            </b>
          </p>
          <p class="dim">
            since <Time at={millis(trouble.since)} />
            {trouble.action && (
              <>
                {' · '}
                <Text>{trouble.action}</Text>
              </>
            )}
          </p>
        </div>
      ))}
    </>
  );
}

export function GpuCard({ gpu, seen }: { gpu: Gpu; seen: Seen | undefined }) {
  const trouble = gpu.health === 'Unhealthy' || gpu.health === 'Degraded';
  return (
    <a class={`gpu card ${trouble ? healthClass(gpu.health) : ''}`} href={address('gpu', gpu.key)} data-gpu={gpu.key}>
      <div class="h">
        <span class="name">GPU {gpu.index}</span>
        {trouble && <Verdict health={gpu.health} />}
        <span class="bus" title={visible(gpu.bus)}>
          <Text>{gpu.bus.replace(/^0000:/, '')}</Text>
        </span>
      </div>
      <Why gpu={gpu} />
      {trouble && gpu.serial && (
        <p class="serial">
          serial <Text>{gpu.serial}</Text>
        </p>
      )}
      {hasReadings(gpu) ? <Bars gpu={gpu} /> : seen ? <LastSeen seen={seen} /> : <p class="dim">{trouble ? 'no check can read it' : 'no readings'}</p>}
      <Links links={gpu.links} />
      <PcieLanes link={gpu.pcie} />
      <Facts gpu={gpu} serial={trouble ? '' : gpu.serial} />
      <Processes gpu={gpu} />
    </a>
  );
}

/** The last readings of a GPU that can no longer be read. */
export function LastSeen({ seen }: { seen: Seen }) {
  const words = [
    seen.heat === undefined ? '' : `${plain(seen.heat)} °C`,
    seen.power === undefined ? '' : `${plain(Math.round(seen.power))} W`,
    seen.busy === undefined ? '' : `${plain(seen.busy)} % busy`,
  ].filter(Boolean);
  return (
    <p class="dim seen">
      last seen <Time at={seen.at} /> at {words.join(', ')}
    </p>
  );
}

/** A small card: how busy, and whether something is near its limit. */
export function GpuTile({ gpu }: { gpu: Gpu }) {
  const up = gpu.links.filter(Boolean).length;
  const words = [
    gpu.busy !== undefined ? `${plain(gpu.busy)} % busy` : '',
    gpu.memory?.limit ? part(gpu.memory.value, gpu.memory.limit) : '',
    gpu.power ? ofLimit(gpu.power, 'W') : '',
    gpu.heat ? ofLimit(gpu.heat, '°C') : '',
    gpu.links.length ? `${up} of ${gpu.links.length} NVLinks up` : '',
  ].filter(Boolean);
  return (
    <a class="tile card" href={address('gpu', gpu.key)} title={words.join(' · ')} data-gpu={gpu.key}>
      <div class="h">
        {gpu.index}
        <span class="v">{gpu.heat ? `${plain(Math.round(gpu.heat.value))} °C` : ''}</span>
      </div>
      <Meter used={gpu.busy === undefined ? undefined : gpu.busy / 100} label={`GPU ${gpu.index} busy`} />
      <Meter used={share(gpu.memory)} label={`GPU ${gpu.index} memory`} />
      <Meter used={share(gpu.power)} hot={(share(gpu.power) ?? 0) > 0.98} label={`GPU ${gpu.index} power`} />
    </a>
  );
}

export function GpuGrid({ gpus, seen }: { gpus: Gpu[]; seen: ReadonlyMap<string, Seen> }) {
  const many = gpus.length >= MANY;
  // One that is silent while others answer is in trouble, whether or not a check says so yet.
  const answering = gpus.some(hasReadings);
  const isLarge = (gpu: Gpu) => gpu.health === 'Unhealthy' || gpu.health === 'Degraded' || (answering && !hasReadings(gpu));
  const large = many ? gpus.filter(isLarge) : gpus;
  const small = many ? gpus.filter((gpu) => !large.includes(gpu)) : [];
  return (
    <>
      {large.length > 0 && (
        <div class="gpus">
          {large.map((gpu) => (
            <GpuCard key={gpu.key} gpu={gpu} seen={seen.get(gpu.uuid)} />
          ))}
        </div>
      )}
      {small.length > 0 && (
        <>
          <div class="tiles">
            {small.map((gpu) => (
              <GpuTile key={gpu.key} gpu={gpu} />
            ))}
          </div>
          <p class="legend dim">Bars of a tile: busy, memory, power beside its cap. Number: temperature.</p>
        </>
      )}
    </>
  );
}
