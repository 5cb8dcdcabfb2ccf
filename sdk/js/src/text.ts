/** Text of bytes and back: the engine of a component has no `TextDecoder`. */

const REPLACEMENT = 0xfffd;
/** Characters that are made by one call. */
const MAX_ARGUMENTS = 4096;

/** Bytes as text; what is not UTF-8 becomes U+FFFD. */
export function decodeText(bytes: Uint8Array): string {
  // Most files of the kernel are short and plain, and a loop over bytes is slow in an interpreter.
  if (bytes.length <= MAX_ARGUMENTS) {
    const units = bytes as unknown as number[];
    if (Math.max.apply(null, units) < 0x80) return String.fromCharCode.apply(null, units);
  }
  let text = "";
  const points: number[] = [];
  for (let at = 0; at < bytes.length;) {
    const [point, length] = decodePoint(bytes, at);
    points.push(point);
    at += length;
    if (points.length === MAX_ARGUMENTS) text += String.fromCodePoint(...points.splice(0));
  }
  return text + String.fromCodePoint(...points);
}

// The WHATWG way: a broken sequence is one replacement for its longest valid beginning.
function decodePoint(bytes: Uint8Array, at: number): [point: number, length: number] {
  const first = bytes[at] ?? 0;
  if (first < 0x80) return [first, 1];
  const wanted = first >= 0xf0 ? 3 : first >= 0xe0 ? 2 : 1;
  if (first < 0xc2 || first > 0xf4) return [REPLACEMENT, 1];
  let point = first & (0x3f >> wanted);
  for (let index = 1; index <= wanted; index++) {
    const next = bytes[at + index] ?? 0;
    let [low, high] = [0x80, 0xbf];
    if (index === 1) {
      if (first === 0xe0) low = 0xa0;
      if (first === 0xed) high = 0x9f;
      if (first === 0xf0) low = 0x90;
      if (first === 0xf4) high = 0x8f;
    }
    if (next < low || next > high) return [REPLACEMENT, index];
    point = (point << 6) | (next & 0x3f);
  }
  return [point, wanted + 1];
}

/** Text as UTF-8; a lone surrogate becomes U+FFFD. */
export function encodeText(text: string): Uint8Array {
  const bytes: number[] = [];
  for (const letter of text) {
    let point = letter.codePointAt(0) ?? 0;
    if (point >= 0xd800 && point <= 0xdfff) point = REPLACEMENT;
    if (point < 0x80) bytes.push(point);
    else if (point < 0x800) bytes.push(0xc0 | (point >> 6), 0x80 | (point & 0x3f));
    else if (point < 0x10000) bytes.push(0xe0 | (point >> 12), 0x80 | ((point >> 6) & 0x3f), 0x80 | (point & 0x3f));
    else {
      bytes.push(
        0xf0 | (point >> 18),
        0x80 | ((point >> 12) & 0x3f),
        0x80 | ((point >> 6) & 0x3f),
        0x80 | (point & 0x3f),
      );
    }
  }
  return Uint8Array.from(bytes);
}

/** Bytes that a text takes as UTF-8. */
export function byteLength(text: string): number {
  let size = 0;
  for (const letter of text) {
    const point = letter.codePointAt(0) ?? 0;
    size += point < 0x80 ? 1 : point < 0x800 ? 2 : point < 0x10000 ? 3 : 4;
  }
  return size;
}

/** Text of at most this many bytes, cut between characters. */
export function clip(text: string, limit: number): string {
  if (text.length * 3 <= limit) return text; // a code unit takes three bytes at most
  let size = 0;
  let end = 0;
  for (const letter of text) {
    size += byteLength(letter);
    if (size > limit) return text.slice(0, end);
    end += letter.length;
  }
  return text;
}
