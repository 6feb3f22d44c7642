/** The check about the order of tool calls. */

import { gaps, outcome } from './outcome.js';
import { get, showList, times } from './values.js';
import { closestCall, match, toolsCalled, unknownArguments, wantedSteps } from './wanted.js';

/** The calls are the wanted ones, by one of four rules. */
export function toolOrder(options, evidence) {
  const mode = get(options, 'mode', 'inOrder');
  const failures = MODES[mode](wantedSteps(options), evidence.calls);
  const called = toolsCalled(evidence.calls, evidence.where);
  if (failures.length > 0) return outcome(called, [...failures, called]);
  const absent = mode === 'exact' || mode === 'subset'; // these also say that nothing else was called
  return outcome(called, absent ? gaps(evidence, options) : []);
}

/** Other calls may stand between. */
function inOrder(steps, calls) {
  let start = 0;
  for (const [number, step] of steps.entries()) {
    const at = calls.findIndex((call, index) => index >= start && step.fits(call));
    if (at === -1) {
      if (start === 0) return [whyNot(step, calls, '')];
      const after = ` after ${steps[number - 1].fullLabel} (call ${calls[start - 1].number})`;
      return [whyNot(step, calls.slice(start), after)];
    }
    start = at + 1;
  }
  return [];
}

/** These calls and no others. */
function exact(steps, calls) {
  const failures = [];
  if (steps.length !== calls.length) {
    const wanted = showList(steps.map((step) => step.fullLabel));
    failures.push(`expected exactly ${times(steps.length, 'call')} ${wanted}, got ${calls.length}`);
  }
  for (let index = 0; index < Math.min(steps.length, calls.length); index += 1) {
    const [step, call] = [steps[index], calls[index]];
    if (!step.hasName(call.name)) {
      failures.push(`step ${index + 1}: expected ${step.fullLabel}, got ${call.name}`);
    } else if (!step.fits(call)) failures.push(`step ${index + 1}: ${whyNot(step, [call], '')}`);
  }
  return failures;
}

/** Each step by a call of its own, in any order; other calls may be there. */
function anyOrder(steps, calls) {
  const taken = new Map();
  const failures = [];
  for (const [number, step] of steps.entries()) {
    if (place(number, steps, calls, taken, new Set())) continue;
    if (calls.some((call) => step.fits(call))) {
      failures.push(`${step.fullLabel} was called less often than listed`);
    } else failures.push(whyNot(step, calls, ''));
  }
  return failures;
}

/** Give a step a call, moving other steps to other calls where that is needed. */
function place(step, steps, calls, taken, tried) {
  for (const [index, call] of calls.entries()) {
    if (tried.has(index) || !steps[step].fits(call)) continue;
    tried.add(index);
    if (!taken.has(index) || place(taken.get(index), steps, calls, taken, tried)) {
      taken.set(index, step);
      return true;
    }
  }
  return false;
}

/** No call but the listed ones, any number of times. */
function subset(steps, calls) {
  return calls.filter((call) => !steps.some((step) => step.fits(call))).map((call) => {
    const which = `${call.name} (call ${call.number}, turn ${call.turn})`;
    const named = steps.find((step) => step.hasName(call.name));
    return named === undefined
      ? `${which} is none of the listed tools`
      : `${which}: ${whyNot(named, [call], '')}`;
  });
}

/** Why no call is the one that a step wants. */
function whyNot(step, calls, after) {
  const matches = match(calls, step);
  if (matches.named.length === 0) return `${step.fullLabel} was not called${after}`;
  if (matches.unknown.length > 0) return `${step.fullLabel}: ${unknownArguments(matches)}`;
  return `${step.fullLabel} was not called${after}; ${closestCall(matches.named, step)}`;
}

const MODES = { inOrder, exact, anyOrder, subset };
