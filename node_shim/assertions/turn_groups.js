/** The check `turns`: groups of checks, each about one turn, shown one by one in the results. */

import { isCut, NoEvidence, ofTurn } from './evidence.js';
import { textDoubt } from './lookalikes.js';
import { isWeight, MAX_COUNT } from './option_values.js';
import { checkOptions, CHECKS } from './options.js';
import { failed, gaps, grading, outcome } from './outcome.js';
import { compilePattern, patternProblems } from './patterns.js';
import { contains, didYouMean, get, has, isMapping, jsonText, show, sortedKeys } from './values.js';

const TEXT_CHECKS = ['contains', 'equals', 'icontains', 'not-contains', 'not-icontains', 'not-regex', 'regex'];
const TOOL_CHECKS = Object.keys(CHECKS).filter(
  (name) => !['turns', 'maxTurns', 'maxTokens', 'maxCost'].includes(name),
);
const KEYS = ['allowGaps', 'config', 'metric', 'type', 'value', 'weight'];
const CUT_ANSWER = 'the answer was cut to keep the row small (raise maxMetadataKb), so this cannot be said '
  + '(allowGaps: true accepts that)';

/** What is wrong with the option `turns`. */
export function checkGroups(groups) {
  if (!isMapping(groups) || Object.keys(groups).length === 0) {
    return [`turns: expected a list of checks for each turn's number, got ${show(groups)}`];
  }
  return sortedKeys(groups).flatMap((number) => {
    const place = `turns.${number}`;
    const items = groups[number];
    if (!/^[1-9][0-9]{0,5}$/.test(number)) return [`${place}: expected a turn's number, counted from 1`];
    if (!Array.isArray(items) || items.length === 0) return [`${place}: expected a list of checks, got ${show(items)}`];
    return items.flatMap((item, index) => checkItem(item).map((text) => `${place}[${index}]: ${text}`));
  });
}

function checkItem(item) {
  if (!isMapping(item)) return [`expected a check with a type, got ${show(item)}`];
  const kind = get(item, 'type', null);
  const types = [...TEXT_CHECKS, ...TOOL_CHECKS];
  const problems = sortedKeys(item)
    .filter((key) => !KEYS.includes(key))
    .map((key) => `${key} is no key${didYouMean(key, KEYS)} (keys: ${KEYS.join(', ')})`);
  const weight = get(item, 'weight', 1);
  if (!isWeight(weight)) {
    problems.push(`weight: expected a number above 0, at most ${MAX_COUNT}, got ${show(weight)}`);
  }
  const metric = get(item, 'metric', 'a');
  if (typeof metric !== 'string' || !metric) problems.push(`metric: expected a text, got ${show(metric)}`);
  if (TEXT_CHECKS.includes(kind)) return [...problems, ...checkTextItem(kind, item)];
  if (TOOL_CHECKS.includes(kind)) return [...problems, ...checkToolItem(kind, item)];
  const hint = typeof kind === 'string' ? didYouMean(kind, types) : '';
  return [...problems, `type: expected one of ${types.join(', ')}, got ${show(kind)}${hint}`];
}

function checkTextItem(kind, item) {
  const problems = has(item, 'config') ? ['config does nothing here; write value'] : [];
  const value = get(item, 'value', null);
  if (typeof value !== 'string' || !(value || kind === 'equals')) {
    problems.push(`value: expected a text, got ${show(value)}`);
  } else if (kind.endsWith('regex')) {
    problems.push(...patternProblems(value).map((problem) => `value: ${problem}`));
  } else if (kind.startsWith('not-') && textDoubt(value) !== undefined) {
    problems.push(
      `value: ${show(value)}: ${textDoubt(value)}; write not-regex (for the text itself too, with a `
      + 'backslash before its punctuation)',
    );
  }
  if (typeof get(item, 'allowGaps', false) !== 'boolean') {
    problems.push(`allowGaps: expected true or false, got ${show(item.allowGaps)}`);
  }
  return problems;
}

