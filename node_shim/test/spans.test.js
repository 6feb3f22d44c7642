import assert from 'node:assert/strict';
import http from 'node:http';
import test from 'node:test';

import { LobuProvider } from '../index.js';
import { makeSpans, takesSpans } from '../spans.js';
import { fakePython, python } from './helpers.js';

const API = Symbol.for('opentelemetry.js.api.1');
const IN_CONTEXT = Symbol.for('OpenTelemetry Context Key SPAN');
const TRACE = '0af7651916cd43dd8448eb211c80319c';
const PARENT = { traceId: TRACE, spanId: 'b7ad6b7169203331', traceFlags: 1 };

/** A global tracer that keeps what it is given, as OpenTelemetry's SDK would. */
function stubTracer(t, { recording = true, traceId = TRACE } = {}) {
  const made = [];
  let flushes = 0;
  const tracer = {
    startSpan(name, options, context) {
      const span = {
        name,
        ...options,
        parent: context.getValue(IN_CONTEXT).spanContext(),
        spanContext: () => ({ traceId, spanId: `span-${made.indexOf(span)}`, traceFlags: 1 }),
        isRecording: () => recording,
        setStatus(status) {
          span.status = status;
        },
        end(time) {
          span.endTime = time;
        },
      };
      made.push(span);
      return span;
    },
  };
  const provider = { getTracer: () => tracer, getDelegate: () => ({ forceFlush: async () => { flushes += 1; } }) };
  globalThis[API] = { trace: provider };
  t.after(() => delete globalThis[API]);
  return { made, flushes: () => flushes };
}

const span = (id, parent, more) => ({
  id, parent, name: `name ${id}`, kind: 'internal', start: [1790000000, 1000], end: [1790000001, 0], attributes: {}, ...more,
});

const response = (spans, needed = true) => ({
  output: 'fine',
  metadata: { warnings: [] },
  lobuSpans: {
    parent: PARENT,
    spans,
    ifLost: { needed, message: 'They were lost.', error: { code: 'config', class: 'config', phase: 'turn', retryable: false } },
  },
});

test('spans are made under the parent that promptfoo named, with their own times', async (t) => {
  const { made } = stubTracer(t);
  const row = await makeSpans(response([
    span('a', PARENT.spanId, { kind: 'client' }),
    span('b', 'a', { attributes: { 'gen_ai.tool.name': 'x' }, error: 'no' }),
  ]));
  assert.deepEqual(row, { output: 'fine', metadata: { warnings: [] } });
  const [a, b] = made;
  assert.deepEqual(a.parent, { ...PARENT, isRemote: true });
  assert.equal(b.parent.spanId, 'span-0');
  assert.deepEqual([a.kind, b.kind], [2, 0]);
  assert.deepEqual([a.startTime, a.endTime], [[1790000000, 1000], [1790000001, 0]]);
  assert.deepEqual(b.attributes, { 'gen_ai.tool.name': 'x' });
  assert.deepEqual([a.status, b.status], [undefined, { code: 2, message: 'no' }]);
});

test('a response without spans is left alone', async (t) => {
  stubTracer(t);
  const row = { output: 'fine' };
  assert.equal(await makeSpans(row), row);
});

