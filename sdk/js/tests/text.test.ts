import assert from "node:assert/strict";
import { test } from "node:test";
import { byteLength, clip, decodeText, encodeText } from "../src/text.ts";

/** The minimal standard generator: the same numbers every time. */
export function dice(seed: number): (limit: number) => number {
  let at = seed;
  return (limit) => (at = (at * 48_271) % 2_147_483_647) % limit;
}

test("bytes become text as the platform's decoder has it", () => {
  const platform = new TextDecoder("utf-8", { ignoreBOM: true });
  const below = dice(1);
  const telling = [
    0x00, 0x41, 0x7f, 0x80, 0xbf, 0xc1, 0xc2, 0xdf, 0xe0, 0xa0, 0xed, 0x9f, 0xef, 0xf0, 0x90, 0xf4, 0x8f, 0xf5, 0xff,
  ];
  for (let round = 0; round < 5_000; round++) {
    const bytes = Uint8Array.from({ length: below(12) }, () => telling[below(telling.length)] ?? 0);
    assert.equal(decodeText(bytes), platform.decode(bytes), `${[...bytes]}`);
  }
  const long = encodeText("°".repeat(10_000));
  assert.equal(decodeText(long), "°".repeat(10_000));
});

test("text becomes bytes as the platform's encoder has it", () => {
  const platform = new TextEncoder();
  for (const text of ["", "plain", "°C", "漢字", "😀", "a\ud800b", "\udc00"]) {
    assert.deepEqual(encodeText(text), platform.encode(text));
    assert.equal(byteLength(text), platform.encode(text).length);
  }
});

test("a cut text ends between characters", () => {
  assert.deepEqual(
    [0, 1, 2, 3, 4, 5, 9].map((limit) => clip("a°😀", limit)),
    ["", "a", "a", "a°", "a°", "a°", "a°😀"],
  );
});
