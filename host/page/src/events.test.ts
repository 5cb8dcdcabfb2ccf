import assert from 'node:assert/strict';
import { test } from 'node:test';
import { EventReader } from './events';

const STREAM = ': comment\r\nretry: 2000\r\nid: 7-1\r\n\r\nid: 7-2\nevent: health\ndata: {"a":1}\n\nevent: reset\rdata: x\rdata:y\r\rdata\n\n';
const EXPECTED = [
  { id: '7-2', event: 'health', data: '{"a":1}' },
  { id: '7-2', event: 'reset', data: 'x\ny' },
  { id: '7-2', event: 'message', data: '' },
];

test('the pieces may end anywhere', () => {
  for (let size = 1; size <= STREAM.length; size += 1) {
    const reader = new EventReader();
    const found = [];
    for (let at = 0; at < STREAM.length; at += size) found.push(...reader.feed(STREAM.slice(at, at + size)));
    assert.deepEqual(found, EXPECTED, `pieces of ${size}`);
  }
});

test('an id without an event is remembered', () => {
  const reader = new EventReader();
  assert.deepEqual(reader.feed('id: 9-4\n\n'), []);
  assert.equal(reader.lastId, '9-4');
});

test('a line without an end does not grow for ever', () => {
  const reader = new EventReader();
  for (let count = 0; count < 40; count += 1) reader.feed('x'.repeat(100_000));
  assert.deepEqual(reader.feed('\ndata: on\n\n').map((message) => message.data), ['on']);
});