test('a tracer that does not record is an error where a verdict needs the spans', async (t) => {
  for (const kind of [{ recording: false }, { traceId: 'f'.repeat(32) }]) {
    stubTracer(t, kind);
    const row = await makeSpans(response([span('a', PARENT.spanId)]));
    assert.match(row.error, /^\[config\] They were lost\. \(it does not record/);
    assert.equal(row.output, 'fine');
    assert.deepEqual(row.metadata.error, { code: 'config', class: 'config', phase: 'turn', retryable: false });
    assert.equal(row.metadata.rateLimitKind, 'quota');
    assert.equal('lobuSpans' in row, false);
  }
});

test('lost spans are one warning where no verdict needs them', async (t) => {
  stubTracer(t, { recording: false });
  const row = await makeSpans(response([span('a', PARENT.spanId)], false));
  assert.equal(row.error, undefined);
  assert.equal(row.metadata.warnings.length, 1);
});

test('a tracer that is gone by then is a loss like any other', async () => {
  const row = await makeSpans(response([span('a', PARENT.spanId)]));
  assert.match(row.error, /They were lost/);
});

test('many spans are flushed in between, as the queue of the tracer is short', async (t) => {
  const { made, flushes } = stubTracer(t);
  await makeSpans(response(Array.from({ length: 600 }, (_, index) => span(`s${index}`, PARENT.spanId))));
  assert.equal(made.length, 600);
  assert.equal(flushes(), 2);
});

test('Python is told to leave the spans to us only while there is a tracer', async (t) => {
  const command = fakePython(`
    on.call = ({ id, spans }) => say({ type: 'result', id, response: { output: String(spans) } });
    ready();`);
  const made = new LobuProvider({ config: { agent: 'a', pythonExecutable: command } });
  t.after(() => made.cleanup());
  assert.equal(takesSpans(), false);
  assert.equal((await made.callApi('hi')).output, 'undefined');
  stubTracer(t);
  assert.equal(takesSpans(), true);
  assert.equal((await made.callApi('hi')).output, 'true');
});

test('a real conversation becomes spans of its turn and its tool call', async (t) => {
  const { made } = stubTracer(t);
  const provider = new LobuProvider({ config: { agent: 'support-agent', gateway: 'script:demo', pythonExecutable: python } });
  t.after(() => provider.cleanup());
  const row = await provider.callApi('How do refunds work?', {
    traceparent: `00-${TRACE}-${PARENT.spanId}-01`,
    test: { assert: [{ type: 'trajectory:tool-used', value: 'search_memory' }] },
  });
  assert.equal(row.error, undefined);
  assert.equal('lobuSpans' in row, false);
  assert.deepEqual(made.map(({ name }) => name), ['invoke_agent support-agent', 'turn 1', 'execute_tool search_memory']);
  assert.equal(made[2].attributes['gen_ai.tool.name'], 'search_memory');
  assert.equal(JSON.parse(made[2].attributes['gen_ai.tool.call.arguments']).query.length > 0, true);
});

test('a second receiver gets the spans that the tracer gets, over a socket', async (t) => {
  const { made } = stubTracer(t);
  const posts = [];
  const server = http.createServer(async (request, reply) => {
    const parts = await request.toArray();
    posts.push({ key: request.headers['x-api-key'], body: JSON.parse(Buffer.concat(parts)) });
    reply.end('{}');
  });
  await new Promise((ready) => { server.listen(0, '127.0.0.1', ready); });
  t.after(() => server.close());
  const provider = new LobuProvider({
    config: {
      agent: 'support-agent',
      gateway: 'script:demo',
      pythonExecutable: python,
      otlpBackend: `http://127.0.0.1:${server.address().port}`,
      otlpBackendHeaders: { 'x-api-key': { env: 'BACKEND_KEY' } },
    },
    env: { BACKEND_KEY: 'sk_0123456789abcdef' },
  });
  t.after(() => provider.cleanup());
  const row = await provider.callApi('How do refunds work?', { traceparent: `00-${TRACE}-${PARENT.spanId}-01` });
  assert.equal(row.error, undefined);
  assert.deepEqual(row.metadata.warnings, []);
  const [{ key, body }] = posts;
  assert.equal(key, 'sk_0123456789abcdef');
  const { spans } = body.resourceSpans[0].scopeSpans[0];
  assert.deepEqual(spans.map(({ name }) => name), made.map(({ name }) => name));
  assert.equal(JSON.stringify(provider).includes('BACKEND_KEY'), false);
});

test('without a tracer Python posts the spans, and says when nobody takes them', async (t) => {
  const config = {
    agent: 'support-agent', gateway: 'script:demo', pythonExecutable: python, otlpEndpoint: 'http://127.0.0.1:9/v1/traces',
  };
  const provider = new LobuProvider({ config });
  t.after(() => provider.cleanup());
  const row = await provider.callApi('How do refunds work?', {
    traceparent: `00-${TRACE}-${PARENT.spanId}-01`,
    test: { assert: [{ type: 'not-trajectory:tool-used', value: 'x' }] },
  });
  assert.match(row.error, /^\[config\] The spans of this conversation were not delivered/);
});
