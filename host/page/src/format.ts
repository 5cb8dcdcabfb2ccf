// Numbers, sizes, durations and times as people read them.

/** Returns a number as a finite one, or undefined: the API writes NaN as text. */
export function finite(value: unknown): number | undefined {
  if (value === null || value === undefined || value === '') return undefined;
  const number = typeof value === 'number' ? value : typeof value === 'string' ? Number(value) : NaN;
  return Number.isFinite(number) ? number : undefined;
}

/** Returns a number with at most three significant places after the point. */
export function plain(value: number): string {
  if (!Number.isFinite(value)) return 'not a number';
  const size = Math.abs(value);
  if (size !== 0 && size < 0.001) return value.toExponential(1);
  const places = size >= 100 || Number.isInteger(value) ? 0 : size >= 10 ? 1 : 2;
  return value.toLocaleString('en', { maximumFractionDigits: places });
}

const BINARY = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** Returns a length of time of the wire without the parts that are zero: `1m0s` is `1 min`. */
export function interval(text: string): string {
  const parts = /^(?:(\d+)h)?(?:(\d+)m)?(?:(\d+(?:\.\d+)?)s)?$/.exec(text);
  const named = parts?.slice(1).flatMap((value, place) => (Number(value ?? 0) ? [`${value} ${['h', 'min', 's'][place]}`] : []));
  return named?.length ? named.join(' ') : text;
}

/** Returns bytes with a binary unit: `71.3 GiB`. */
export function bytes(value: number): string {
  let unit = 0;
  let size = Math.abs(value);
  while (size >= 1024 && unit < BINARY.length - 1) {
    size /= 1024;
    unit += 1;
  }
  const text = size >= 100 || unit === 0 ? size.toFixed(0) : size.toFixed(1).replace(/\.0$/, '');
  return `${value < 0 ? '-' : ''}${text} ${BINARY[unit]}`;
}

/** Returns used and total of a size in the total's unit: `67 / 80 GiB`. */
export function part(used: number, total: number): string {
  const unit = Math.min(BINARY.length - 1, Math.max(0, Math.floor(Math.log2(Math.max(1, total)) / 10)));
  const scale = 1024 ** unit;
  const show = (value: number) => {
    const size = value / scale;
    return size >= 10 || Number.isInteger(size) ? size.toFixed(0) : size.toFixed(1);
  };
  return `${show(used)} / ${show(total)} ${BINARY[unit]}`;
}

/** Returns a duration of so many seconds in its one or two largest units: `12 min`, `2 d 3 h`. */
export function duration(seconds: number): string {
  const whole = Math.max(0, Math.round(seconds));
  const steps: [number, string][] = [
    [86400, 'd'],
    [3600, 'h'],
    [60, 'min'],
    [1, 's'],
  ];
  for (const [index, [size, unit]] of steps.entries()) {
    if (whole < size) continue;
    const next = steps[index + 1];
    const first = `${Math.floor(whole / size)} ${unit}`;
    const rest = next ? Math.floor((whole % size) / next[0]) : 0;
    return rest > 0 && next && whole < size * 10 ? `${first} ${rest} ${next[1]}` : first;
  }
  return '0 s';
}

/** Returns a time of the API in milliseconds, or undefined. */
export function millis(time: string | null | undefined): number | undefined {
  if (!time) return undefined;
  const at = Date.parse(time);
  return Number.isFinite(at) ? at : undefined;
}

const two = (value: number) => String(value).padStart(2, '0');

function parts(at: Date, utc: boolean) {
  return utc
    ? { y: at.getUTCFullYear(), mo: at.getUTCMonth() + 1, d: at.getUTCDate(), h: at.getUTCHours(), m: at.getUTCMinutes(), s: at.getUTCSeconds() }
    : { y: at.getFullYear(), mo: at.getMonth() + 1, d: at.getDate(), h: at.getHours(), m: at.getMinutes(), s: at.getSeconds() };
}

/** Returns the clock time, with the date where it is another day than `now`. */
export function clock(at: number, now: number, utc: boolean): string {
  const p = parts(new Date(at), utc);
  const today = parts(new Date(now), utc);
  const time = `${two(p.h)}:${two(p.m)}:${two(p.s)}`;
  const sameDay = p.y === today.y && p.mo === today.mo && p.d === today.d;
  return sameDay ? time : `${p.y}-${two(p.mo)}-${two(p.d)} ${time}`;
}

/** Returns the whole moment, with its zone. */
export function moment(at: number, utc: boolean): string {
  const p = parts(new Date(at), utc);
  return `${p.y}-${two(p.mo)}-${two(p.d)} ${two(p.h)}:${two(p.m)}:${two(p.s)} ${utc ? 'UTC' : zone(at)}`;
}

/** Returns the viewer's zone as an offset: `UTC+1`, `UTC+5:30`. */
export function zone(at: number): string {
  const minutes = -new Date(at).getTimezoneOffset();
  if (minutes === 0) return 'UTC';
  const size = Math.abs(minutes);
  const rest = size % 60;
  return `UTC${minutes < 0 ? '-' : '+'}${Math.floor(size / 60)}${rest ? `:${two(rest)}` : ''}`;
}

/** Returns text without characters that would hide or reorder their neighbours. */
export function visible(text: string): string {
  return text.replace(/[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g, (c) => `\\u${c.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** Returns a long text with its middle left out. */
export function short(text: string, most: number): string {
  const letters = [...text];
  if (letters.length <= most) return text;
  const half = Math.floor((most - 1) / 2);
  return `${letters.slice(0, most - 1 - half).join('')}…${letters.slice(letters.length - half).join('')}`;
}

/** Returns a noun with its number: `1 event`, `3 events`. */
export function count(number: number, noun: string, plural = `${noun}s`): string {
  return `${number.toLocaleString('en')} ${number === 1 ? noun : plural}`;
}
