/**
 * Which options each check has, and what is wrong with those that a config gives.
 *
 * An option that is not known is a problem, never ignored: a check without it would pass and check
 * less than its author thinks.
 */

import { checkArguments } from './arguments.js';
import { textDoubt } from './lookalikes.js';
import { nameProblem } from './name_problems.js';
import { EXPECTED, isCount, isText, isTexts } from './option_values.js';
import { checkAbsent, checkNames, checkPattern, checkTool } from './tool_options.js';
import { didYouMean, get, has, isMapping, show, sortedKeys } from './values.js';

const TOOL = { tool: 'names', pattern: 'text', flags: 'flags', exactName: 'yes or no' };
const SCOPE = { turn: 'place' };
const GAPS = { allowGaps: 'yes or no' };

/** A step of `toolOrder`. */
const STEP = { ...TOOL, args: 'arguments', argsMode: 'partial|exact', text: 'equal|contains', ignore: 'texts' };

/** Every check with its options and their kinds; a kind with `|` is a choice. */
export const CHECKS = {
  toolCalled: { ...STEP, times: 'count', min: 'count', max: 'count', ...SCOPE, ...GAPS },
  toolNotCalled: { ...STEP, ...SCOPE, ...GAPS },
  toolOrder: {
    tools: 'steps', mode: 'inOrder|exact|anyOrder|subset', exactName: 'yes or no', ...SCOPE, ...GAPS,
  },
  maxToolCalls: { max: 'count', ...TOOL, ...SCOPE, ...GAPS },
  noToolErrors: { ...TOOL, except: 'names', ...SCOPE, ...GAPS },
  completed: { allowHuman: 'yes or no', ...SCOPE },
  maxTurns: { max: 'count' },
  maxLatency: { turnMs: 'amount', firstTextMs: 'amount', totalMs: 'amount', ...SCOPE },
  needsHuman: {
    expected: 'yes or no', kind: 'any|question|approval|link', contains: 'texts', ...SCOPE, ...GAPS,
  },
  retrieved: { contains: 'texts', regex: 'text', flags: 'flags', min: 'count', ...SCOPE },
  turns: { turns: 'turns' },
  maxTokens: { max: 'amount', whenUnknown: 'fail|skip' },
  maxCost: { max: 'amount', whenUnknown: 'fail|skip' },
};

const REQUIRED = {
  toolOrder: 'tools', maxToolCalls: 'max', maxTurns: 'max', turns: 'turns', maxTokens: 'max', maxCost: 'max',
};

/** What is wrong with the options of a check, all of it. */
export function checkOptions(check, config) {
  if (!isMapping(config)) return [`config: expected options, got ${show(config)}`];
  const problems = checkKnown(config, CHECKS[check]);
  const required = REQUIRED[check];
  if (required !== undefined && !has(config, required)) problems.push(`${required} is missing`);
  return [...problems, ...(CROSS[check]?.(config) ?? [])];
}

/** What is wrong with each option by itself. */
function checkKnown(config, kinds, place = '') {
  return sortedKeys(config).flatMap((key) => {
    const kind = get(kinds, key);
    if (kind === undefined) {
      const known = sortedKeys(kinds);
      return [`${place}${key} is no option${didYouMean(key, known)} (options: ${known.join(', ')})`];
    }
    return checkValue(key, kind, config[key]).map((problem) => `${place}${problem}`);
  });
}

function checkValue(key, kind, value) {
  if (kind === 'arguments') {
    if (!isMapping(value)) return [`${key}: expected arguments by name, got ${show(value)}`];
    return checkArguments(value, key);
  }
  if (kind === 'steps' || kind === 'turns') return []; // looked at with the rest, in CROSS and by turn_groups
  const expected = get(EXPECTED, kind);
  if (expected === undefined) {
    const choices = kind.split('|');
    if (choices.includes(value)) return [];
    const hint = typeof value === 'string' ? didYouMean(value, choices) : '';
    return [`${key}: expected ${choices.join(' or ')}, got ${show(value)}${hint}`];
  }
  const [text, fits] = expected;
  return fits(value) ? [] : [`${key}: expected ${text}, got ${show(value)}`];
}

function toolCalled(config) {
  const problems = checkTool(config);
  if (has(config, 'times') && (has(config, 'min') || has(config, 'max'))) {
    problems.push('write times, or min and max');
  }
  const [least, most] = [get(config, 'min', 1), get(config, 'max')];
  if (isCount(least) && isCount(most) && most < least) {
    problems.push(`max ${show(most)} is less than min ${show(least)}; for no call at all: toolNotCalled`);
  }
  if (get(config, 'min') === 0 && !has(config, 'max')) problems.push('min: 0 alone is always true');
  if (get(config, 'times', least) === 0) problems.push(...checkAbsent(config));
  return problems;
}

function toolOrder(config) {
  if (!has(config, 'tools')) return [];
  const steps = config.tools;
  if (!Array.isArray(steps) || steps.length === 0) return [`tools: expected a list of tools, got ${show(steps)}`];
  const exact = get(config, 'exactName') === true;
  return steps.flatMap((step, index) => {
    const place = `tools[${index}].`;
    if (isMapping(step)) {
      const problems = [...checkKnown(step, STEP, place), ...checkTool(step, { place, step: true, exact })];
      if (Array.isArray(get(step, 'tool'))) problems.push(`${place}tool: a step has one name`);
      return problems;
    }
    if (!isText(step)) return [`tools[${index}]: expected a tool's name or a step, got ${show(step)}`];
    const problem = nameProblem(step, 'step', exact);
    return problem === undefined ? [] : [`tools[${index}]: ${problem}`];
  });
}

const toolIfAny = (config) => [...checkTool(config, { required: false }), ...checkNames(config, 'except')];

function latency(config) {
  if (!['turnMs', 'firstTextMs', 'totalMs'].some((key) => has(config, key))) {
    return ['turnMs, firstTextMs or totalMs is missing'];
  }
  if (has(config, 'totalMs') && has(config, 'turn')) {
    return ['totalMs is of the whole conversation: leave turn out, or write turnMs'];
  }
  return [];
}

const ONE_TEXT = 'contains: with expected: false write one text, and an assertion for each: only a card with '
  + 'all of them would fail';

function needsHuman(config) {
  if (has(config, 'allowGaps') && get(config, 'expected', true) === true) {
    return ['allowGaps does something only with expected: false'];
  }
  const texts = get(config, 'contains');
  if (get(config, 'expected') !== false || !isTexts(texts)) return [];
  if (Array.isArray(texts) && texts.length > 1) return [ONE_TEXT];
  const text = Array.isArray(texts) ? texts[0] : texts;
  const doubt = textDoubt(text);
  return doubt === undefined ? [] : [`contains: ${show(text)}: ${doubt}; write a text of the card`];
}

function retrieved(config) {
  const problems = checkPattern(config, 'regex');
  if (get(config, 'min') === 0) problems.push('min: 0 is always true');
  return problems;
}

const CROSS = {
  toolCalled,
  toolNotCalled: (config) => [...checkTool(config), ...checkAbsent(config)],
  toolOrder,
  maxToolCalls: toolIfAny,
  noToolErrors: toolIfAny,
  maxLatency: latency,
  needsHuman,
  retrieved,
};
