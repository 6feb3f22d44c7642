/**
 * One dialect of regular expressions that means the same in Python and in JavaScript.
 *
 * A pattern is read here and searched for by pattern_search.js. What the languages read differently is
 * refused, with its place. docs/assertions.md describes the dialect.
 */

import { LINE_END, withoutSlashes } from './lookalikes.js';
import { MAX_PLACES, Search, TooLarge } from './pattern_search.js';
import { show } from './values.js';

const MAX_REPEATS = 1000;

/** Groups in groups. */
const MAX_DEPTH = 50;

/** First and last code point of each range. */
const SETS = new Map([
  ['d', [[48, 57]]],
  ['w', [[48, 57], [65, 90], [95, 95], [97, 122]]],
  ['s', [[9, 13], [32, 32]]],
]);
const CONTROLS = new Map([['t', '\t'], ['n', '\n'], ['r', '\r'], ['f', '\f'], ['v', '\v']]);
const REPEATS = new Map([['*', [0, undefined]], ['+', [1, undefined]], ['?', [0, 1]]]);

/** The pattern is not one of the dialect; the text says what, where and what to do. */
export class PatternError extends Error {}

/**
 * The pattern, ready to be looked for.
 *
 * @param {string} pattern of the dialect; a leading `(?i)` is the flag `i`
 * @param {string} flags `i` or nothing
 * @throws {PatternError}
 */
export function compilePattern(pattern, flags = '') {
  const leading = pattern.startsWith('(?i)');
  const body = leading ? pattern.slice(4) : pattern;
  if (!body) throw new PatternError('the pattern is empty, and would match anything');
  refuseWrapping(pattern, body);
  try {
    return new Search(new Reader(body, leading || flags === 'i').read());
  } catch (error) {
    if (!(error instanceof PatternError || error instanceof TooLarge)) throw error;
    const why = error instanceof PatternError
      ? error.message
      : `its counts multiply to more than ${MAX_PLACES} characters; write smaller ones`;
    throw new PatternError(`pattern ${show(pattern)}: ${why}`);
  }
}

/** What stands around a pattern and would be looked for with it, so that nothing is found. */
function refuseWrapping(pattern, body) {
  const meant = withoutSlashes(body);
  const start = pattern.slice(0, pattern.length - body.length);
  if (meant !== undefined) {
    const same = meant.startsWith('(?i)') ? meant : start + meant;
    throw new PatternError(
      `pattern ${show(pattern)}: the slashes would be looked for too; write ${show(same)}, or `
      + `${show(`${start}[/]${body.slice(1)}`)} for a text with slashes`,
    );
  }
  if (/[\n\r]$/.test(body)) {
    throw new PatternError(`pattern ${show(pattern)}: ${LINE_END}, or \\n for the line end itself`);
  }
}

/** Why a pattern is not of the dialect; nothing when it is. */
export function patternProblems(pattern, flags = '') {
  try {
    compilePattern(pattern, flags);
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    return [error.message];
  }
  return [];
}

/** Reads a pattern from left to right. */
class Reader {
  #body;
  #at = 0;
  #ignoreCase;
  /** Groups that are not closed yet. */
  #groups = [{ kind: 'whole', choices: [[]] }];
  #repeatable = false;

  constructor(body, ignoreCase) {
    this.#body = Array.from(body);
    this.#ignoreCase = ignoreCase;
  }

  read() {
    while (this.#at < this.#body.length) this.#step(this.#take());
    if (this.#groups.length > 1) throw new PatternError('a group is not closed');
    return choiceOf(this.#groups[0].choices);
  }

  #take() {
    if (this.#at === this.#body.length) throw new PatternError('it ends too early');
    this.#at += 1;
    return this.#body[this.#at - 1];
  }

  #rest(length) {
    return this.#body.slice(this.#at, this.#at + length).join('');
  }

  #next(text) {
    return this.#rest(text.length) === text;
  }

  #add(node, repeatable) {
    this.#groups.at(-1).choices.at(-1).push(node);
    this.#repeatable = repeatable;
  }

