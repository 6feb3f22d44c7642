import assert from 'node:assert/strict';
import test from 'node:test';

import { ErrorOutput, LineSplitter } from '../lines.js';

test('lines are the same however the bytes are cut', () => {
  const bytes = Buffer.from('\none\n\n{"a":"Grüße 🦉"}\nthe rest');
  for (let size = 1; size <= bytes.length; size += 1) {
    const splitter = new LineSplitter();
    const lines = [];
    for (let start = 0; start < bytes.length; start += size) {
      lines.push(...splitter.feed(bytes.subarray(start, start + size)));
    }
    assert.deepEqual(lines.map(String), ['one', '{"a":"Grüße 🦉"}']);
  }
});

test('stderr is shown with a prefix once it is open, up to a bound, and its end is kept', () => {
  const shown = [];
  const errors = new ErrorOutput('> ', (line) => shown.push(line));
  errors.feed(Buffer.from('one\ntw'));
  errors.feed(Buffer.from('o\r\n\n'));
  assert.deepEqual(shown, []);
  errors.open();
  assert.deepEqual(shown, ['> one', '> two']);
  for (let number = 0; number < 2000; number += 1) errors.feed(Buffer.from(`${number}\n`));
  errors.feed(Buffer.from('no end'));
  assert.equal(shown.length, 501);
  assert.equal(shown.at(-1), '> (more is not shown)');
  assert.deepEqual(errors.tail().slice(-2), ['1999', 'no end']);
  errors.feed(Buffer.from('x'.repeat(1_000_000)));
  assert.ok(errors.tail().join('').length < 3000);
});
