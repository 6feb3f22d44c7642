/** Whether a tool call has the arguments that a config wants, and where it differs. */

import { compilePattern, patternProblems } from './patterns.js';
import {
  contains, didYouMean, get, has, isMapping, isNumber, jsonText, same, show, sortedKeys,
} from './values.js';

const OPERATORS = ['$any', '$contains', '$flags', '$regex'];

const isOperator = (key) => key.startsWith('$');

/**
 * How arguments are compared.
 *
 * @param {boolean} exact whether keys beside the wanted ones are a difference
 * @param {boolean} textContains whether a text need only contain the wanted one, ignoring case
 * @param {string[]} ignore keys at any depth, and paths such as `order.id` and `items[].id`, that do
 *   not count
 * @param {boolean} anyKind whether a number or boolean and the text of it are the same
 */
export function argumentRules(exact, textContains, ignore, anyKind = false) {
  const ignores = (path) => {
    const general = path.replace(/\[[0-9]+\]/g, '[]');
    const last = general.slice(general.lastIndexOf('.') + 1);
    return ignore.some((one) => [path, general, last].includes(one));
  };
  return { exact, textContains, ignores, anyKind };
}

/** What is wrong with wanted arguments. */
export function checkArguments(wanted, place = 'args') {
  if (Array.isArray(wanted)) return wanted.flatMap((item, index) => checkArguments(item, `${place}[${index}]`));
  if (!isMapping(wanted)) return [];
  const operators = sortedKeys(wanted).filter(isOperator);
  if (operators.length > 0) return checkOperators(wanted, operators, place);
  return sortedKeys(wanted).flatMap((key) => checkArguments(wanted[key], `${place}.${key}`));
}

function checkOperators(wanted, operators, place) {
  for (const key of operators) {
    if (!OPERATORS.includes(key)) {
      return [`${place}: ${show(key)} is none of ${OPERATORS.join(', ')}${didYouMean(key, OPERATORS)}`];
    }
  }
  const kinds = operators.filter((key) => key !== '$flags');
  const flagsAlone = operators.includes('$flags') && !same(kinds, ['$regex']);
  if (kinds.length !== 1 || operators.length !== Object.keys(wanted).length || flagsAlone) {
    return [`${place}: write one of $any, $contains and $regex alone, $regex also with $flags`];
  }
  const [kind] = kinds;
  const value = wanted[kind];
  if (kind === '$any') return value === true ? [] : [`${place}.$any: expected true, got ${show(value)}`];
  if (typeof value !== 'string' || !value) return [`${place}.${kind}: expected a text, got ${show(value)}${dateHint(value)}`];
  const flags = get(wanted, '$flags', '');
  if (!['', 'i'].includes(flags)) return [`${place}.$flags: expected "i", got ${show(flags)}`];
  if (kind === '$regex') {
    return patternProblems(value, flags).map((problem) => `${place}.$regex: ${problem}`);
  }
  return [];
}

/**
 * Where `actual` differs from `wanted`; nothing when it fits.
 *
 * @param wanted checked by `checkArguments`
 * @param actual what was sent
 * @param rules how they are compared
 * @param {string} path where both stand in the whole
 * @returns {string[]}
 */
export function differences(wanted, actual, rules, path = '') {
  if (path && rules.ignores(path)) return [];
  if (Array.isArray(wanted)) return ofLists(wanted, actual, rules, path);
  if (isMapping(wanted)) {
    if (Object.keys(wanted).some(isOperator)) return byOperator(wanted, actual, rules, path);
    return ofObjects(wanted, actual, rules, path);
  }
  if (rules.textContains && typeof wanted === 'string') {
    const fits = holds(actual, wanted, rules);
    return fits ? [] : [differs(path, `a text with ${show(wanted)}`, actual)];
  }
  const fits = same(wanted, actual) || (rules.anyKind && writtenAlike(wanted, actual));
  return fits ? [] : [differs(path, show(wanted), actual)];
}

function writtenAlike(wanted, actual) {
  const text = asText(wanted);
  return text !== undefined && text === asText(actual);
}

function holds(actual, wanted, rules) {
  const text = rules.anyKind ? asText(actual) : actual;
  return typeof text === 'string' && contains(text, wanted);
}

function ofObjects(wanted, actual, rules, path) {
  if (!isMapping(actual)) {
    return [differs(path, show(wanted) + dateHint(wanted), actual)];
  }
  const found = [];
  for (const key of sortedKeys(wanted)) {
    const at = join(path, key);
    if (has(actual, key)) found.push(...differences(wanted[key], actual[key], rules, at));
    else if (!rules.ignores(at)) {
      found.push(`${at}: expected ${showWanted(wanted[key])}${dateHint(wanted[key])}, but it is missing`);
    }
  }
  if (rules.exact) {
    for (const key of sortedKeys(actual)) {
      const at = join(path, key);
      if (!has(wanted, key) && !rules.ignores(at)) found.push(`${at}: ${show(actual[key])} was not expected`);
    }
  }
  return found;
}

function ofLists(wanted, actual, rules, path) {
  if (!Array.isArray(actual) || actual.length !== wanted.length) return [differs(path, show(wanted), actual)];
  return wanted.flatMap((one, index) => differences(one, actual[index], rules, `${path}[${index}]`));
}

function byOperator(wanted, actual, rules, path) {
  if (has(wanted, '$any')) return [];
  let fits;
  if (has(wanted, '$contains')) fits = holds(actual, wanted.$contains, rules);
  else {
    const text = asText(actual);
    fits = text !== undefined && compilePattern(wanted.$regex, get(wanted, '$flags', '')).foundIn(text);
  }
  return fits ? [] : [differs(path, showWanted(wanted), actual)];
}

function dateHint(wanted) {
  const empty = isMapping(wanted) && Object.keys(wanted).length === 0;
  return empty ? ' (YAML: a date without quotes arrives as {}; put it in quotes)' : '';
}

/** What a pattern is searched in: texts, numbers and booleans. */
function asText(value) {
  if (typeof value === 'string') return value;
  return isNumber(value) || typeof value === 'boolean' ? jsonText(value) : undefined;
}

function showWanted(wanted) {
  if (isMapping(wanted)) {
    if (has(wanted, '$any')) return 'any value';
    if (has(wanted, '$contains')) return `a text with ${show(wanted.$contains)}`;
    if (has(wanted, '$regex')) return `a match of /${wanted.$regex}/${get(wanted, '$flags', '')}`;
  }
  return show(wanted);
}

const differs = (path, wanted, actual) => `${path || 'the input'}: expected ${wanted}, got ${show(actual)}`;

const join = (path, key) => (path ? `${path}.${key}` : key);
