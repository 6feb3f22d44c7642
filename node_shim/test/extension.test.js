import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';

import { afterAll, beforeAll } from '../extension.js';
import { LobuProvider } from '../index.js';
import { fakePython, folder, python, startGateway } from './helpers.js';

const DEMO = { agent: 'support-agent', gateway: 'script:demo' };

/** A suite as promptfoo hands it to a hook: live objects, functions and all. */
function suiteOf(config, ...tests) {
  return { providers: [new LobuProvider({ config: { pythonExecutable: python, ...config } })], tests };
}

/** What is written to stderr while `run` runs. */
async function told(t, run) {
  const lines = [];
  const mock = t.mock.method(process.stderr, 'write', (text) => lines.push(text) > 0);
  try {
    await run();
  } finally {
    mock.mock.restore();
  }
  return lines.join('');
}

const judged = { description: 'named', assert: [{ type: 'javascript', value: (output) => output !== '' }] };

test('transcripts are repaired in place, and functions and other lists stay what they are', async (t) => {
  const value = () => true;
  const shared = { transcript: ['a', 'b'] };
  const suite = {
    ...suiteOf(DEMO,
      { ...judged, assert: [{ type: 'javascript', value }], vars: { transcript: ['a', 'b'], language: ['en', 'de'] } },
      { ...judged, description: 'one', vars: shared },
      { ...judged, description: 'two', vars: shared },
      { ...judged, description: 'three', vars: { transcript: [['a', 'b']] } },
      { ...judged, description: 'four', vars: { transcript: ['a'] }, options: { disableVarExpansion: true } },
      { ...judged, description: 'five', vars: { transcript: ['a'] }, options: { transformVars: 'vars.transcript' } }),
    defaultTest: { vars: { transcript: ['d'] } },
    scenarios: [{ config: [{ vars: { transcript: ['s'] } }], tests: [{ ...judged, vars: { transcript: ['t'] } }] }],
    nunjucksFilters: { shout: value },
  };
  const { tests } = suite;
  const said = await told(t, async () => assert.equal(await beforeAll({ suite }, { hookName: 'beforeAll' }), undefined));
  assert.equal(suite.tests, tests);
  assert.deepEqual(tests.map((one) => one.vars.transcript),
    [[['a', 'b']], [['a', 'b']], [['a', 'b']], [['a', 'b']], ['a'], ['a']]);
  assert.deepEqual(tests[0].vars.language, ['en', 'de']);
  assert.equal(tests[0].assert[0].value, value);
  assert.equal(suite.nunjucksFilters.shout, value);
  assert.deepEqual(suite.defaultTest.vars.transcript, [['d']]);
  assert.deepEqual(suite.scenarios[0].config[0].vars.transcript, [['s']]);
  assert.deepEqual(suite.scenarios[0].tests[0].vars.transcript, [['t']]);
  assert.match(said, /several tests have the same description: 'named'/i);
});

test('a contextTransform without context gets it', async () => {
  const recall = (contextTransform) => ({ type: 'context-recall', value: 'x', contextTransform });
  const value = () => 'x';
  const asserts = [recall('metadata.retrievedContext'), { type: 'assert-set', assert: [recall('metadata?.a ?? metadata.b')] },
    recall('context.metadata.a'), recall('file://metadata.js'), recall(value), null];
  const suite = suiteOf(DEMO, { ...judged, assert: asserts });
  await beforeAll({ suite });
  assert.equal(asserts[0].contextTransform, 'context.metadata.retrievedContext');
  assert.equal(asserts[1].assert[0].contextTransform, 'context.metadata?.a ?? context.metadata.b');
  assert.deepEqual(asserts.slice(2, 5).map((one) => one.contextTransform), ['context.metadata.a', 'file://metadata.js', value]);
});

test('a variable that is no conversation for the provider is left to expand', async (t) => {
  const suite = suiteOf({ ...DEMO, stringTranscript: 'prompt' }, { ...judged, vars: { transcript: ['a', 'b'] } });
  await beforeAll({ suite });
  assert.deepEqual(suite.tests[0].vars.transcript, ['a', 'b']);
});

test('the advice on tests is told', async (t) => {
  const said = await told(t, () => beforeAll({ suite: suiteOf(DEMO, { vars: { query: 'x' } }) }));
  assert.match(said, /^lobu-provider: Without assertions a test passes whatever the agent answers: tests\[0\]/m);
  assert.match(said, /^lobu-provider: Without a description/m);
});

test('a gateway that cannot be used stops the run with the reason, and the token is in no text', async (t) => {
  const suite = suiteOf({ agent: 'a', gateway: 'http://127.0.0.1:9', token: 'canary-0123456789' }, judged);
  const said = await told(t, () => assert.rejects(beforeAll({ suite }), (error) => {
    assert.match(error.message, /^lobu-provider: The run was stopped before its first test\.\n.*\[gateway\] Cannot reach/);
    assert.equal(error.stack, error.message);
    assert.ok(!error.message.includes('canary'));
    return true;
  }));
  assert.match(said, /Fix: Start the gateway/);
  assert.ok(!said.includes('canary'));
});

test('a fault is told with the place of its provider among all', async (t) => {
  const suite = suiteOf({ agent: 'a', gateway: 'http://127.0.0.1:9', token: 'canary-0123456789' }, judged);
  suite.providers.unshift({ id: () => 'echo' });
  await told(t, () => assert.rejects(beforeAll({ suite }), /^Error: lobu-provider: .*\n {2}providers\[1\]: \[gateway\]/));
});

