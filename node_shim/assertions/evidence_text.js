/**
 * A conversation as a text that a model can judge: answers, tool calls and cards, turn by turn.
 *
 * What user and agent wrote stands behind `>`, so that no answer can pass for a tool call. The text
 * is bounded, and says what was cut: a judge must not take what is left out for what did not happen.
 */

import { given } from './evidence.js';
import { get, isMapping, jsonText, same, show, times } from './values.js';

/** Characters of the whole, notes at its head not counted. */
const MAX_TEXT = 30_000;

/** Characters that each text is cut to, one after the other until the whole is short enough. */
const CUTS = [MAX_TEXT, 4000, 1000, 250, 60];

/** Characters of the last answer that always stay. */
const LAST_ANSWER = 4000;

const HEAD = 'What is known of a conversation with an agent. Lines that begin with > are what the user and '
  + 'the agent wrote; the others were recorded by the gateway. The tool calls and cards of a turn stand before '
  + 'its answer. The gateway reports results of few tools.';

const CARDS = new Map([
  ['question', 'Question card shown to the user'],
  ['tool-approval', 'Approval asked of the user'],
  ['link-button', 'Link shown to the user'],
  ['suggestion', 'Suggestions shown to the user'],
]);

/** Keys of a card that say nothing of what is asked. */
const CARD_NOISE = new Set([
  'type', 'turn', 'timestamp', 'messageId', 'turnMessageId', 'originMessageId', 'processedMessageIds',
  'questionId', 'requestId', 'runId', 'grantPattern', 'durationOptions',
]);

/** What of the metadata is shown, and may have been cut before. */
const SHOWN = ['toolCalls', 'turns', 'interactions'];

const PLAIN_NAME = /^[A-Za-z0-9_.:/-]{1,200}$/;

/** The conversation for a judge; at most about MAX_TEXT characters. */
export function evidenceText(evidence) {
  const lines = linesOf(evidence);
  const writtenTo = (cut) => lines.map((one) => written(one, cut));
  const cut = CUTS.find((one) => sizeOf(writtenTo(one)) <= MAX_TEXT) ?? CUTS.at(-1);
  const notes = notesOf(evidence);
  const shortened = lines.filter((one) => lengthOf(one.text) > allowedOf(one, cut)).length;
  if (shortened > 0) notes.push(`${times(shortened, 'text')} cut for this judgement, each marked [cut: ...].`);
  const [body, leftOut] = withoutMiddle(writtenTo(cut));
  if (leftOut > 0) notes.push(`${times(leftOut, 'part')} left out of the middle for this judgement.`);
  const incomplete = ['', 'Incomplete. What is missing here may have happened:', ...notes.map((note) => `- ${note}`)];
  return [HEAD, ...(notes.length > 0 ? incomplete : []), ...body].join('\n');
}

const line = (heading, text = '', more = {}) => ({ heading, text, ...more });

function linesOf(evidence) {
  const last = evidence.turns.length;
  return evidence.turns.flatMap((turn) => [
    line(`\nTurn ${turn.turn} of ${last}`),
    line('User:', textOf(get(turn, 'user', null)), { quoted: true }),
    ...evidence.calls.filter((call) => call.turn === turn.turn).flatMap(callLines),
    ...evidence.interactions.filter((card) => get(card, 'turn') === turn.turn).map(cardLine),
    ...(get(turn, 'awaitingHumanDecision') === true ? [line('The gateway says that a person has to decide.')] : []),
    line('Agent:', turn.output, { quoted: true, lastAnswer: turn.turn === last }),
  ]);
}

const textOf = (value) => (typeof value === 'string' ? value : jsonText(value));

function callLines(call) {
  const { number, summary } = call;
  const told = [
    argumentsLine(call, `Tool call ${number}: ${PLAIN_NAME.test(call.name) ? call.name : show(call.name)}`),
  ];
  const error = isMapping(summary) ? given(summary, 'error') : undefined;
  if (error !== undefined) told.push(line(`  Call ${number} failed: `, jsonText(error)));
  else if (call.isError === true) told.push(line(`  Call ${number} failed; the reason is not known.`));
  else if (call.isError !== false) told.push(line(`  Whether call ${number} failed is not known.`));
  if ((summary ?? undefined) !== undefined && error === undefined) {
    told.push(line(`  Call ${number} reported `, jsonText(summary)));
  }
  return told;
}

function argumentsLine(call, heading) {
  if (call.inputState === 'not sent') return line(`${heading} (the gateway did not send the arguments)`);
  if (call.inputState === 'cut' && same(call.arguments, {})) return line(`${heading} (the arguments were cut)`);
  return line(`${heading} `, jsonText(call.arguments));
}

function cardLine(card) {
  const kind = get(card, 'type');
  const heading = typeof kind === 'string' ? CARDS.get(kind) ?? 'Card shown to the user' : 'Card';
  const told = Object.fromEntries(Object.entries(card).filter(([key]) => !CARD_NOISE.has(key)));
  const url = get(told, 'url');
  if (typeof url === 'string') [told.url] = url.split(/[?#]/); // what follows can be the key to an account
  return line(`${heading}: `, jsonText(told));
}

function notesOf(evidence) {
  const notes = evidence.holes.map((hole) => `${hole}.`);
  for (const attempt of evidence.attempts) {
    const names = get(attempt, 'toolCalls');
    const called = Array.isArray(names) && names.length > 0 ? names.map(textOf).join(', ') : 'none';
    notes.push(`an attempt before this one failed; tools called in it: ${show(called)}.`);
  }
  const cut = [...evidence.cut].filter((label) => typeof label === 'string' && SHOWN.includes(label.split('[')[0]));
  if (cut.length > 0) {
    notes.push(`the row was cut to keep it small (maxMetadataKb): ${cut.sort().join(', ')}.`);
  }
  return notes;
}

const allowedOf = ({ lastAnswer }, cut) => (lastAnswer ? Math.max(cut, LAST_ANSWER) : cut);

/** In characters, as Python counts them. */
const lengthOf = (text) => Array.from(text).length;

const sizeOf = (told) => told.reduce((size, text) => size + lengthOf(text) + 1, 0);

function written(one, cut) {
  const characters = Array.from(one.text);
  const over = characters.length - allowedOf(one, cut);
  const text = over <= 0
    ? one.text
    : `${characters.slice(0, characters.length - over).join('')}... [cut: ${over} characters]`;
  if (!one.quoted) return one.heading + text;
  if (!text.trim()) return `${one.heading} (no text)`;
  return [one.heading, ...text.split(/\r\n|[\n\r\v\f\u0085\u2028\u2029]/)].join('\n> ');
}

/** The parts of both ends that are short enough, and how many are left out. */
function withoutMiddle(told) {
  if (sizeOf(told) <= MAX_TEXT) return [told, 0];
  const [first, end] = [fitting(told), told.length - fitting(told.toReversed())];
  return [
    [...told.slice(0, first), `\n[left out: ${times(end - first, 'part')}]\n`, ...told.slice(end)], end - first,
  ];
}

function fitting(told) {
  let size = 0;
  const over = told.findIndex((text) => {
    size += lengthOf(text) + 1;
    return size > MAX_TEXT / 2;
  });
  return over === -1 ? told.length : over;
}
