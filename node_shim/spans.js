/**
 * The spans of a conversation, by promptfoo's own tracer in this process: no receiver, no port.
 *
 * The Python side says what to make, and what it means where that is not possible
 * (lobu_provider/promptfoo/tracing.py). The tracer is OpenTelemetry's global one, which promptfoo
 * registers while its tracing is on; this package has no dependency, so it is found by its symbol.
 */

const API = Symbol.for('opentelemetry.js.api.1');

/** Where OpenTelemetry looks in a context for the parent. */
const SPAN_IN_CONTEXT = Symbol.for('OpenTelemetry Context Key SPAN');

/** Where the Python side leaves them in a response; nobody else sees it. */
const KEY = 'lobuSpans';

/** OpenTelemetry's numbers. */
const KINDS = { internal: 0, client: 2 };
const ERROR = 2;

/** The tracer's queue holds 2048 spans and drops the rest without a word. */
const FLUSH_AFTER = 256;

/** Whether there is a tracer that spans can be given to. */
export function takesSpans() {
  return typeof globalThis[API]?.trace?.getTracer === 'function';
}

/**
 * Make the spans that a response brings.
 *
 * @param {Record<string, any>} response as the bridge gave it
 * @returns {Promise<Record<string, any>>} what promptfoo gets: an error if spans that a verdict
 *   needs are lost, else the response with at most a warning more
 */
export async function makeSpans(response) {
  if (response?.[KEY] === undefined) return response;
  const { [KEY]: given, ...row } = response;
  try {
    await make(given);
    return row;
  } catch (error) {
    return lost(row, given.ifLost, error);
  }
}

async function make({ parent, spans }) {
  const { trace } = globalThis[API];
  const tracer = trace.getTracer('lobu-provider');
  const contexts = new Map([[parent.spanId, contextOf({ spanContext: () => ({ ...parent, isRemote: true }) })]]);
  let made = 0;
  for (const span of spans) {
    const { name, attributes } = span;
    const options = { kind: KINDS[span.kind], startTime: span.start, attributes };
    const own = tracer.startSpan(name, options, contexts.get(span.parent));
    if (!own.isRecording() || own.spanContext().traceId !== parent.traceId) {
      throw new Error('it does not record spans of this trace');
    }
    if (span.error !== undefined) own.setStatus({ code: ERROR, message: span.error });
    contexts.set(span.id, contextOf(own));
    own.end(span.end);
    made += 1;
    if (made % FLUSH_AFTER === 0) await flush(trace);
  }
}

/** A context that holds a span and nothing else. */
function contextOf(span) {
  return {
    getValue: (key) => (key === SPAN_IN_CONTEXT ? span : undefined),
    setValue() {
      return this;
    },
    deleteValue() {
      return this;
    },
  };
}

async function flush(trace) {
  const provider = trace.getDelegate?.() ?? trace;
  await provider.forceFlush?.();
}

function lost(row, { needed, message, error: facts }, error) {
  const text = `${message} (${error?.message ?? error})`;
  const metadata = { ...row.metadata };
  if (!needed) {
    metadata.warnings = [...(metadata.warnings ?? []), text];
    return { ...row, metadata };
  }
  // Without rateLimitKind promptfoo may replay the conversation.
  Object.assign(metadata, { error: facts, rateLimitKind: 'quota' });
  return { ...row, error: `[${facts.code}] ${text}`.toWellFormed(), metadata };
}
