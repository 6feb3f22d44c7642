/** The transforms give the texts that the Python ones give. */

import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import { TRANSFORMS } from '../assertions/transforms.js';
import * as transforms from '../transforms.js';
import { here } from './helpers.js';

const GOLDEN = path.join(here, '..', '..', 'tests', 'assertions', 'golden_transforms.json');
const cases = JSON.parse(readFileSync(GOLDEN, 'utf8'));

/** The metadata of a case, with what `grow` names repeated so often. */
function metadataOf({ metadata, grow = [] }) {
  const grown = structuredClone(metadata);
  for (const { path: way, times } of grow) {
    const holder = way.slice(0, -1).reduce((value, key) => value[key], grown);
    const value = holder[way.at(-1)];
    holder[way.at(-1)] = typeof value === 'string' ? value.repeat(times) : Array(times).fill(value).flat();
  }
  return grown;
}

for (const one of cases) {
  test(`${one.transform}: ${one.name}`, () => {
    const context = { metadata: metadataOf(one), vars: {} };
    const before = JSON.stringify(context);
    const make = () => transforms[one.transform]('', context);
    if (one.raises !== undefined) {
      assert.throws(make, ({ message }) => message === one.raises);
      return;
    }
    const text = make();
    assert.equal(JSON.stringify(context), before, 'what it was given is left alone');
    if (one.expect !== undefined) {
      assert.deepEqual(text.split('\n'), one.expect);
      return;
    }
    for (const mark of one.marks) assert.ok(text.includes(mark), mark);
    assert.equal(createHash('sha256').update(text).digest('hex'), one.sha256);
  });
}

test('each transform is an export, with its type', () => {
  assert.deepEqual(Object.keys(transforms).sort(), Object.keys(TRANSFORMS).sort());
  const types = readFileSync(path.join(here, '..', 'transforms.d.ts'), 'utf8');
  for (const name of Object.keys(TRANSFORMS)) assert.ok(types.includes(`export const ${name}: LobuTransform;`));
});
