/** What of a call goes over to Python: data only, no functions, loggers or caches. */

import { Failure } from './failures.js';

const KEYS = [
  'vars', 'prompt', 'test', 'repeatIndex', 'evaluationId', 'traceparent', 'testCaseId', 'testIdx',
];

/**
 * @param {unknown} context
 * @returns {Record<string, unknown> | null}
 */
export function callContext(context) {
  if (context === null || typeof context !== 'object') return null;
  const picked = {};
  for (const key of KEYS) {
    const value = data(context[key]);
    if (value !== undefined) picked[key] = value;
  }
  return picked;
}

function data(value) {
  if (value === null || typeof value !== 'object') return plain(value);
  try {
    JSON.stringify(value);
    return value;
  } catch {
    return copy(value, []); // it holds itself, a bigint, or a getter that throws
  }
}

/** A copy of what JSON can say; what holds itself is left out where it comes again. */
function copy(value, parents) {
  if (value === null || typeof value !== 'object') return plain(value);
  if (parents.includes(value)) return undefined;
  const inside = [...parents, value];
  if (Array.isArray(value)) return value.map((item) => copy(item, inside) ?? null);
  const result = {};
  for (const key of Object.keys(value)) {
    try {
      result[key] = copy(value[key], inside);
    } catch {
      // a getter that throws, or deeper than the stack
    }
  }
  return result;
}

function plain(value) {
  if (typeof value === 'bigint') return value.toString();
  return typeof value === 'function' || typeof value === 'symbol' ? undefined : value;
}

/**
 * @param {{ id?: unknown, config: Record<string, unknown>, env: Record<string, unknown> }} options
 * @returns the same; throws a Failure that names the key of a value that JSON cannot say
 */
export function callOptions(options) {
  for (const block of ['config', 'env']) {
    const keys = options[block] !== null && typeof options[block] === 'object' ? Object.keys(options[block]) : [];
    for (const key of keys) refuseWhatIsNoJson(`${block}.${key}`, () => options[block][key]);
  }
  refuseWhatIsNoJson('id', () => options.id);
  return options;
}

/** @param {unknown} prompt @returns {string} */
export function callPrompt(prompt) {
  if (typeof prompt === 'string') return prompt;
  return refuseWhatIsNoJson('prompt', () => prompt) ?? '';
}

/** @param {unknown} signal @returns {AbortSignal | undefined} nothing for what is no signal */
export function callSignal(signal) {
  if (typeof signal?.addEventListener === 'function') return signal;
  return signal?.aborted === true ? AbortSignal.abort() : undefined;
}

function refuseWhatIsNoJson(name, read) {
  try {
    return JSON.stringify(read());
  } catch { // not in the error's words: they may hold a value
    throw new Failure('config', `${name}: expected what JSON can say; got a value that it cannot: a BigInt, an object that holds itself, or one that cannot be read.`);
  }
}
