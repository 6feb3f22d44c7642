import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';

import { LobuProvider } from '../index.js';
import { entry, fakePython, folder, python, recordedPython, startGateway } from './helpers.js';

function provider(t, config, env = { LOBU_TOKEN: 'any-token' }) {
  const made = new LobuProvider({ config: { agent: 'support-agent', ...config }, env });
  t.after(() => made.cleanup());
  return made;
}

function assertDeath(response) {
  assert.equal(response.output, '');
  assert.match(response.error, /^\[internal\] The Python process of lobu-provider /);
  assert.deepEqual(response.metadata.error, {
    code: 'internal', class: 'infrastructure', phase: 'turn', retryable: true,
  });
  assert.equal(response.metadata.rateLimitKind, 'quota');
  assert.deepEqual(response.metadata.toolCalls, []);
}

test('calls in flight when Python is killed are errors that say so, and the next call has a new process', async (t) => {
  const gateway = await startGateway(t);
  const recorded = recordedPython();
  const made = provider(t, { gateway: gateway.url, pythonExecutable: recorded.command });
  const calls = [made.callApi('slow 1'), made.callApi('slow 2')];
  await gateway.heard();
  await gateway.heard();
  process.kill(recorded.pids()[0], 'SIGKILL');
  for (const response of await Promise.all(calls)) {
    assertDeath(response);
    assert.match(response.error, /ended with code 137 in the middle of this call/);
  }
  assert.equal((await made.callApi('hello')).output, 'heard: hello');
  assert.equal(recorded.pids().length, 2);
});

test('a call after a SIGTERM to Python alone is held by a new process', async (t) => {
  const gateway = await startGateway(t);
  const recorded = recordedPython();
  const made = provider(t, { gateway: gateway.url, pythonExecutable: recorded.command });
  const slow = made.callApi('slow');
  await gateway.heard();
  process.kill(recorded.pids()[0], 'SIGTERM');
  assert.match((await slow).error, /^\[cancelled\]/);
  assert.equal((await made.callApi('hello')).output, 'heard: hello'); // the old one may still run
  assert.equal(recorded.pids().length, 2);
});

test('calls that an ending Python has not begun are held by a new one, and no other is', async (t) => {
  const record = path.join(folder(), 'record');
  const command = fakePython(`
    const { appendFileSync, existsSync } = require('node:fs');
    const isFirst = !existsSync('${record}');
    appendFileSync('${record}', 'start\\n');
    on.call = ({ id, prompt }) => {
      appendFileSync('${record}', prompt + '\\n');
      if (!isFirst) answer(id, prompt + ' again');
      else if (prompt === 'last') {
        say({ type: 'ending', running: [1, 2] });
        answer(1, 'in time');
        process.exitCode = 143;
        process.stdin.destroy();
      }
    };
    on.end = () => {};
    ready();`);
  const made = provider(t, { pythonExecutable: command });
  const prompts = ['answered', 'begun', 'unread', 'last'];
  const [answered, begun, ...others] = await Promise.all(prompts.map((prompt) => made.callApi(prompt)));
  assert.equal(answered.output, 'in time');
  assertDeath(begun);
  assert.deepEqual(others.map((response) => response.output), ['unread again', 'last again']);
  assert.deepEqual(readFileSync(record, 'utf8').trim().split('\n'), ['start', ...prompts, 'start', 'unread', 'last']);
});

test('a Python that ends before it begins any call is not started for ever', async (t) => {
  const command = fakePython(`
    on.call = () => say({ type: 'ending', running: [] });
    ready();`);
  const response = await provider(t, { pythonExecutable: command }).callApi('hi');
  assert.match(response.error, /^\[internal\] The Python process of lobu-provider was ended before it began this call/);
  assert.equal(response.metadata.error.retryable, true);
});

test('the error of a death holds its last words, without the token', async (t) => {
  const command = fakePython(`
    on.call = () => { console.error('Segmentation fault: any-token'); process.exit(9); };
    ready();`);
  const response = await provider(t, { pythonExecutable: command }).callApi('hi');
  assertDeath(response);
  assert.match(response.error, /ended with code 9 .*Its last words: Segmentation fault: \[hidden\]$/);
});

test('three deaths in a row end the trying with one clear error, and a new provider tries again', async (t) => {
  const command = fakePython(`
    on.call = ({ id, prompt }) => { if (prompt === 'die') process.exit(1); answer(id, prompt); };
    ready();`);
  const made = provider(t, { pythonExecutable: command });
  for (let death = 1; death <= 3; death += 1) assertDeath(await made.callApi('die'));
  const after = await made.callApi('hello');
  assert.match(after.error, /ended 3 times in a row without an answer, so it is not started again\. The last time: /);
  assert.equal(after.metadata.error.retryable, false);
  assert.equal((await provider(t, { pythonExecutable: command }).callApi('hello')).output, 'hello');
});

