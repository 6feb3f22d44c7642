/** What the tests share: interpreters that do as told, and a gateway that tells what it got. */

import { once } from 'node:events';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, watch, writeFileSync } from 'node:fs';
import http from 'node:http';
import os from 'node:os';
import path from 'node:path';
import { fileURLToPath } from 'node:url';

export const here = path.dirname(fileURLToPath(import.meta.url));
export const entry = path.join(here, '..', 'index.js');

/** The Python that has lobu-provider. */
export const python = process.env.LOBU_TEST_PYTHON ?? path.join(here, '..', '..', '.venv', 'bin', 'python');
if (!existsSync(python)) throw new Error(`There is no ${python}: set LOBU_TEST_PYTHON.`);

// Nothing of the caller's shell decides what the tests find.
for (const name of Object.keys(process.env)) {
  if (/^(LOBU_(?!TEST_)|PROMPTFOO_)|^VIRTUAL_ENV$|^CI$/.test(name)) delete process.env[name];
}

process.env.LOBU_LEDGER_DIR = 'off';

/** A new folder; it goes away with this process, as the programs in it may outlive their test. */
export function folder() {
  const made = mkdtempSync(path.join(os.tmpdir(), 'lobu-shim-'));
  process.on('exit', () => rmSync(made, { recursive: true, force: true }));
  return made;
}

/** A program in a folder of its own, called `python`. */
export function program(text) {
  const file = path.join(folder(), 'python');
  writeFileSync(file, text);
  chmodSync(file, 0o755);
  return file;
}

/**
 * The real Python, with a record of its processes.
 *
 * @returns `{ command, pids(), ended() }`; `ended()` waits until one of them is gone
 */
export function recordedPython() {
  const records = folder();
  const [pids, ended] = [path.join(records, 'pids'), path.join(records, 'ended')];
  const command = program(`#!/bin/sh
exec 3<&0
"${python}" "$@" <&3 3<&- &
echo $! >>"${pids}"
wait $!
code=$?
echo $code >"${ended}"
exit $code
`);
  return {
    command,
    pids: () => (existsSync(pids) ? readFileSync(pids, 'utf8').trim().split('\n').map(Number) : []),
    ended: () => appears(ended),
  };
}

async function appears(file) {
  const watcher = watch(path.dirname(file));
  try {
    while (!existsSync(file)) await once(watcher, 'change');
  } finally {
    watcher.close();
  }
}

/** A Python that is a Node script; `say(message)` writes a line, `on.call` and `on.cancel` may be set. */
export function fakePython(body) {
  return program(`#!${process.execPath}
const say = (message) => process.stdout.write(JSON.stringify(message) + '\\n');
const ready = (more) => say({ type: 'ready', protocol: 1, version: '0.1.0', python: '3.12.0', pid: process.pid, ...more });
const on = { call() {}, cancel() {}, end() { process.exit(0); } };
const answer = (id, output) => say({ type: 'result', id, response: { output, metadata: {} } });
require('readline').createInterface({ input: process.stdin })
  .on('line', (line) => { const message = JSON.parse(line); on[message.type](message); })
  .on('close', () => on.end());
${body}
`);
}

/**
 * A gateway that hears every message: it repeats it, unless the message has "slow" in it.
 *
 * @returns `{ url, sessions, deleted, heard() }`; `heard()` waits for the next message
 */
export async function startGateway(t) {
  const sessions = new Map();
  const deleted = [];
  const waiting = [];
  const heard = [];
  let count = 0;
  const server = http.createServer(async (request, response) => {
    const [id, tail] = request.url.replace('/lobu/api/v1/agents', '').split('/').slice(1);
    let body = '';
    for await (const chunk of request) body += chunk;
    const json = (status, value) => {
      response.writeHead(status, { 'content-type': 'application/json' });
      response.end(JSON.stringify(value));
    };
    if (request.method === 'POST' && id === undefined) {
      const made = `session-${(count += 1)}`;
      sessions.set(made, undefined);
      json(201, { success: true, agentId: made, token: 'session-token' });
    } else if (request.method === 'DELETE') {
      sessions.get(id)?.end();
      sessions.delete(id);
      deleted.push(id);
      json(200, { success: true });
    } else if (tail === 'events') {
      sessions.set(id, response);
      response.writeHead(200, { 'content-type': 'text/event-stream' });
      response.write(`event: connected\ndata: ${JSON.stringify({ agentId: id, timestamp: Date.now() })}\n\n`);
    } else {
      const { content, messageId } = JSON.parse(body);
      json(200, { success: true, messageId, jobId: 'job', queued: true });
      if (!content.includes('slow')) {
        const send = (name, data) => sessions.get(id)?.write(`event: ${name}\ndata: ${JSON.stringify({ messageId, timestamp: Date.now(), ...data })}\n\n`);
        send('output', { type: 'delta', content: `heard: ${content}` });
        send('complete', { processedMessageIds: [messageId] });
      }
      const next = waiting.shift();
      if (next) next();
      else heard.push(content);
    }
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  t.after(() => {
    server.closeAllConnections();
    server.close();
  });
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    sessions,
    deleted,
    heard: () => (heard.length > 0 ? Promise.resolve(heard.shift()) : new Promise((done) => waiting.push(done))),
  };
}