function checkToolItem(kind, item) {
  const config = get(item, 'config', {});
  const problems = ['allowGaps', 'value']
    .filter((key) => has(item, key))
    .map((key) => `${key} does nothing here; write config`);
  if (isMapping(config) && has(config, 'turn')) problems.push("config.turn: the group's number is the turn");
  return [...problems, ...checkOptions(kind, config).map((text) => `config: ${text}`)];
}

/** The grading result of checked groups, with one part for each check. */
export function judgeGroups(groups, evidence, run) {
  const numbers = Object.keys(groups).map(Number).sort((first, second) => first - second);
  const results = numbers.flatMap((turn) => groups[turn].map((item) => (
    { turn, item, grading: judgeItem(turn, item, evidence, run), weight: get(item, 'weight', 1) }
  )));
  const wrong = results.filter((one) => !one.grading.pass).map((one) => one.grading.reason);
  const all = results.length;
  return {
    pass: wrong.length === 0,
    score: scoreOf(results),
    reason: wrong.length > 0
      ? `turns failed: ${wrong.length} of ${all} checks failed\n${wrong.join('\n')}`
      : `turns: all of ${all} checks passed`,
    ...namedScores(results),
    componentResults: results.map((one) => ({ ...one.grading, assertion: assertionOf(one.item) })),
  };
}

function judgeItem(number, item, evidence, run) {
  const kind = item.type;
  let turn;
  try {
    turn = { ...ofTurn(evidence, number), where: '' }; // the title says it
  } catch (error) {
    if (!(error instanceof NoEvidence)) throw error;
    return failed(`turn ${number}: ${kind} failed: ${error.message}`);
  }
  if (TOOL_CHECKS.includes(kind)) {
    return grading(`turn ${number}: ${kind}`, run(kind, get(item, 'config', {}), turn));
  }
  const shown = kind.endsWith('regex') ? `/${item.value}/` : show(item.value);
  return grading(`turn ${number}: ${kind} ${shown}`, judgeText(kind, item, turn));
}

function judgeText(kind, item, evidence) {
  const { output } = evidence.turns[0];
  const negative = kind.startsWith('not-');
  const found = isFound(kind.replace(/^not-/, ''), output, item.value);
  const answered = `the answer was ${show(output)}`;
  const sure = found && ['contains', 'icontains'].includes(kind);
  const shortened = evidence.cut.has('turns[].output') && isCut(output);
  if (shortened && !sure && !get(item, 'allowGaps', false)) return outcome('', [CUT_ANSWER]);
  if (found === negative) return outcome('', [answered]);
  return outcome(answered, negative ? gaps(evidence, item, 'words') : []);
}

function isFound(kind, output, value) {
  if (kind === 'contains') return output.includes(value);
  if (kind === 'icontains') return contains(output, value);
  return kind === 'equals' ? value === output : compilePattern(value).foundIn(output);
}

const weightOf = (results) => results.reduce((sum, one) => sum + one.weight, 0);

/** The part of the weights that passed. */
const scoreOf = (results) => weightOf(results.filter((one) => one.grading.pass)) / weightOf(results);

/** A score and its weight for each turn and each metric. */
function namedScores(results) {
  const named = new Map();
  const add = (name, one) => named.set(name, [...(named.get(name) ?? []), one]);
  for (const one of results) {
    add(`turn ${one.turn}`, one);
    if (has(one.item, 'metric')) add(one.item.metric, one);
  }
  const by = (measure) => Object.fromEntries([...named].map(([name, group]) => [name, measure(group)]));
  return { namedScores: by(scoreOf), namedScoreWeights: by(weightOf) };
}

/** What promptfoo's results show beside a part. */
function assertionOf(item) {
  const value = get(item, 'value', has(item, 'config') ? jsonText(item.config) : '');
  const kept = Object.fromEntries(['metric', 'weight'].filter((key) => has(item, key)).map((key) => [key, item[key]]));
  return { type: item.type, value, ...kept };
}