test('an answer in between makes deaths no longer count', async (t) => {
  const command = fakePython(`
    on.call = ({ id, prompt }) => { if (prompt === 'die') process.exit(1); answer(id, prompt); };
    ready();`);
  const made = provider(t, { pythonExecutable: command });
  for (const prompt of ['die', 'die', 'hello', 'die', 'die', 'hello']) {
    const response = await made.callApi(prompt);
    if (prompt === 'die') assertDeath(response);
    else assert.equal(response.output, 'hello');
  }
});

test('a torn frame ends the process, because answers could go to the wrong call', async (t) => {
  const command = fakePython(`
    on.call = () => process.stdout.write('{"type":"result","id\\n');
    ready();`);
  const response = await provider(t, { pythonExecutable: command }).callApi('hi');
  assert.match(response.error, /^\[internal\] .* sent what is not a message of the protocol/);
});

test('a call that Python cannot read is an error and the others go on', async (t) => {
  const command = fakePython(`
    on.call = ({ id, prompt }) => prompt === 'bad' ? say({ type: 'fault', id, message: 'nested too deep' }) : answer(id, prompt);
    ready();`);
  const made = provider(t, { pythonExecutable: command });
  const [bad, good] = await Promise.all([made.callApi('bad'), made.callApi('good')]);
  assert.match(bad.error, /^\[internal\] The Python side cannot read a call: nested too deep/);
  assert.equal(good.output, 'good');
});

test('a Python that takes no more input holds calls back without losing one', async (t) => {
  // It reads nothing before it is told by a signal, so that the pipe is full for a while.
  const command = fakePython(`
    process.stdin.pause();
    on.call = ({ id, prompt }) => answer(id, String(prompt.length));
    ready();
    process.stderr.write('full\\n');
    setImmediate(() => process.stdin.resume());`);
  const made = provider(t, { pythonExecutable: command });
  const sizes = Array.from({ length: 40 }, (_, index) => index * 10_000);
  const responses = await Promise.all(sizes.map((size) => made.callApi('x'.repeat(size))));
  assert.deepEqual(responses.map((r) => Number(r.output)), sizes);
});

/** Run a program of its own that uses the package. */
function run(t, body, options = {}) {
  const code = `import { LobuProvider } from ${JSON.stringify(entry)};\n${body}`;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    stdio: ['ignore', 'pipe', 'pipe'], ...options,
  });
  t.after(() => child.kill('SIGKILL'));
  return child;
}

async function output(stream) {
  let text = '';
  for await (const chunk of stream) text += chunk;
  return text;
}

test('a program that made one call ends by itself, and Python with it', async (t) => {
  const recorded = recordedPython();
  const config = { agent: 'support-agent', gateway: 'script:demo', pythonExecutable: recorded.command };
  const child = run(t, `
    const provider = new LobuProvider({ config: ${JSON.stringify(config)} });
    console.log((await provider.callApi('How do refunds work?')).output);`);
  const [text, [code]] = await Promise.all([output(child.stdout), once(child, 'exit')]);
  assert.equal(code, 0);
  assert.match(text, /30 days/);
  await recorded.ended();
});

test('when Node is killed, Python deletes its sessions and ends', async (t) => {
  const gateway = await startGateway(t);
  const recorded = recordedPython();
  const config = { agent: 'support-agent', gateway: gateway.url, pythonExecutable: recorded.command };
  const child = run(t, `
    const provider = new LobuProvider({ config: ${JSON.stringify(config)}, env: { LOBU_TOKEN: 'any-token' } });
    await provider.callApi('slow please');`);
  await gateway.heard();
  child.kill('SIGKILL');
  await recorded.ended();
  assert.deepEqual(gateway.deleted, ['session-1']);
});

test('Ctrl-C reaches Node alone: Python is in a process group of its own', async (t) => {
  const gateway = await startGateway(t);
  const recorded = recordedPython();
  const config = { agent: 'support-agent', gateway: gateway.url, pythonExecutable: recorded.command };
  const child = run(t, `
    const abort = new AbortController();
    process.on('SIGINT', () => abort.abort());
    const provider = new LobuProvider({ config: ${JSON.stringify(config)}, env: { LOBU_TOKEN: 'any-token' } });
    const response = await provider.callApi('slow please', {}, { abortSignal: abort.signal });
    console.log(response.metadata.error.code);`, { detached: true });
  await gateway.heard();
  process.kill(-child.pid, 'SIGINT');
  assert.equal(await output(child.stdout), 'cancelled\n');
  await recorded.ended();
  assert.deepEqual(gateway.deleted, ['session-1']);
});

test('no token is on a command line', async (t) => {
  const command = fakePython(`
    on.call = ({ id, options }) => answer(id, JSON.stringify([process.argv, options.config.token]));
    ready();`);
  const made = provider(t, { pythonExecutable: command, token: 'any-other-token' }, {});
  const [argv, token] = JSON.parse((await made.callApi('hi')).output);
  assert.equal(token, 'any-other-token');
  assert.doesNotMatch(argv.join(' '), /token/);
});
