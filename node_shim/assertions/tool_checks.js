/** The checks about tool calls: which, how many, with which arguments, without errors. */

import { gaps, outcome } from './outcome.js';
import { get, isMapping, show, showList, times } from './values.js';
import { alikeCalls, closestCall, listOf, match, toolsCalled, unknownArguments, wantedTools } from './wanted.js';

/** Each wanted tool was called, as often as wanted. */
export function toolCalled(options, evidence) {
  const least = get(options, 'times', get(options, 'min', 1));
  const most = get(options, 'times', get(options, 'max'));
  const [seen, failures] = [[], []];
  for (const wanted of wantedTools(options)) {
    const matches = match(evidence.calls, wanted);
    seen.push(`${wanted.fullLabel} was called ${count(matches)}${evidence.where}`);
    const failure = calledOtherwise(matches, wanted, least, most, evidence);
    if (failure !== undefined) failures.push(failure);
    else if (most !== undefined && matches.matched.length + matches.alike.length > most) {
      failures.push(...alikeCalls(matches, wanted));
    }
    if (most !== undefined) failures.push(...inAttempts(wanted, evidence));
  }
  if (most !== undefined && failures.length === 0) failures.push(...gaps(evidence, options));
  else if (failures.length > 0 && evidence.holes.length > 0) {
    failures.push(`tool calls may be missing: ${evidence.holes.join('; ')}`);
  }
  return outcome(seen.join('; '), failures);
}

function count({ matched, named }) {
  const others = named.length - matched.length;
  const sure = times(matched.length);
  return others ? `${sure}, and ${times(others)} with other arguments` : sure;
}

/** What is wrong with the number of calls, or `undefined`. */
function calledOtherwise(matches, wanted, least, most, evidence) {
  const { named, matched, unknown } = matches;
  const [sure, possible] = [matched.length, matched.length + unknown.length];
  const [noLimit, { where }, label] = [most === undefined, evidence, wanted.fullLabel];
  if (sure >= least && (noLimit || possible <= most)) return undefined;
  if (named.length === 0) return `${label} was not called${where}; ${toolsCalled(evidence.calls, where)}`;
  if (unknown.length > 0 && possible >= least && (noLimit || sure <= most)) {
    return `${label}: ${unknownArguments(matches)}`;
  }
  const expected = expectedCount(least, most);
  if (wanted.arguments === undefined || sure > least) {
    return `${label} was called ${times(sure)}${where}, expected ${expected}; `
      + toolsCalled(evidence.calls, where);
  }
  const called = `${wanted.label} was called ${times(named.length)}${where}`;
  const right = sure === 0 ? 'no call' : `only ${times(sure, 'call')}`;
  if (named.length > sure) {
    const others = named.filter((call) => !matched.includes(call));
    const known = others.some((call) => call.inputState !== 'not sent');
    const closest = known ? `; ${closestCall(others, wanted)}` : '';
    return `${called}, but ${right} matched the arguments ${show(wanted.arguments)}`
      + `${least === 1 && noLimit ? '' : `, expected ${expected}`}${closest}`;
  }
  return `${called} with the arguments ${show(wanted.arguments)}, expected ${expected}`;
}

function expectedCount(least, most) {
  if (most === undefined) return `at least ${times(least)}`;
  return most === least ? `exactly ${times(least)}` : `${least} to ${times(most)}`;
}

/** None of the wanted tools was called. */
export function toolNotCalled(options, evidence) {
  const [seen, failures] = [[], []];
  for (const wanted of wantedTools(options)) {
    const matches = match(evidence.calls, wanted);
    seen.push(`${wanted.fullLabel} was not called${evidence.where}`);
    for (const call of matches.matched) {
      failures.push(`${wanted.fullLabel} was called (call ${call.number}, turn ${call.turn}) with ${sent(call)}`);
    }
    if (matches.unknown.length > 0) failures.push(`${wanted.fullLabel}: ${unknownArguments(matches)}`);
    failures.push(...alikeCalls(matches, wanted));
    failures.push(...inAttempts(wanted, evidence));
  }
  return outcome(seen.join('; '), failures.length > 0 ? failures : gaps(evidence, options));
}

function sent(call) {
  return call.inputState === 'not sent' ? 'an input that the gateway did not send' : show(call.arguments);
}

/** What was called before the case was repeated; arguments of such calls are not kept. */
function inAttempts(wanted, evidence) {
  const found = [];
  for (const attempt of evidence.attempts) {
    const names = get(attempt, 'toolCalls');
    const called = Array.isArray(names) ? names.filter((name) => typeof name === 'string') : [];
    if (called.some((name) => wanted.hasName(name))) {
      found.push(
        `${wanted.label} was called in attempt ${show(get(attempt, 'attempt'))}, which failed and was repeated; `
        + `tools called there were ${showList(called)}`,
      );
    }
  }
  return found;
}

/** At most so many calls, of all tools or of some. */
export function maxToolCalls(options, evidence) {
  const most = options.max;
  const tools = wantedTools(options);
  const calls = evidence.calls.filter((call) => tools.some((tool) => tool.hasName(call.name)));
  const which = tools.map((tool) => tool.label).join(' or ');
  const kind = which === 'any tool' ? 'tool calls' : `calls of ${which}`;
  const seen = `${calls.length} ${kind}${evidence.where}, at most ${show(most)} allowed`;
  if (calls.length > most) return outcome(seen, [`${seen}; ${toolsCalled(evidence.calls, evidence.where)}`]);
  return outcome(seen, gaps(evidence, options));
}

/** No call failed, in either of the ways that gateways tell it. */
export function noToolErrors(options, evidence) {
  const tools = wantedTools(options);
  const excepted = wantedTools({ tool: listOf(get(options, 'except', [])) }, get(options, 'exactName', false));
  const named = (list, call) => list.some((wanted) => wanted.hasName(call.name));
  const judged = evidence.calls.filter((call) => named(tools, call) && !named(excepted, call));
  const failures = judged.map(toolError).filter((text) => text !== undefined);
  const cut = judged.length > 0 && evidence.cut.has('toolCalls[].result_summary');
  if (cut && failures.length === 0 && !get(options, 'allowGaps', false)) {
    failures.push(
      'results of tools were cut to keep the row small (raise maxMetadataKb), so errors may be missing '
      + '(allowGaps: true accepts that)',
    );
  }
  const seen = `${times(judged.length, 'tool call')}${evidence.where}, none failed`;
  return outcome(seen, failures.length > 0 ? failures : gaps(evidence, options));
}

function toolError(call) {
  const which = `${call.name} (call ${call.number}, turn ${call.turn})`;
  const error = isMapping(call.summary) ? get(call.summary, 'error') ?? undefined : undefined;
  if (error !== undefined) return `${which} failed: ${typeof error === 'string' ? error : show(error)}`;
  if (call.isError === false) return undefined;
  if (call.isError === true) return `${which} failed; the gateway did not send the reason`;
  return `${which}: the gateway did not say whether it failed`;
}
