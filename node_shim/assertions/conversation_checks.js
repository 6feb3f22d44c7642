/** The checks about a conversation: its end, its length and time, people, retrieval, budgets. */

import { given } from './evidence.js';
import { gaps, outcome } from './outcome.js';
import { compilePattern } from './patterns.js';
import { contains, get, has, isMapping, isNumber, show, showList, times } from './values.js';
import { listOf } from './wanted.js';

/** The cards that a person has to answer, by the name that a config gives them. */
const CARDS = { question: 'question', approval: 'tool-approval', link: 'link-button' };

/** Where a card says what it is about. */
const TELLING = ['question', 'toolName', 'label', 'url', 'content'];

/** The conversation came to its own end and waits for nobody. */
export function completed(options, evidence) {
  const failures = [];
  for (const turn of evidence.turns) {
    if (given(turn, 'error') !== undefined) failures.push(`turn ${turn.turn} failed: ${show(turn.error)}`);
    if (given(turn, 'cutShort') !== undefined) {
      failures.push(`turn ${turn.turn} was left before its end: ${show(turn.cutShort)}`);
    }
  }
  if (!get(options, 'allowHuman', false)) failures.push(...waiting(evidence));
  const seen = evidence.turn === undefined ? times(evidence.turns.length, 'turn') : `turn ${evidence.turn}`;
  return outcome(`${seen} ended normally`, failures);
}

/** What a person has to do. A question before the last turn was answered by the next message. */
function waiting(evidence) {
  const last = evidence.turns.at(-1);
  const cards = evidence.interactions.filter((card) => {
    const type = get(card, 'type');
    if (type === 'question') return get(card, 'turn') === last.turn;
    return type === 'tool-approval' || type === 'link-button';
  });
  if (cards.length === 0 && get(last, 'awaitingHumanDecision') === true) {
    return [`turn ${last.turn} waits for a person`];
  }
  return cards.map((card) => `turn ${show(get(card, 'turn', null))} waits for a person: ${describe(card)}`);
}

function describe(card) {
  const key = TELLING.find((one) => typeof get(card, one) === 'string');
  const type = get(card, 'type');
  return `${typeof type === 'string' ? type : 'card'}${key === undefined ? '' : ` ${show(card[key])}`}`;
}

/** At most so many turns. */
export function maxTurns(options, evidence) {
  const seen = `${times(evidence.turns.length, 'turn')}, at most ${show(options.max)} allowed`;
  return outcome(seen, evidence.turns.length > options.max ? [seen] : []);
}

/** Each turn, and the whole, took at most so many milliseconds. */
export function maxLatency(options, evidence) {
  const measured = [];
  for (const [key, field, what] of [
    ['turnMs', 'latencyMs', 'took'], ['firstTextMs', 'firstTextMs', 'began its text after'],
  ]) {
    for (const turn of has(options, key) ? evidence.turns : []) {
      measured.push([`turn ${turn.turn} ${what}`, get(turn, field, null), options[key]]);
    }
  }
  if (has(options, 'totalMs')) {
    measured.push(['the conversation took', get(evidence.response, 'latencyMs', null), options.totalMs]);
  }
  const [seen, failures] = [[], []];
  for (const [what, value, limit] of measured) {
    const text = `${what} ${show(value)} ms, at most ${show(limit)} allowed`;
    seen.push(text);
    if (!isNumber(value)) failures.push(`${what} an unknown time: it is not in the metadata`);
    else if (value > limit) failures.push(text);
  }
  return outcome(seen.join('; '), failures);
}

/** A card asks for a person; with `expected: false` none does. */
export function needsHuman(options, evidence) {
  const kind = get(options, 'kind', 'any');
  const types = kind === 'any' ? Object.values(CARDS) : [CARDS[kind]];
  const texts = listOf(get(options, 'contains', []));
  const found = evidence.interactions.filter(
    (card) => types.includes(get(card, 'type')) && texts.every((text) => mentions(card, text)),
  );
  const flagged = kind === 'any' && texts.length === 0
    && evidence.turns.some((turn) => get(turn, 'awaitingHumanDecision') === true);
  const asked = found.map(describe);
  if (asked.length === 0 && flagged) asked.push("a person's decision");
  const { where } = evidence;
  if (get(options, 'expected', true)) {
    if (asked.length > 0) return outcome(`asked for ${asked.join('; ')}${where}`);
    const wanted = kind === 'any' ? 'a person' : `a person by ${kind}`;
    const about = texts.length > 0 ? ` with ${texts.map((text) => show(text)).join(' and ')}` : '';
    const others = evidence.interactions.map(describe).join('; ') || 'none';
    return outcome('', [`nothing asked for ${wanted}${about}${where}; cards were: ${others}`]);
  }
  if (asked.length > 0) return outcome('', [`asked for ${asked.join('; ')}${where}`]);
  return outcome(`nothing asked for a person${where}`, gaps(evidence, options, 'cards'));
}

const mentions = (card, text) => strings(card).some((one) => contains(one, text));

function strings(value) {
  if (typeof value === 'string') return [value];
  if (Array.isArray(value)) return value.flatMap(strings);
  return isMapping(value) ? Object.values(value).flatMap(strings) : [];
}

/** Snippets were retrieved, and some hold what is wanted. */
export function retrieved(options, evidence) {
  const { snippets, where } = evidence;
  const failures = [];
  const least = get(options, 'min', 1);
  const found = `${times(snippets.length, 'snippet')} ${snippets.length === 1 ? 'was' : 'were'} retrieved`;
  if (snippets.length < least) failures.push(`${found}${where}, expected at least ${show(least)}`);
  for (const text of listOf(get(options, 'contains', []))) {
    if (!snippets.some((snippet) => contains(snippet, text))) {
      failures.push(`no snippet${where} contains ${show(text)}`);
    }
  }
  if (has(options, 'regex')) {
    const flags = get(options, 'flags', '');
    const pattern = compilePattern(options.regex, flags);
    if (!snippets.some((snippet) => pattern.foundIn(snippet))) {
      failures.push(`no snippet${where} matches /${options.regex}/${flags}`);
    }
  }
  if (failures.length > 0) {
    if (snippets.length > 0) failures.push(`snippets were ${showList(snippets.map((text) => show(text, 120)))}`);
    if (['retrievedSnippets', 'toolCalls[].result_summary'].some((label) => evidence.cut.has(label))) {
      failures.push('snippets were cut to keep the row small (raise maxMetadataKb)');
    }
  }
  return outcome(`${found}${where}`, failures);
}

/** The tokens used are within a budget. */
export function maxTokens(options, evidence) {
  const usage = get(evidence.response, 'tokenUsage');
  return budget(options, isMapping(usage) ? get(usage, 'total') : undefined, 'tokens');
}

/** The cost is within a budget. */
export function maxCost(options, evidence) {
  return budget(options, get(evidence.response, 'cost'), 'cost');
}

function budget(options, value, what) {
  if (!isNumber(value) || value <= 0) { // no turn takes none: promptfoo fills in zeros
    const unknown = `${what} unknown: the gateway reported none`;
    if (get(options, 'whenUnknown', 'fail') === 'skip') return outcome(`skipped, ${unknown}`);
    return outcome('', [`${unknown} (whenUnknown: skip accepts that)`]);
  }
  const seen = `${what} ${show(value)}, at most ${show(options.max)} allowed`;
  return outcome(seen, value > options.max ? [seen] : []);
}
