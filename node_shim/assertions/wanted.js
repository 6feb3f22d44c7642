/** A tool call as a config wants it, and which of the calls made are such calls. */

import { argumentRules, differences } from './arguments.js';
import { bareName, sameName } from './names.js';
import { compilePattern } from './patterns.js';
import { get, show, showList, times } from './values.js';

const MAX_DIFFERENCES = 5;

export const listOf = (value) => (typeof value === 'string' ? [value] : value);

/** One tool, or all tools of a pattern, perhaps with arguments. */
class Wanted {
  constructor(options, name, exactName) {
    const [pattern, flags] = [get(options, 'pattern'), get(options, 'flags', '')];
    this.name = name;
    this.pattern = pattern === undefined ? undefined : compilePattern(pattern, flags);
    /** The tool for a message, without arguments. */
    this.label = pattern === undefined ? name ?? 'any tool' : `/${pattern}/${flags}`;
    this.exactName = get(options, 'exactName', exactName);
    this.arguments = get(options, 'args');
    this.rules = argumentRules(
      get(options, 'argsMode') === 'exact',
      get(options, 'text') === 'contains',
      listOf(get(options, 'ignore', [])),
    );
    /** `text: equal` is written: a text is never a number. */
    this.kindsCount = get(options, 'text') === 'equal';
  }

  /** The tool and its arguments for a message. */
  get fullLabel() {
    return this.arguments === undefined ? this.label : `${this.label} ${show(this.arguments)}`;
  }

  /** Whether a called tool's name is the wanted one. */
  hasName(called) {
    if (this.pattern !== undefined) return [called, bareName(called)].some((name) => this.pattern.foundIn(name));
    return this.name === undefined || sameName(this.name, called, this.exactName);
  }

  /** Where the arguments of a call differ from the wanted ones. */
  differences(call) {
    return this.arguments === undefined ? [] : differences(this.arguments, call.arguments, this.rules);
  }

  /** Whether a call is known to be a wanted one. */
  fits(call) {
    if (!this.hasName(call.name)) return false;
    const known = this.arguments === undefined || call.inputState !== 'not sent';
    return known && this.differences(call).length === 0;
  }

  /** Whether numbers and booleans, taken for texts, make a call a wanted one. */
  fitsInAnyKind(call) {
    if (this.arguments === undefined || this.kindsCount || call.inputState !== 'known') return false;
    return differences(this.arguments, call.arguments, { ...this.rules, anyKind: true }).length === 0;
  }
}

/** What checked options want: one for each name, or one for a pattern or any tool. */
export function wantedTools(options, exactName = false) {
  const names = get(options, 'tool');
  return (names === undefined ? [undefined] : listOf(names)).map((name) => new Wanted(options, name, exactName));
}

/** The steps of `toolOrder`. */
export function wantedSteps(options) {
  const exact = get(options, 'exactName', false);
  return options.tools.map((step) => wantedTools(typeof step === 'string' ? { tool: step } : step, exact)[0]);
}

/**
 * Which calls are wanted ones: those with the name, with the arguments too, with unknown ones, and with
 * arguments that differ only in being numbers, booleans or texts.
 */
export function match(calls, wanted) {
  const named = calls.filter((call) => wanted.hasName(call.name));
  const matched = named.filter((call) => wanted.fits(call));
  const unknown = named.filter(
    (call) => wanted.arguments !== undefined && call.inputState !== 'known' && !matched.includes(call),
  );
  const alike = named.filter((call) => !matched.includes(call) && wanted.fitsInAnyKind(call));
  return { named, matched, unknown, alike };
}

/** A sentence part that lists the tools of some calls. */
export function toolsCalled(calls, where = '') {
  if (calls.length === 0) return `no tool was called${where}`;
  return `tools called${where} were ${showList(calls.map((call) => call.name))}`;
}

/** Where the call that differs least differs from the wanted one. */
export function closestCall(named, wanted) {
  const known = named.filter((call) => call.inputState !== 'not sent');
  const found = known.map((call) => [call, wanted.differences(call)]);
  const [call, least] = found.reduce((best, one) => (one[1].length < best[1].length ? one : best));
  const more = least.length > MAX_DIFFERENCES ? `; and ${least.length - MAX_DIFFERENCES} more` : '';
  const shown = least.slice(0, MAX_DIFFERENCES).join('; ');
  return `the closest call (call ${call.number}, turn ${call.turn}) differs in ${shown}${more}`;
}

/** What makes calls doubtful that only the kinds of their arguments keep apart. */
export function alikeCalls(matches, wanted) {
  return matches.alike.map((call) => (
    `${wanted.fullLabel}: call ${call.number} (turn ${call.turn}) has ${show(call.arguments)}, `
    + 'which differs only in that a number or boolean is a text there or here; write it as the '
    + 'agent sends it, {$regex: ...} for both, or text: equal where that counts'
  ));
}

/** Why the arguments of some calls are not known. */
export function unknownArguments(matches) {
  const cut = matches.unknown.filter((call) => call.inputState === 'cut').length;
  const unsent = matches.unknown.length - cut;
  const parts = [];
  if (unsent) {
    parts.push(`the gateway did not send inputs for ${unsent} of ${times(matches.named.length, 'call')}`);
  }
  if (cut) {
    parts.push(`the inputs of ${times(cut, 'call')} were cut to keep the row small (raise maxMetadataKb)`);
  }
  return `${parts.join(' and ')}, so the arguments cannot be judged`;
}

