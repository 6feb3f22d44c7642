/**
 * Options of ours that stand beside `config`, where promptfoo ignores them.
 *
 * YAML that is indented one level too little makes `args` a key of the assertion. The check never
 * sees it, and would pass without what its author wrote.
 */

import { CHECKS } from './options.js';
import { bareWord, distance, get, has, isMapping, plain, same, sortedKeys } from './values.js';

/** What promptfoo (0.121 and 0.123) reads of an assertion or a set of them. */
const PROMPTFOO_KEYS = [
  'assert', 'config', 'contextTransform', 'metric', 'provider', 'rubricPrompt', 'threshold', 'transform', 'type',
  'value', 'weight',
];

/** Words that people write for `config`, as `bareWord` has them. */
const FOR_CONFIG = [
  'argument', 'arguments', 'cfg', 'conf', 'config', 'configs', 'configuration', 'option', 'options', 'opts', 'param',
  'parameter', 'parameters', 'params', 'setting', 'settings',
];

const OPTIONS = Object.fromEntries(
  Object.values(CHECKS).flatMap(Object.keys).map((option) => [bareWord(option), option]),
);

/** Types that run the file or package of their `value`; promptfoo goes by its ending. */
const SCRIPTS = ['python', 'javascript', 'ruby'];

/** `_times` and `$note` are notes: people switch a key off like that. */
const STARTS_AS_KEY = /^[A-Za-z]/;

/**
 * Those of a test's assertions that may be the one that is judged.
 *
 * promptfoo does not tell which one it is: they are those of the check with the same options.
 *
 * @param {string} check its name
 * @param config the options, as promptfoo hands them over
 * @param given the `assert` of the test
 */
export function ownAssertions(check, config, given) {
  if (!Array.isArray(given)) return [];
  return given.filter(isMapping).flatMap((item) => [
    ...(checkOf(item) === check && same(plain(get(item, 'config') ?? {}), config) ? [item] : []),
    ...ownAssertions(check, config, get(item, 'assert')),
  ]);
}

/** The check that an assertion names after its file or package, if it is one of ours. */
function checkOf(assertion) {
  const [kind, value] = [get(assertion, 'type'), get(assertion, 'value')];
  if (typeof kind !== 'string' || !SCRIPTS.includes(kind.replace(/^not-/, ''))) return undefined;
  if (typeof value !== 'string' || !value.includes(':')) return undefined;
  const name = value.slice(value.lastIndexOf(':') + 1);
  return has(CHECKS, name) ? name : undefined;
}

/** Which keys of an assertion were meant to stand under its `config`. */
export function misplaced(check, assertion) {
  return sortedKeys(assertion)
    .filter((key) => !PROMPTFOO_KEYS.includes(key) && STARTS_AS_KEY.test(key) && assertion[key] !== undefined)
    .map((key) => problemOf(check, key, assertion[key]))
    .filter((problem) => problem !== undefined);
}

function problemOf(check, key, value) {
  const word = bareWord(key);
  const place = `${key} stands beside type and value, where promptfoo ignores it`;
  const option = get(OPTIONS, word);
  if (option === undefined) {
    const holds = isMapping(value) && Object.keys(value).length > 0;
    return holds && isForConfig(word) ? `${place}: move what it holds under config` : undefined;
  }
  if (!has(CHECKS[check], option)) {
    return `${place}, and ${check} has no such option (under config: ${sortedKeys(CHECKS[check]).join(', ')})`;
  }
  return `${place}: move it under config${key === option ? '' : `, as ${option}`}`;
}

const isForConfig = (word) => FOR_CONFIG.includes(word) || distance(word, 'config') <= 2;
