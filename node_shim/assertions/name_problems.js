/**
 * What is no tool's name though a config has it as one, and what to write instead.
 *
 * A pattern or a list in the place of a name is the name of no tool: `toolNotCalled` with `delete_*`
 * would pass whatever was called.
 */

import { withoutSlashes } from './lookalikes.js';
import { patternProblems } from './patterns.js';
import { jsonText, show } from './values.js';

/** What no tool's name has. Gateways and models know letters, digits and `_ - . / :`. */
// eslint-disable-next-line no-control-regex
const ODD = /[\x00-\x1f!"$%&'()*+,;<=>?[\\\]^`{|}\x7f-\xa0\xad\u1680\u2000-\u200f\u2028-\u202f\u205f-\u2064\u3000\ufeff]/;
const NOTHING = /^[-_./:@#~ ]+$/;
const SERVER = /^mcp__(?:(?!__).)+$/i;
const META = /[*?^$|()[\]{}+\\]/;
const SPLIT = /[,;|\t\r\n]+/;
const REGEX = /\.[*?]/;
const NEVER = /[,;"'`\t\r\n\xa0\u200b-\u200f\u2028\u2029\ufeff]| *\| +| +\|| +$|^ +/;
const WRITTEN_OUT = /\\.|\[(?:[^\]\\]|\\.)*\]|\{[0-9,]*\}/gs;
const OR_EXACT = ' (exactName: true takes any text for a name)';
const AS_SENT = `write it as the gateway sends it${OR_EXACT}`;

/** By where a name stands: alone, in a list, as a step of `toolOrder`, under `except`. */
const PATTERN_THERE = {
  tool: (written) => `write pattern: ${written}`,
  item: (written) => `write pattern: ${written} in an assertion of its own`,
  step: (written) => `write the step {pattern: ${written}}`,
  except: () => 'except has names only: list them',
};

/**
 * Why a text is no tool's name and what to write, or `undefined` for a name.
 *
 * @param {string} name not blank
 * @param {'tool' | 'item' | 'step' | 'except'} place where it stands
 * @param {boolean} exact `exactName`, with which any text is a name but for white space around it
 */
export function nameProblem(name, place, exact = false) {
  const bare = name.trim();
  const found = exact ? undefined : problemOf(bare, place);
  if (found !== undefined) return `${show(name)} is no tool's name${found}`;
  return bare === name ? undefined : `${show(name)} has white space around it; write ${show(bare)}`;
}

function problemOf(name, place) {
  const meant = withoutSlashes(name);
  if (meant !== undefined) return aPattern(meant, place);
  const odd = ODD.exec(name);
  if (odd === null) return plainProblem(name, place);
  const parts = partsOf(name);
  if (parts.length > 0 && !parts.some((part) => ODD.test(part))) {
    return parts.length === 1 ? `; write ${show(parts[0])}${OR_EXACT}` : aList(parts, place);
  }
  if (META.test(name)) return aPattern(patternOf(name, parts), place);
  const code = odd[0].charCodeAt(0);
  const character = code >= 0x20 && code < 0x7f
    ? show(odd[0])
    : `U+${code.toString(16).toUpperCase().padStart(4, '0')}`;
  return `: it has ${character}, which no name has; ${AS_SENT}`;
}

/** The problem of a text without odd characters. */
function plainProblem(name, place) {
  if (NOTHING.test(name)) return `: it has neither letter nor digit; ${AS_SENT}`;
  if (name.endsWith('__') || SERVER.test(name)) {
    const server = `^${escaped(name.replace(/_+$/, ''))}__`;
    const pattern = `, or ${PATTERN_THERE[place](show(server))} where the gateway sends servers`;
    return ` but a server's; list its tools${place === 'except' ? '' : pattern}${OR_EXACT}`;
  }
  const words = name.split(' ').filter((word) => !['', 'and', 'or'].includes(word));
  return words.filter((word) => word.includes('_')).length > 1 ? aList(words, place) : undefined;
}

function aList(names, place) {
  const each = place === 'step' ? 'a step for each' : 'each as an item of a list';
  return ` but a list in one text; write ${each}: ${jsonText(names)}${OR_EXACT}`;
}

function aPattern(pattern, place) {
  const written = pattern === undefined ? '... with a regular expression' : show(pattern);
  return ` but a pattern; ${PATTERN_THERE[place](written)}${OR_EXACT}`;
}

function partsOf(name) {
  const inner = name.startsWith('[') && name.endsWith(']') ? name.slice(1, -1) : name;
  return inner.split(SPLIT).map((part) => part.replace(/^[\s"'`]+|[\s"'`]+$/g, '')).filter((part) => part !== '');
}

/** The regular expression that was probably meant. */
function patternOf(name, parts) {
  const globs = parts.map(ofGlob);
  if (globs.length > 0 && globs.every((glob) => glob !== undefined)) return globs.join('|');
  const listed = name.includes(',') || name.includes(';');
  return listed || patternProblems(name).length > 0 ? undefined : name;
}

function ofGlob(text) {
  if (REGEX.test(text) || ODD.test(text.replace(/[*?]/g, ''))) return undefined;
  const core = text.replace(/^\*+|\*+$/g, '');
  if (core === '') return '.';
  const inner = escaped(core).replaceAll('*', '.*').replaceAll('?', '.');
  return `${text.startsWith('*') ? '' : '^'}${inner}${text.endsWith('*') ? '' : '$'}`;
}

const escaped = (text) => text.replaceAll('.', '\\.');

/** What a pattern of tools' names looks for though no name has it, or `undefined`. */
export function toolPatternProblem(pattern) {
  const found = NEVER.exec(pattern.replace(/^\(\?i\)/, '').replace(WRITTEN_OUT, 'x'));
  if (found === null) return undefined;
  return `${show(pattern)} looks for ${show(found[0])}, which no tool's name has; write several tools as a|b `
    + '(a backslash before a character looks for it all the same)';
}
