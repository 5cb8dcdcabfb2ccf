import assert from 'node:assert/strict';
import { test } from 'node:test';
import { bytes, clock, count, duration, finite, interval, moment, part, plain, short, visible } from './format';

test('sizes and durations read as people write them', () => {
  assert.equal(bytes(0), '0 B');
  assert.equal(bytes(85_520_809_984), '79.6 GiB');
  assert.equal(part(71_940_702_208, 85_520_809_984), '67 / 80 GiB');
  assert.equal(part(4_194_304, 85_520_809_984), '0.0 / 80 GiB');
  assert.equal(duration(0), '0 s');
  assert.equal(duration(59.6), '1 min');
  assert.equal(duration(3700), '1 h 1 min');
  assert.equal(duration(41 * 86_400 + 5), '41 d');
  assert.equal(duration(-5), '0 s');
  assert.equal(plain(0.00001), '1.0e-5');
  assert.equal(plain(97.5), '97.5');
  assert.equal(plain(1234567), '1,234,567');
  assert.equal(count(1, 'check'), '1 check');
  assert.equal(count(2000, 'series', 'series'), '2,000 series');
});

test('what is no number is none', () => {
  for (const value of [NaN, Infinity, 'NaN', '', null, undefined, {}, 'x']) assert.equal(finite(value), undefined);
  assert.equal(finite('12.5'), 12.5);
  assert.equal(finite(0), 0);
});

test('characters that hide or reorder others are shown', () => {
  assert.equal(visible('a\u202eb\u0000c\u200d'), 'a\\u202eb\\u0000c\\u200d');
  assert.equal(visible('<b>"é 中文 עברית</b>'), '<b>"é 中文 עברית</b>');
  assert.equal(short('🙂'.repeat(40), 9), `${'🙂'.repeat(4)}…${'🙂'.repeat(4)}`);
  assert.equal(short('short', 9), 'short');
});

test('times of another day say the day', () => {
  const at = Date.UTC(2026, 10, 26, 1, 2, 3);
  assert.equal(clock(at, at + 1000, true), '01:02:03');
  assert.equal(clock(at, at + 86_400_000, true), '2026-11-26 01:02:03');
  assert.equal(moment(at, true), '2026-11-26 01:02:03 UTC');
});

test('lengths of time of the wire', () => {
  for (const [text, shown] of [['1m0s', '1 min'], ['1h30m0s', '1 h 30 min'], ['30s', '30 s'], ['0s', '0s'], ['500ms', '500ms'], ['', '']] as const) assert.equal(interval(text), shown);
});
