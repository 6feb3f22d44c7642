import assert from 'node:assert/strict';
import { createRequire } from 'node:module';
import test from 'node:test';
import util from 'node:util';

import * as assertions from '../assertions.js';
import * as shim from '../index.js';
import { fakePython, python, recordedPython, startGateway } from './helpers.js';

const { LobuProvider } = shim;
const demo = { agent: 'support-agent', gateway: 'script:demo', pythonExecutable: python };

/** A provider that is ended with the test. */
function provider(t, options) {
  const made = new LobuProvider(options);
  t.after(() => made.cleanup());
  return made;
}

test('there are named exports only: a default export would hide them from promptfoo', () => {
  assert.deepEqual(Object.keys(shim), ['LobuProvider', ...Object.keys(assertions)]);
});

test('the package can be required from CommonJS', () => {
  const required = createRequire(import.meta.url)('@lobu/promptfoo-provider');
  assert.equal(required.LobuProvider, LobuProvider);
});

test('the id is the one given, else it names the agent', () => {
  assert.equal(new LobuProvider({ id: 'given' }).id(), 'given');
  assert.equal(new LobuProvider({ config: { agent: 'a' } }).id(), 'lobu:a');
  assert.equal(new LobuProvider({ id: undefined, config: undefined, env: undefined }).id(), 'lobu');
  assert.equal(new LobuProvider().id(), 'lobu');
});

test('what is printed of a provider holds no secret', () => {
  const made = new LobuProvider({
    id: 'x',
    env: { LOBU_TOKEN: 'secret-1' },
    config: {
      agent: 'a', token: 'secret-2', headers: { 'x-key': 'secret-3' }, tokenCommand: 'get secret-4',
      gateway: 'https://user:secret-5@example.org/lobu?key=secret-6', timeoutMs: 5, other: 'secret-7',
    },
  });
  made.label = 'staging';
  assert.deepEqual(JSON.parse(JSON.stringify(made)), {
    id: 'x',
    label: 'staging',
    package: '@lobu/promptfoo-provider',
    hidden: true,
    config: { agent: 'a', gateway: 'https://example.org/lobu', timeoutMs: 5 },
  });
  assert.doesNotMatch(util.inspect(made, { depth: 9 }), /secret/);
});

test('a call is answered by Python', async (t) => {
  const response = await provider(t, { config: demo }).callApi('How do refunds work?', { vars: {} });
  assert.equal(response.error, undefined);
  assert.match(response.output, /30 days/);
  assert.equal(response.metadata.toolCalls[0].name, 'search_memory');
  assert.equal(typeof response.latencyMs, 'number');
});

test('a call without a context is answered too', async (t) => {
  const made = provider(t, { config: demo });
  for (const context of [undefined, null, 'text']) {
    assert.equal((await made.callApi('How do refunds work?', context)).error, undefined);
  }
});

test('a hundred calls at once each get their own answer from one process', async (t) => {
  const recorded = recordedPython();
  const config = { ...demo, pythonExecutable: recorded.command };
  const [one, two] = [provider(t, { config }), provider(t, { config })];
  const prompts = Array.from({ length: 100 }, (_, index) => `How do refunds work? ${index}`);
  const responses = await Promise.all(
    prompts.map((prompt, index) => (index % 2 ? one : two).callApi(prompt, { vars: {} })),
  );
  assert.deepEqual(responses.map((r) => r.metadata.turns[0].user), prompts);
  assert.equal(recorded.pids().length, 1);
});

test('any text goes over and comes back, whatever its size', async (t) => {
  const gateway = await startGateway(t);
  const made = provider(t, {
    env: { LOBU_TOKEN: 'any-token' },
    config: { ...demo, gateway: gateway.url },
  });
  for (const text of ['a\u2028\u2029b', 'Grüße 🦉', 'a\r\nb\0c', 'x'.repeat(3_000_000)]) {
    assert.equal((await made.callApi(text)).output, `heard: ${text}`);
  }
});

test('only data goes over: no functions, no rings, no host objects', async (t) => {
  const command = fakePython(`
    on.call = ({ id, ...call }) => say({ type: 'result', id, response: { output: call } });
    ready();`);
  const ring = { name: 'ring', big: 10n, run() {} };
  ring.self = ring;
  const made = provider(t, { id: 'x', config: { agent: 'a', pythonExecutable: command }, env: { A: '1' } });
  const { output } = await made.callApi('hi', {
    vars: { ring, list: [1, ring, undefined], nothing: null },
    prompt: { raw: '{{q}}', function: () => 1 },
    test: { vars: {}, metadata: { conversationId: 'c' } },
    repeatIndex: 2, evaluationId: 'e', traceparent: '00-1', testCaseId: '0-0', testIdx: 3,
    logger: { info() {} }, getCache: () => {}, originalProvider: made, filters: {},
  });
  const plainRing = { name: 'ring', big: '10' };
  assert.deepEqual(output, {
    type: 'call',
    options: { id: 'x', config: { agent: 'a', pythonExecutable: command }, env: { A: '1' } },
    prompt: 'hi',
    context: {
      vars: { ring: plainRing, list: [1, plainRing, null], nothing: null },
      prompt: { raw: '{{q}}' },
      test: { vars: {}, metadata: { conversationId: 'c' } },
      repeatIndex: 2, evaluationId: 'e', traceparent: '00-1', testCaseId: '0-0', testIdx: 3,
    },
  });
});

