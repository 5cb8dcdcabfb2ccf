import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Cache } from './cache';

test('what was read is not read again, within a bound', async () => {
  const cache = new Cache<string>(2);
  const reads: string[] = [];
  const get = (key: string) => cache.get(key, async () => (reads.push(key), `of ${key}`));
  assert.equal(await get('a'), 'of a');
  assert.equal(await get('a'), 'of a');
  await get('b');
  await get('c');
  assert.deepEqual(reads, ['a', 'b', 'c']);
  // The oldest went.
  await get('c');
  await get('a');
  assert.deepEqual(reads, ['a', 'b', 'c', 'a']);
});

test('what could not be read is tried again', async () => {
  const cache = new Cache<string>(2);
  await assert.rejects(cache.get('a', () => Promise.reject(new Error('gone'))));
  assert.equal(await cache.get('a', async () => 'here'), 'here');
});
