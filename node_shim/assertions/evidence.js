/**
 * What a row tells about a conversation, read from promptfoo's context.
 *
 * Nothing is guessed: where the row does not hold what a Lobu provider returns, there is no evidence
 * but a reason, and every check fails with it.
 */

import { get, has, isMapping, jsonText, show, times } from './values.js';

/** The row cannot be judged; the text says why. */
export class NoEvidence extends Error {}

/**
 * What the row tells.
 *
 * @throws {NoEvidence} the row is an error, is not of a Lobu provider, or is malformed
 */
export function readEvidence(context) {
  const response = isMapping(context) ? get(context, 'providerResponse') : undefined;
  if (!isMapping(response)) throw new NoEvidence('there is no response of a provider');
  const error = given(response, 'error');
  if (error !== undefined && error !== '') {
    throw new NoEvidence(`the call failed: ${typeof error === 'string' ? error : jsonText(error)}`);
  }
  const metadata = get(response, 'metadata');
  if (!isMapping(metadata) || !(has(metadata, 'turns') || has(metadata, 'toolCalls'))) {
    throw new NoEvidence(
      'there is no metadata of a Lobu provider (toolCalls, turns), so nothing is known of what the agent did; '
      + 'promptfoo:simulated-user drops it',
    );
  }
  if (given(metadata, 'error') !== undefined) {
    throw new NoEvidence(`the call failed: ${show(metadata.error)}`);
  }
  return read(response, metadata);
}

/** A key's value, where `null` is none. */
export const given = (mapping, key) => get(mapping, key) ?? undefined;

function read(response, metadata) {
  const turns = mappings(metadata, 'turns');
  if (turns.length === 0) throw new NoEvidence('metadata.turns is empty: no turn happened');
  turns.forEach((turn, index) => {
    if (get(turn, 'turn') !== index + 1) throw malformed(`turns[${index}].turn is not ${index + 1}`);
    if (typeof get(turn, 'output') !== 'string') throw malformed(`turns[${index}].output is not a text`);
  });
  const snippets = get(metadata, 'retrievedSnippets');
  if (!Array.isArray(snippets) || !snippets.every((text) => typeof text === 'string')) {
    throw malformed('retrievedSnippets is not a list of texts');
  }
  const cut = cutLabels(metadata);
  return {
    response,
    calls: mappings(metadata, 'toolCalls').map((call, index) => callOf(call, index, turns.length, cut)),
    turns,
    interactions: mappings(metadata, 'interactions'),
    snippets,
    cut,
    attempts: has(metadata, 'attempts') ? mappings(metadata, 'attempts') : [],
    holes: holesOf(metadata, turns),
    turn: undefined,
    where: '',
  };
}

const malformed = (text) => new NoEvidence(`the metadata is malformed: ${text}`);

function mappings(metadata, key) {
  const found = get(metadata, key);
  if (!Array.isArray(found) || !found.every(isMapping)) throw malformed(`${key} is not a list of objects`);
  return found;
}

function cutLabels(metadata) {
  const truncated = given(metadata, 'truncated');
  if (truncated === undefined) return new Set();
  const labels = isMapping(truncated) ? get(truncated, 'cut', []) : undefined;
  if (!Array.isArray(labels)) throw malformed("truncated is not an object with a list 'cut'");
  return new Set(labels);
}

function callOf(call, index, turns, cut) {
  const [name, turn] = [get(call, 'name'), get(call, 'turn')];
  if (typeof name !== 'string' || !name) throw malformed(`toolCalls[${index}].name is not a text`);
  if (!(Number.isInteger(turn) && turn >= 1 && turn <= turns)) {
    throw malformed(`toolCalls[${index}].turn is none of the ${times(turns, 'turn')}`);
  }
  const shortened = cut.has('toolCalls[].input');
  let inputState = 'known';
  if (!has(call, 'input')) inputState = shortened ? 'cut' : 'not sent';
  else if (shortened && isCut(jsonText(call.input))) inputState = 'cut';
  return {
    number: index + 1,
    name,
    turn,
    inputState,
    arguments: given(call, 'input') ?? {},
    isError: get(call, 'isError'),
    summary: get(call, 'result_summary'),
  };
}

/** Whether a text was shortened to keep the row small. */
export const isCut = (text) => /\.\.\. \[cut: [0-9]+ characters\]/.test(text);

/**
 * What belongs to one turn, or all of it for `undefined`.
 *
 * @throws {NoEvidence} there was no such turn
 */
export function ofTurn(evidence, turn) {
  if (turn === undefined) return evidence;
  if (turn > evidence.turns.length) {
    const had = times(evidence.turns.length, 'turn');
    throw new NoEvidence(`turn ${turn} did not happen: the conversation had ${had}`);
  }
  const calls = evidence.calls.filter((call) => call.turn === turn);
  const kept = evidence.turns[turn - 1];
  const own = turnHoles(kept);
  const placed = evidence.turns.some((one) => turnHoles(one).length > 0);
  return {
    ...evidence,
    calls,
    turns: [kept],
    interactions: evidence.interactions.filter((card) => get(card, 'turn') === turn),
    snippets: calls.flatMap((call) => snippetsOf(call.summary)),
    holes: own.length > 0 || placed ? own : evidence.holes,
    turn,
    where: ` in turn ${turn}`,
  };
}

function snippetsOf(summary) {
  const found = isMapping(summary) ? get(summary, 'snippets') : undefined;
  const texts = (Array.isArray(found) ? found : []).map((item) => (isMapping(item) ? get(item, 'text') : undefined));
  return texts.filter((text) => typeof text === 'string' && text.trim());
}

function holesOf(metadata, turns) {
  const found = turns.flatMap(turnHoles);
  const truncated = given(metadata, 'possiblyTruncated') ?? false;
  if (![false, 0].includes(truncated) && found.length === 0) {
    found.push('the event stream had a gap (possiblyTruncated)');
  }
  return found;
}

function turnHoles(turn) {
  const found = [];
  const reconnects = given(turn, 'reconnects') ?? false;
  if (![false, 0].includes(reconnects)) {
    found.push(`the event stream of turn ${show(turn.turn)} was lost and opened again`);
  }
  if (given(turn, 'cutShort') !== undefined) {
    found.push(`turn ${show(turn.turn)} was left before its end (${show(turn.cutShort)})`);
  }
  return found;
}

