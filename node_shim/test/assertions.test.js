/** The assertions give the verdicts, scores and words that the Python ones give. */

import assert from 'node:assert/strict';
import { existsSync, readFileSync } from 'node:fs';
import path from 'node:path';
import { test } from 'node:test';

import * as assertions from '../assertions.js';
import { CHECKS } from '../assertions/options.js';
import { sameName } from '../assertions/names.js';
import { compilePattern, PatternError } from '../assertions/patterns.js';
import { show } from '../assertions/values.js';
import * as entry from '../index.js';
import { here } from './helpers.js';

const GOLDEN = path.join(here, '..', '..', 'tests', 'assertions', 'golden.json');
const golden = JSON.parse(readFileSync(GOLDEN, 'utf8'));

for (const { name, check, row, config, vars, test: its, expect } of golden.cases) {
  test(`${check}: ${name}`, () => {
    const context = { config, vars, test: its, ...(row === undefined ? {} : { providerResponse: golden.rows[row] }) };
    const before = JSON.stringify(context);
    assert.deepEqual(assertions[check]('', context), expect);
    assert.equal(JSON.stringify(context), before, 'what it was given is left alone');
  });
}

test('patterns mean what they mean in Python', () => {
  for (const { pattern, flags, text, times = 1, end = '', found, refused } of golden.patterns) {
    const whole = `${(text ?? '').repeat(times)}${end}`;
    if (refused === undefined) assert.equal(compilePattern(pattern, flags).foundIn(whole), found, pattern);
    else {
      assert.throws(() => compilePattern(pattern, flags), (error) => (
        error instanceof PatternError && error.message === refused
      ), pattern);
    }
  }
});

test('names are the same as in Python', () => {
  for (const { wanted, called, same } of golden.names) assert.equal(sameName(wanted, called), same, wanted);
});

test('values are written as in Python', () => {
  for (const { value, shown } of golden.values) assert.equal(show(value), shown);
});

test('each check is an export of the package, by its own name', () => {
  const names = Object.keys(CHECKS).sort();
  assert.deepEqual(Object.keys(assertions).sort(), names);
  for (const name of names) assert.equal(entry[name], assertions[name]);
  assert.equal(entry.default, undefined);
  const types = readFileSync(path.join(here, '..', 'assertions.d.ts'), 'utf8');
  for (const name of names) assert.ok(types.includes(`export const ${name}: LobuAssertion;`), name);
});

test('a date and what JSON does not hold arrive as in Python', () => {
  const providerResponse = golden.rows['by date'];
  const config = {
    tool: 'days_since_delivery', text: 'contains', args: { delivered_on: '{{day}}' }, min: undefined,
  };
  const vars = { day: new Date('2026-09-14') };
  const { pass, reason } = assertions.toolCalled('', { config, vars, providerResponse });
  assert.equal(pass, false);
  assert.match(reason, /expected a text with "2026-09-14T00:00:00\.000Z"/);
});

test('what is undefined beside config was not written, and what JSON cannot hold is no obstacle', () => {
  const config = { tool: 'lookup_order' };
  const provider = { self: undefined, big: 1n };
  provider.self = provider;
  const own = { type: 'javascript', value: 'package:@lobu/promptfoo-provider:toolCalled', config, provider };
  const judge = (more) => assertions.toolCalled('', {
    config, providerResponse: golden.rows.refund, test: { assert: [{ ...own, ...more }] },
  });
  assert.equal(judge({ times: undefined, options: undefined }).pass, true);
  assert.match(judge({ args: () => 1 }).reason, /args stands beside type and value/);
});

test('names of the prototype are no variables, keys or options', () => {
  const providerResponse = golden.rows.refund;
  const judge = (config) => assertions.toolCalled('', { config, vars: {}, providerResponse });
  assert.match(judge({ tool: '{{constructor}}' }).reason, /no such variable/);
  assert.match(judge({ tool: 'lookup_order', toString: 1 }).reason, /toString is no option/);
  assert.match(judge({ tool: 'lookup_order', args: { constructor: 1 } }).reason, /but it is missing/);
  assert.equal(judge(JSON.parse('{"tool": "lookup_order", "__proto__": 1}')).pass, false);
});

test('a type that begins with not- is refused, since it would turn mistakes into passes', () => {
  const value = 'package:@lobu/promptfoo-provider:toolCalled';
  const config = { tool: 'x' };
  const own = { type: 'not-javascript', value, config };
  const judge = (list) => () => assertions.toolCalled('', {
    config, providerResponse: golden.rows.refund, test: { assert: list },
  });
  assert.throws(judge([own]), /do not write not-javascript with toolCalled.*Write toolNotCalled/);
  assert.throws(judge([{ type: 'assert-set', assert: [own] }]), /not-javascript/);
  assert.throws(judge([{ ...own, type: 'not-ruby' }]), /do not write not-ruby/);
  assert.doesNotThrow(judge([{ ...own, type: 'javascript' }, { ...own, config: { tool: 'y' } }]));
});

test('every file of the folder has its twin in Python', { skip: !existsSync(GOLDEN) }, () => {
  for (const name of ['values', 'names', 'patterns', 'templates', 'evidence', 'arguments', 'options', 'judge',
    'transforms', 'evidence_text', 'pattern_search', 'lookalikes', 'name_problems', 'option_values', 'tool_options',
    'beside_config',
  ]) {
    assert.ok(existsSync(path.join(here, '..', '..', 'lobu_provider', 'assertions', `${name}.py`)));
  }
});