test('an abort deletes the session and returns what there is', async (t) => {
  const gateway = await startGateway(t);
  const made = provider(t, { env: { LOBU_TOKEN: 'any-token' }, config: { ...demo, gateway: gateway.url } });
  const abort = new AbortController();
  const call = made.callApi('slow please', {}, { abortSignal: abort.signal });
  await gateway.heard();
  abort.abort();
  const response = await call;
  assert.match(response.error, /^\[cancelled\]/);
  assert.equal(response.metadata.error.code, 'cancelled');
  assert.equal(response.metadata.turns[0].user, 'slow please');
  assert.deepEqual(gateway.deleted, ['session-1']);
  assert.equal(gateway.sessions.size, 0);
});

test('a call that is aborted before it begins starts nothing', async (t) => {
  const recorded = recordedPython();
  const made = provider(t, { config: { ...demo, pythonExecutable: recorded.command } });
  const response = await made.callApi('hi', {}, { abortSignal: AbortSignal.abort() });
  assert.match(response.error, /^\[cancelled\]/);
  assert.deepEqual(recorded.pids(), []);
});

test('a call that is aborted while Python starts does not wait for it', async (t) => {
  const command = fakePython('// never ready');
  const made = provider(t, { config: { agent: 'a', pythonExecutable: command } });
  const abort = new AbortController();
  const call = made.callApi('hi', {}, { abortSignal: abort.signal });
  abort.abort();
  assert.match((await call).error, /^\[cancelled\]/);
});

test('what is no signal is as good as none', async (t) => {
  const command = fakePython("on.call = ({ id }) => answer(id, 'fine'); ready();");
  const made = provider(t, { config: { agent: 'a', pythonExecutable: command } });
  for (const abortSignal of [null, {}, 5, 'x', { aborted: false }]) {
    assert.equal((await made.callApi('hi', {}, { abortSignal })).output, 'fine');
  }
  assert.match((await made.callApi('hi', {}, { abortSignal: { aborted: true } })).error, /^\[cancelled\]/);
});

test('what JSON cannot say is an error of the configuration that names the key', async (t) => {
  const recorded = recordedPython();
  const ring = {};
  ring.self = ring;
  const good = { agent: 'a', pythonExecutable: recorded.command };
  const told = async (options, prompt = 'hi') => {
    const { error, metadata } = await provider(t, options).callApi(prompt);
    assert.equal(metadata.error.class, 'config');
    return /^\[config\] (\S+): expected what JSON can say; got a value that it cannot: /.exec(error)?.[1];
  };
  assert.equal(await told({ config: { ...good, timeoutMs: 10n } }), 'config.timeoutMs');
  assert.equal(await told({ config: { ...good, answers: { deep: [ring] } } }), 'config.answers');
  assert.equal(await told({ config: { ...good, get model() { throw new Error('secret'); } } }), 'config.model');
  assert.equal(await told({ config: good, env: { LOBU_TOKEN: 1n } }), 'env.LOBU_TOKEN');
  assert.equal(await told({ config: good }, ring), 'prompt');
  assert.deepEqual(recorded.pids(), []);
});

test('many calls share one signal without a warning', async (t) => {
  const warnings = [];
  const onWarning = (warning) => warnings.push(warning.message);
  process.on('warning', onWarning);
  t.after(() => process.off('warning', onWarning));
  const command = fakePython(`
    const ids = [];
    on.call = ({ id }) => { if (ids.push(id) === 40) for (const one of ids) answer(one, 'fine'); };
    ready();`);
  const made = provider(t, { config: { agent: 'a', pythonExecutable: command } });
  const { signal } = new AbortController();
  const calls = Array.from({ length: 40 }, () => made.callApi('hi', {}, { abortSignal: signal }));
  for (const { output } of await Promise.all(calls)) assert.equal(output, 'fine');
  await new Promise(setImmediate);
  assert.deepEqual(warnings, []);
});

test('cleanup ends the process when the last provider leaves, and a later call starts another', async (t) => {
  const recorded = recordedPython();
  const config = { ...demo, pythonExecutable: recorded.command };
  const [one, two] = [provider(t, { config }), provider(t, { config })];
  await one.callApi('How do refunds work?');
  await two.callApi('How do refunds work?');
  await one.cleanup();
  assert.equal((await two.callApi('How do refunds work?')).error, undefined);
  assert.equal(recorded.pids().length, 1);
  await two.cleanup();
  await recorded.ended();
  assert.equal((await two.callApi('How do refunds work?')).error, undefined);
  assert.equal(recorded.pids().length, 2);
});

test('cleanup without a call is nothing', async () => {
  await new LobuProvider({ config: demo }).cleanup();
});

test('whatever is thrown on the way, the call answers with a row', async (t) => {
  const bare = Object.create(null);
  const mute = { toString() { throw new Error('mute'); } };
  for (const thrown of [bare, Symbol('s'), mute, undefined, null, 7]) {
    const config = { ...demo, get headers() { throw thrown; } };
    const made = provider(t, { id: 'x', config });
    const response = await made.callApi('hello', { get vars() { throw thrown; } });
    assert.match(response.error, /^\[(internal|config)\] /);
    assert.equal(response.metadata.rateLimitKind, 'quota');
  }
});