test('a gateway that can be used is asked with all of the options, and nothing stays there', async (t) => {
  const gateway = await startGateway(t);
  await beforeAll({ suite: suiteOf({ agent: 'a', gateway: gateway.url, token: 'canary-0123456789' }, judged) });
  assert.equal(gateway.deleted.length, 1);
  assert.equal(gateway.sessions.size, 0);
});

test('a Python file provider in the suite is checked too', async (t) => {
  const gateway = await startGateway(t);
  const config = { agent: 'a', gateway: gateway.url, token: 'canary-0123456789', pythonExecutable: python };
  const provider = { scriptPath: '/somewhere/lobu_hook.py', label: '', options: { id: 'file://x', config, env: {} } };
  await beforeAll({ suite: { providers: [provider], tests: [judged] } });
  assert.equal(gateway.deleted.length, 1);
});

test('what the run left is deleted after it', async (t) => {
  const gateway = await startGateway(t);
  process.env.LOBU_LEDGER_DIR = path.join(folder(), 'ledgers');
  t.after(() => {
    process.env.LOBU_LEDGER_DIR = 'off';
  });
  const note = "import sys; from lobu_provider import ledger; assert ledger.note_created('eval-1', sys.argv[1], '', 'a', 't')";
  execFileSync(python, ['-c', note, `${gateway.url}/lobu`]);
  const suite = suiteOf({ agent: 'a', gateway: gateway.url, token: 'canary-0123456789' });
  const said = await told(t, () => afterAll({ suite, evalId: 'eval-1', results: [] }));
  assert.match(said, /1 session left by this run was deleted/);
  assert.equal(gateway.deleted.length, 1);
});

test('a suite without a provider of ours starts no Python', async () => {
  const suite = { providers: [{ id: () => 'echo' }, { scriptPath: 'other.py' }, null], tests: [{ vars: { transcript: ['a'] } }] };
  process.env.LOBU_PYTHON = '/no/such/python';
  try {
    await beforeAll({ suite });
    await afterAll({ suite, evalId: 'eval-1' });
  } finally {
    delete process.env.LOBU_PYTHON;
  }
  assert.deepEqual(suite.tests[0].vars.transcript, ['a']);
});

test('a Python without lobu-provider stops the run, and the end of one never', async (t) => {
  const command = fakePython(`
    console.error("ModuleNotFoundError: No module named 'lobu_provider'");
    process.exit(1);`);
  const suite = suiteOf({ ...DEMO, pythonExecutable: command });
  await told(t, () => assert.rejects(beforeAll({ suite }), /does not have lobu-provider.*Install lobu-provider/));
  assert.match(await told(t, () => afterAll({ suite, evalId: 'e' })), /does not have lobu-provider/);
});

test('no Python at all stops the run', async (t) => {
  const suite = suiteOf({ ...DEMO, pythonExecutable: '/no/such/python' });
  await told(t, () => assert.rejects(beforeAll({ suite }), /there is no such program/));
});

test('a fault of ours stops nothing', async (t) => {
  const suite = suiteOf({ ...DEMO, pythonExecutable: fakePython('process.exit(9);') }, { ...judged, vars: { transcript: ['a'] } });
  const said = await told(t, () => beforeAll({ suite }));
  assert.match(said, /the extension ended with code 9\. The run goes on\./);
  assert.deepEqual(suite.tests[0].vars.transcript, [['a']]);
  await told(t, () => afterAll({ suite, evalId: 'e' }));
});

test('a hook that was killed is told as that', async (t) => {
  const suite = suiteOf({ ...DEMO, pythonExecutable: fakePython("process.kill(process.pid, 'SIGKILL');") }, judged);
  const said = await told(t, () => beforeAll({ suite }));
  assert.match(said, /the extension was ended by SIGKILL\. The run goes on\./);
});

test('whatever is given, the end of a run is never rejected', async (t) => {
  for (const context of [undefined, null, {}, { suite: null }, { suite: { providers: 7 } }]) {
    await told(t, () => afterAll(context));
  }
});

test('what a provider prints of itself tells whether it is all', () => {
  const shown = (options) => JSON.parse(JSON.stringify(new LobuProvider(options)));
  assert.equal(shown({ config: DEMO }).package, '@lobu/promptfoo-provider');
  assert.equal(shown({ config: { ...DEMO, basePath: '' } }).hidden, false);
  assert.equal(shown({ config: { ...DEMO, token: 'canary-0123456789' } }).hidden, true);
  assert.equal(shown({ config: DEMO, env: { LOBU_TOKEN: 'canary-0123456789' } }).hidden, true);
  assert.ok(!JSON.stringify(shown({ config: { token: 'canary-0123456789' } })).includes('canary'));
});

test('a copy of the Python hook under another name is one of ours', async (t) => {
  const script = path.join(folder(), 'agent.py');
  writeFileSync(script, 'from lobu_provider.promptfoo.provider import LobuProvider\n');
  const options = { config: { ...DEMO, pythonExecutable: python }, env: {} };
  const suite = { providers: [{ scriptPath: script, options }], tests: [{ ...judged, vars: { transcript: ['a'] } }] };
  await beforeAll({ suite });
  assert.deepEqual(suite.tests[0].vars.transcript, [['a']]);
});
