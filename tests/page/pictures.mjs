// The pictures of the README: the page and the terminal of a machine that has lost a GPU, small enough for a repository.

import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { promisify } from 'node:util';
import { deflateSync } from 'node:zlib';

/** Runs a command in a terminal of so many columns, and returns what it writes to standard output, with its colours. */
export async function inTerminal(columns, program, args, env) {
  const quoted = [program, ...args].map((word) => `'${word.replaceAll("'", "'\\''")}'`).join(' ');
  // `script` gives it a terminal. A status other than 0 is a verdict.
  const { stdout } = await promisify(execFile)('script', ['--quiet', '--command', `stty cols ${columns} rows 60; ${quoted} 2>/dev/null; true`, '/dev/null'], { env: { ...process.env, ...env } });
  return stdout.replaceAll('\r', '');
}

const COLOURS = { 31: '#f5837a', 32: '#62bd8a', 33: '#e2a748', 34: '#8fbbe8', 36: '#7fc7c4' };

/** Returns a page that looks like a terminal with a command and what it wrote. */
export function terminalPage(command, output) {
  let style = {};
  const pieces = output.split(/(\u001b\[[0-9;]*m)/).map((piece) => {
    const codes = /^\u001b\[([0-9;]*)m$/.exec(piece);
    if (!codes) return `<span style="${Object.entries(style).map(([key, value]) => `${key}:${value}`).join(';')}">${piece.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</span>`;
    for (const code of codes[1].split(';').map(Number)) {
      if (code === 0) style = {};
      if (code === 1) style['font-weight'] = 700;
      if (code === 2) style.color = '#8b9096';
      if (COLOURS[code]) style.color = COLOURS[code];
    }
    return '';
  });
  return `<!doctype html><body style="margin:0;background:#131416"><pre id="terminal" style="display:inline-block;margin:0;padding:18px 22px;color:#e7e7e5;font:14px/1.4 'DejaVu Sans Mono',monospace"><span style="color:#8b9096">$ </span>${command}\n${pieces.join('')}</pre>`;
}

/** Writes a picture with at most 256 colours: text on plain areas looks the same, in a quarter of the bytes. */
export async function writeSmall(page, png, file) {
  const { width, height, colours, places } = await page.evaluate(reduce, png.toString('base64'));
  const rows = Buffer.from(places, 'base64');
  const lines = Buffer.alloc((width + 1) * height);
  for (let y = 0; y < height; y += 1) rows.copy(lines, y * (width + 1) + 1, y * width, (y + 1) * width);
  const head = Buffer.alloc(13);
  head.writeUInt32BE(width, 0);
  head.writeUInt32BE(height, 4);
  // Eight bits, by palette.
  head[8] = 8;
  head[9] = 3;
  const signature = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
  writeFileSync(file, Buffer.concat([signature, chunk('IHDR', head), chunk('PLTE', Buffer.from(colours)), chunk('IDAT', deflateSync(lines, { level: 9 })), chunk('IEND', Buffer.alloc(0))]));
}

function chunk(name, content) {
  const body = Buffer.concat([Buffer.from(name, 'latin1'), content]);
  const whole = Buffer.alloc(body.length + 8);
  whole.writeUInt32BE(content.length, 0);
  body.copy(whole, 4);
  whole.writeUInt32BE(checksum(body), body.length + 4);
  return whole;
}

/** The checksum of PNG, a CRC-32. Older versions of Node have none. */
function checksum(bytes) {
  let sum = 0xffffffff;
  for (const byte of bytes) {
    sum ^= byte;
    for (let bit = 0; bit < 8; bit += 1) sum = sum & 1 ? (sum >>> 1) ^ 0xedb88320 : sum >>> 1;
  }
  return (sum ^ 0xffffffff) >>> 0;
}

/** Runs in the browser: a picture as a palette of its colours and, for each pixel, the place of the nearest. */
async function reduce(base64) {
  const bytes = Uint8Array.from(atob(base64), (letter) => letter.charCodeAt(0));
  const image = await createImageBitmap(new Blob([bytes], { type: 'image/png' }));
  const { width, height } = image;
  const context = new OffscreenCanvas(width, height).getContext('2d');
  context.drawImage(image, 0, 0);
  const { data } = context.getImageData(0, 0, width, height);
  const counts = new Map();
  const at = (pixel) => (data[4 * pixel] << 16) | (data[4 * pixel + 1] << 8) | data[4 * pixel + 2];
  for (let pixel = 0; pixel < width * height; pixel += 1) counts.set(at(pixel), (counts.get(at(pixel)) ?? 0) + 1);
  const far = (one, other) => ((one >> 16) - (other >> 16)) ** 2 + (((one >> 8) & 255) - ((other >> 8) & 255)) ** 2 + ((one & 255) - (other & 255)) ** 2;
  // The most frequent first, but one of each shade before a second: a sign in green has few pixels.
  const palette = [];
  const frequent = [...counts].sort((a, b) => b[1] - a[1]).map(([colour]) => colour);
  for (const least of [300, 1]) {
    for (const colour of frequent) if (palette.length < 256 && palette.every((chosen) => far(chosen, colour) >= least)) palette.push(colour);
  }
  const nearest = new Map();
  for (const colour of counts.keys()) {
    let best = 0;
    for (let place = 1; place < palette.length; place += 1) if (far(palette[place], colour) < far(palette[best], colour)) best = place;
    nearest.set(colour, best);
  }
  let places = '';
  for (let pixel = 0; pixel < width * height; pixel += 1) places += String.fromCharCode(nearest.get(at(pixel)));
  return { width, height, colours: palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]), places: btoa(places) };
}
