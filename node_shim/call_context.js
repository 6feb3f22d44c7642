/** What of promptfoo's context goes over to Python: data only, no functions, loggers or caches. */

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
