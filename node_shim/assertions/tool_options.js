/** What is wrong with the options that say which calls are meant: names, patterns, arguments. */

import { argumentDoubts, emptyTexts } from './lookalikes.js';
import { nameProblem, toolPatternProblem } from './name_problems.js';
import { isText, isTexts } from './option_values.js';
import { patternProblems } from './patterns.js';
import { get, has, isMapping, same } from './values.js';

/**
 * What is wrong with the options that name a tool and its arguments together.
 *
 * @param config the options
 * @param {object} how `place` stands before their names in a message; `required` is whether a tool has
 *   to be named; `step`, whether they are a step of `toolOrder`; `exact`, `exactName` where the
 *   options do not have it
 * @returns {string[]}
 */
export function checkTool(config, { place = '', required = true, step = false, exact = false } = {}) {
  const problems = [];
  if (has(config, 'tool') && has(config, 'pattern')) problems.push(`${place}write tool or pattern, not both`);
  if (required && !(has(config, 'tool') || has(config, 'pattern'))) {
    problems.push(`${place}tool or pattern is missing`);
  }
  problems.push(...checkNames(config, 'tool', { place, step, exact }));
  const inPattern = checkPattern(config, 'pattern', place);
  if (inPattern.length === 0 && isText(get(config, 'pattern'))) {
    const problem = toolPatternProblem(config.pattern);
    if (problem !== undefined) inPattern.push(`${place}pattern: ${problem}`);
  }
  problems.push(...inPattern);
  if (!has(config, 'args')) {
    for (const key of ['argsMode', 'text', 'ignore']) {
      if (has(config, key)) problems.push(`${place}${key} does nothing without args`);
    }
  } else if (same(config.args, {}) && get(config, 'argsMode') !== 'exact') {
    problems.push(`${place}args is empty: leave it out, or set argsMode: exact`);
  } else if (get(config, 'text') === 'contains') problems.push(...emptyTexts(config.args, `${place}args`));
  if (has(config, 'exactName') && has(config, 'pattern') && !has(config, 'except')) {
    problems.push(`${place}exactName does nothing with pattern`);
  }
  return problems;
}

/** Which names under a key are none. */
export function checkNames(config, key, { place = '', step = false, exact = false } = {}) {
  const names = get(config, key);
  if (!isTexts(names)) return []; // told already
  let kind = step ? 'step' : 'tool';
  if (key === 'except') kind = 'except';
  else if (kind === 'tool' && Array.isArray(names) && names.length > 1) kind = 'item';
  const isExact = get(config, 'exactName', exact) === true;
  const placed = typeof names === 'string'
    ? [[`${place}${key}`, names]]
    : names.map((name, index) => [`${place}${key}[${index}]`, name]);
  return placed
    .map(([at, name]) => [at, nameProblem(name, kind, isExact)])
    .filter(([, problem]) => problem !== undefined)
    .map(([at, problem]) => `${at}: ${problem}`);
}

/** Which arguments are probably those of no call, where no call is to have them. */
export function checkAbsent(config) {
  const args = get(config, 'args');
  if (!isMapping(args) || Object.keys(args).length === 0) return [];
  return argumentDoubts(args, 'args', get(config, 'text') !== 'equal');
}

/** What is wrong with a pattern and its flags. */
export function checkPattern(config, key, place = '') {
  if (!has(config, key)) return has(config, 'flags') ? [`${place}flags does nothing without ${key}`] : [];
  if (!isText(config[key]) || !['', 'i'].includes(get(config, 'flags', ''))) return []; // told already
  return patternProblems(config[key], get(config, 'flags', '')).map((problem) => `${place}${key}: ${problem}`);
}
