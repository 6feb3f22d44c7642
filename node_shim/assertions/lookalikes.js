/**
 * Texts that look like something else than what they are read as.
 *
 * `args: {path: '/etc/*'}` is equal to no path. Where a check says that something did *not* happen,
 * such a text would make it pass whatever happened.
 */

import { isMapping, show, sortedKeys } from './values.js';

const SLASHED = /^\/((?:[^/\\]|\\.)+)\/([gimsuy]*)$/s;
const SLASHED_WITH_FLAGS = /^\/((?:[^/\\]|\\.)+)\/[gimsuy]+$/s;
const PATTERN = /^(?:\(\?i\)|\^)|\.[*+]|\\[dws][*+?{]/;
const GLOB_OR_CHOICE = /[*|]/;
const DATE = /^[0-9]{4}-[0-9]{2}-[0-9]{2}T00:00:00\.000Z$/;
const NO_DATE = 'is what promptfoo makes of a date without quotes; put it in quotes';

export const LINE_END = "it ends with a line end, as YAML's | and > leave it; write |- or >-";

/** The pattern that was meant by `/delete/i`; `undefined` for other texts. */
export function withoutSlashes(text) {
  const found = SLASHED.exec(text);
  if (found === null) return undefined;
  const [, body, flags] = found;
  return flags.includes('i') && !body.startsWith('(?i)') ? `(?i)${body}` : body;
}

/** Whether a text that is more than white space ends with a line end. */
const hasLineEnd = (text) => /[\n\r]$/.test(text) && text.trim() !== '';

/** Why a text is probably never found as it is, in the words of a text or a card. */
export function textDoubt(text) {
  if (hasLineEnd(text)) return LINE_END;
  if (SLASHED_WITH_FLAGS.test(text) || PATTERN.test(text)) {
    return 'it looks like a pattern, but is looked for as it is';
  }
  return undefined;
}

/**
 * Which wanted arguments are probably equal to none.
 *
 * @param wanted checked by `checkArguments`
 * @param {string} place where it stands, for the message
 * @param {boolean} texts whether texts are doubted too
 * @returns {string[]}
 */
export function argumentDoubts(wanted, place, texts = true) {
  if (typeof wanted === 'string') {
    const doubt = texts ? valueDoubt(wanted) : undefined;
    return doubt === undefined ? [] : [`${place}: ${show(wanted)}: ${doubt}`];
  }
  if (isMapping(wanted)) {
    const keys = Object.keys(wanted);
    if (keys.some((key) => key.startsWith('$'))) return [];
    if (keys.length === 0) return [`${place}: {} ${NO_DATE} (for any value: {$any: true})`];
  }
  return inside(wanted, place).flatMap(([item, at]) => argumentDoubts(item, at, texts));
}

function valueDoubt(text) {
  const meant = 'for the text itself write {$contains: ...}, or text: equal for the whole';
  if (hasLineEnd(text)) return `${LINE_END}; ${meant}`;
  if (DATE.test(text)) return `it ${NO_DATE}; ${meant}`;
  if (withoutSlashes(text) !== undefined || PATTERN.test(text) || GLOB_OR_CHOICE.test(text)) {
    return 'it looks like a pattern, but is compared as it is; write {$regex: ...} with a regular '
      + `expression; ${meant}`;
  }
  return undefined;
}

/** Where wanted arguments have an empty text, which is contained in every text. */
export function emptyTexts(wanted, place) {
  if (wanted === '') return [`${place}: every text contains the empty one; write {$any: true}`];
  return inside(wanted, place).flatMap(([item, at]) => emptyTexts(item, at));
}

/** What stands in a list or in an object, and where. */
function inside(value, place) {
  if (Array.isArray(value)) return value.map((item, index) => [item, `${place}[${index}]`]);
  return isMapping(value) ? sortedKeys(value).map((key) => [value[key], `${place}.${key}`]) : [];
}