  #place(where) {
    this.#add({ kind: 'at', where }, false);
  }

  #refuse(text) {
    return new PatternError(`${text} (character ${this.#at})`);
  }

  #step(character) {
    if (character === '\\') this.#escape();
    else if (character === '[') this.#add(this.#characterClass(), true);
    else if (character === '(') this.#open();
    else if (character === ')') this.#close();
    else if (character === '|') {
      this.#groups.at(-1).choices.push([]);
      this.#repeatable = false;
    } else if ('^$'.includes(character)) this.#place(character === '^' ? 'start' : 'end');
    else if (character === '.') this.#add(charactersOf([[10, 10]], true), true);
    else if ('*+?{'.includes(character)) this.#repeat(character);
    else if (']}'.includes(character)) throw this.#refuse(`for the character write \\${character}`);
    else this.#add(this.#literal(character), true);
  }

  #open() {
    let kind = '?:';
    if (this.#next('?')) {
      kind = this.#rest(2);
      if (!['?:', '?=', '?!'].includes(kind)) {
        throw this.#refuse(
          `(${this.#rest(3)} is not in the dialect, which has groups ( and (?:, lookahead (?= and (?!, and `
          + '(?i) at the start',
        );
      }
      this.#at += 2;
    }
    if (this.#groups.length > MAX_DEPTH) throw this.#refuse(`groups stand in groups, more than ${MAX_DEPTH} deep`);
    this.#groups.push({ kind, choices: [[]] });
    this.#repeatable = false;
  }

  #close() {
    if (this.#groups.length === 1) throw this.#refuse('there is no group to close; for the character write \\)');
    const { kind, choices } = this.#groups.pop();
    const node = choiceOf(choices);
    if (kind === '?:') this.#add(node, true);
    else this.#add({ kind: 'look', node, wanted: kind === '?=' }, false);
  }

  #repeat(character) {
    if (!this.#repeatable) {
      throw this.#refuse(
        `${character} has nothing to repeat; possessive forms are not in the dialect, and for the character `
        + `write \\${character}`,
      );
    }
    const [least, most] = character === '{' ? this.#count() : REPEATS.get(character);
    if (this.#next('?')) this.#take(); // which way is tried first makes no difference to whether there is one
    const nodes = this.#groups.at(-1).choices.at(-1);
    nodes.push({ kind: 'repeat', node: nodes.pop(), least, most });
    this.#repeatable = false;
  }

  #count() {
    const found = /^([0-9]{1,4})(,([0-9]{0,4}))?\}/.exec(this.#rest(11));
    if (found === null) {
      throw this.#refuse('after { comes {n}, {n,} or {n,m}; for the character write \\{');
    }
    const [least, most] = [Number(found[1]), Number(found[3] || found[1])];
    if (Math.max(least, most) > MAX_REPEATS || most < least) {
      throw this.#refuse(`a count goes from the least to the most, up to ${MAX_REPEATS}`);
    }
    this.#at += found[0].length;
    return [least, found[2] && !found[3] ? undefined : most];
  }

  #escape() {
    const character = this.#take();
    if (SETS.has(character.toLowerCase())) {
      this.#add(charactersOf(SETS.get(character.toLowerCase()), !SETS.has(character)), true);
    } else if ('bB'.includes(character)) this.#place(character === 'b' ? 'edge' : 'no edge');
    else this.#add(this.#literal(this.#escaped(character)), true);
  }

  /** The character that stands after a backslash. */
  #escaped(character) {
    if (CONTROLS.has(character)) return CONTROLS.get(character);
    if ('xu'.includes(character)) {
      const length = character === 'x' ? 2 : 4;
      const digits = this.#rest(length);
      if (digits.length === length && /^[0-9a-fA-F]+$/.test(digits)) {
        const code = parseInt(digits, 16);
        if (code < 0xd800 || code > 0xdfff) {
          this.#at += length;
          return String.fromCharCode(code);
        }
      }
    } else if (isPunctuation(character)) return character;
    throw this.#refuse(
      `\\${character} is not in the dialect, which has \\d \\D \\w \\W \\s \\S \\b \\B \\t \\n \\r \\f \\v \\xHH `
      + '\\uHHHH and a backslash before punctuation',
    );
  }

  #characterClass() {
    const negated = this.#next('^');
    if (negated) this.#at += 1;
    if (this.#next(']')) throw this.#refuse('a class is not empty; for the character write \\]');
    const ranges = [];
    while (!this.#next(']')) ranges.push(...this.#classItem(ranges.length === 0));
    this.#at += 1;
    return charactersOf(ranges, negated);
  }

  #classItem(first) {
    let character = this.#take();
    if (character === '\\') {
      character = this.#take();
      if (SETS.has(character)) {
        this.#noRange();
        return SETS.get(character);
      }
      character = this.#escapedInClass(character);
    } else if (character === '[') throw this.#refuse('in a class write \\[ for the character');
    else if (character === '-') {
      if (!(first || this.#next(']'))) {
        throw this.#refuse('in a class - stands first or last; else write \\-');
      }
      this.#noRange();
      return pointsOf(['-']);
    }
    if (!this.#next('-') || this.#next('-]')) return this.#variants(character);
    this.#at += 1;
    return this.#range(character);
  }

  #escapedInClass(character) {
    if ('dDwWsSbB'.includes(character)) {
      throw this.#refuse(`in a class only \\d \\w \\s stand for several, alone; not \\${character} here`);
    }
    return this.#escaped(character);
  }

  #noRange() {
    if (this.#next('-') && !this.#next('-]')) {
      throw this.#refuse('in a class a range goes from one character to another');
    }
  }

  #range(start) {
    let end = this.#take();
    if (end === '\\') end = this.#escapedInClass(this.#take());
    else if ('[-'.includes(end)) throw this.#refuse(`in a class write \\${end} for the character`);
    this.#noRange();
    if (end.codePointAt(0) < start.codePointAt(0)) {
      throw this.#refuse('in a class a range goes from the lower character to the higher');
    }
    const ranges = [[start.codePointAt(0), end.codePointAt(0)]];
    if (!this.#ignoreCase) return ranges;
    if (start.codePointAt(0) > 127 || end.codePointAt(0) > 127) {
      throw this.#refuse('without case a range has ASCII characters only');
    }
    for (const [low, high, shift] of [['a', 'z', -32], ['A', 'Z', 32]]) {
      const [lower, upper] = [start > low ? start : low, end < high ? end : high];
      if (lower <= upper) ranges.push([lower.charCodeAt(0) + shift, upper.charCodeAt(0) + shift]);
    }
    return ranges;
  }

  #literal(character) {
    return charactersOf(this.#variants(character), false);
  }

  #variants(character) {
    const found = [character];
    if (this.#ignoreCase) {
      for (const other of [character.toLowerCase(), character.toUpperCase()]) {
        if (Array.from(other).length === 1 && !found.includes(other)) found.push(other);
      }
    }
    return pointsOf(found);
  }
}

const pointsOf = (characters) => characters.map((one) => [one.codePointAt(0), one.codePointAt(0)]);

const charactersOf = (ranges, negated) => ({ kind: 'characters', ranges, negated });

function choiceOf(choices) {
  const nodes = choices.map((one) => ({ kind: 'sequel', nodes: one }));
  return nodes.length === 1 ? nodes[0] : { kind: 'choice', nodes };
}

const isPunctuation = (character) => character.codePointAt(0) < 128 && !/[A-Za-z0-9]/.test(character);
