/**
 * One dialect of regular expressions that means the same in Python and in JavaScript.
 *
 * A pattern is read here and written anew in what both engines understand alike. What they read
 * differently is refused, with its place. docs/assertions.md describes the dialect.
 */

import { show } from './values.js';

const MAX_REPEATS = 1000;
const SETS = new Map([['d', '0-9'], ['w', 'A-Za-z0-9_'], ['s', ' \\t\\n\\r\\f\\v']]);
const CONTROLS = new Map([['t', '\t'], ['n', '\n'], ['r', '\r'], ['f', '\f'], ['v', '\v']]);
const WORD = '[A-Za-z0-9_]';
const EDGE = `(?:(?<=${WORD})(?!${WORD})|(?<!${WORD})(?=${WORD}))`;
const NO_EDGE = `(?:(?<=${WORD})(?=${WORD})|(?<!${WORD})(?!${WORD}))`;

/** The pattern is not one of the dialect; the text says what, where and what to do. */
export class PatternError extends Error {}

/**
 * @param {string} pattern of the dialect; a leading `(?i)` is the flag `i`
 * @param {string} flags `i` or nothing
 * @throws {PatternError}
 */
export function compilePattern(pattern, flags = '') {
  return new RegExp(translate(pattern, flags), 'u');
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

/** The pattern as both engines read it, without flags. */
export function translate(pattern, flags = '') {
  const leading = pattern.startsWith('(?i)');
  const body = leading ? pattern.slice(4) : pattern;
  if (!body) throw new PatternError('the pattern is empty, and would match anything');
  try {
    return new Reader(body, leading || flags === 'i').read();
  } catch (error) {
    if (!(error instanceof PatternError)) throw error;
    throw new PatternError(`pattern ${show(pattern)}: ${error.message}`);
  }
}

/** Reads a pattern from left to right and writes its translation. */
class Reader {
  #body;
  #at = 0;
  #ignoreCase;
  #out = [];
  /** Of each open group whether it can be repeated. */
  #groups = [];
  #repeatable = false;

  constructor(body, ignoreCase) {
    this.#body = Array.from(body);
    this.#ignoreCase = ignoreCase;
  }

  read() {
    while (this.#at < this.#body.length) this.#step(this.#take());
    if (this.#groups.length > 0) throw new PatternError('a group is not closed');
    return this.#out.join('');
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

  #write(text, repeatable) {
    this.#out.push(text);
    this.#repeatable = repeatable;
  }

  #refuse(text) {
    return new PatternError(`${text} (character ${this.#at})`);
  }

  #step(character) {
    if (character === '\\') this.#escape();
    else if (character === '[') this.#write(this.#characterClass(), true);
    else if (character === '(') this.#open();
    else if (character === ')') {
      if (this.#groups.length === 0) {
        throw this.#refuse('there is no group to close; for the character write \\)');
      }
      this.#write(')', this.#groups.pop());
    } else if ('|^'.includes(character)) this.#write(character, false);
    else if (character === '$') this.#write('(?![\\s\\S])', false);
    else if (character === '.') this.#write('[^\\n]', true);
    else if ('*+?{'.includes(character)) this.#repeat(character);
    else if (']}'.includes(character)) throw this.#refuse(`for the character write \\${character}`);
    else this.#write(this.#literal(character), true);
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
    this.#groups.push(kind === '?:');
    this.#write(`(${kind}`, false);
  }

  #repeat(character) {
    if (!this.#repeatable) {
      throw this.#refuse(
        `${character} has nothing to repeat; possessive forms are not in the dialect, and for the character `
        + `write \\${character}`,
      );
    }
    let text = character === '{' ? this.#count() : character;
    if (this.#next('?')) text += this.#take();
    this.#write(text, false);
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
    return found[2] ? `{${least},${found[3] ? most : ''}}` : `{${least}}`;
  }

  #escape() {
    const character = this.#take();
    if (SETS.has(character.toLowerCase())) {
      const no = SETS.has(character) ? '' : '^';
      this.#write(`[${no}${SETS.get(character.toLowerCase())}]`, true);
    } else if ('bB'.includes(character)) this.#write(character === 'b' ? EDGE : NO_EDGE, false);
    else this.#write(this.#literal(this.#escaped(character)), true);
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
    const start = this.#next('^') ? '^' : '';
    this.#at += start.length;
    if (this.#next(']')) throw this.#refuse('a class is not empty; for the character write \\]');
    const parts = [];
    while (!this.#next(']')) parts.push(this.#classItem(parts.length === 0));
    this.#at += 1;
    return `[${start}${parts.join('')}]`;
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
      return '\\x2d';
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
    const parts = [`${written(start)}-${written(end)}`];
    if (!this.#ignoreCase) return parts[0];
    if (start.codePointAt(0) > 127 || end.codePointAt(0) > 127) {
      throw this.#refuse('without case a range has ASCII characters only');
    }
    for (const [low, high, shift] of [['a', 'z', -32], ['A', 'Z', 32]]) {
      const [lower, upper] = [start > low ? start : low, end < high ? end : high];
      if (lower <= upper) parts.push(`${shifted(lower, shift)}-${shifted(upper, shift)}`);
    }
    return parts.join('');
  }

  #literal(character) {
    const text = this.#variants(character);
    return text === written(character) ? text : `[${text}]`;
  }

  #variants(character) {
    const found = [character];
    if (this.#ignoreCase) {
      for (const other of [character.toLowerCase(), character.toUpperCase()]) {
        if (Array.from(other).length === 1 && !found.includes(other)) found.push(other);
      }
    }
    return found.map(written).join('');
  }
}

const shifted = (character, shift) => String.fromCharCode(character.charCodeAt(0) + shift);

const isPunctuation = (character) => character.codePointAt(0) < 128 && !/[A-Za-z0-9]/.test(character);

/** A character so that no engine finds a meaning in it. */
function written(character) {
  if (!isPunctuation(character)) return character;
  return `\\x${character.charCodeAt(0).toString(16).padStart(2, '0')}`;
}
