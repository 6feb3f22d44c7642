/** The way of every assertion: its config filled in and checked, the row read, the check run. */

import { misplaced, ownAssertions } from './beside_config.js';
import * as about from './conversation_checks.js';
import { NoEvidence, ofTurn, readEvidence } from './evidence.js';
import { checkOptions } from './options.js';
import { toolOrder } from './order_check.js';
import { failed, grading } from './outcome.js';
import { fill } from './templates.js';
import * as tools from './tool_checks.js';
import { checkGroups, judgeGroups } from './turn_groups.js';
import { get, has, isMapping, plain } from './values.js';

const RUN = { ...about, ...tools, toolOrder };

const INSTEAD = {
  toolCalled: 'Write toolNotCalled',
  toolNotCalled: 'Write toolCalled',
  needsHuman: 'Write expected: false',
  turns: 'Write the opposite of its checks, e.g. not-contains',
};

/**
 * promptfoo's grading result of one assertion.
 *
 * @param {string} check its name
 * @param context what promptfoo hands an assertion
 * @throws {Error} when a grading result would be turned round, also that of a mistake
 */
export function judge(check, context) {
  const given = isMapping(context) ? context : {};
  const config = plain(get(given, 'config') ?? {});
  const test = get(given, 'test');
  const own = ownAssertions(check, config, isMapping(test) ? get(test, 'assert') : undefined);
  refuseNegation(check, own);
  const unfilled = [];
  const variables = plain(get(given, 'vars') ?? {});
  const options = fill(config, isMapping(variables) ? variables : {}, unfilled);
  const beside = new Set(own.flatMap((one) => misplaced(check, one)));
  const problems = [...beside, ...(unfilled.length > 0 ? unfilled : problemsOf(check, options))];
  if (problems.length > 0) return failed(`${check}: the configuration is wrong: ${problems.join('\n')}`);
  try {
    const evidence = readEvidence(context);
    return check === 'turns' ? judgeGroups(options.turns, evidence, run) : grading(check, run(check, options, evidence));
  } catch (error) {
    if (!(error instanceof NoEvidence)) throw error;
    return failed(`${check} failed: ${error.message}`);
  }
}

function problemsOf(check, options) {
  const problems = checkOptions(check, options);
  if (check === 'turns' && isMapping(options) && has(options, 'turns')) problems.push(...checkGroups(options.turns));
  return problems;
}

const run = (check, options, evidence) => RUN[check](options, ofTurn(evidence, get(options, 'turn')));

/** Look for a type that begins with `not-`; only the test's assertions say their type. */
function refuseNegation(check, own) {
  const kind = own.map((assertion) => assertion.type).find((type) => type.startsWith('not-'));
  if (kind === undefined) return;
  throw new Error(
    `lobu-provider: do not write ${kind} with ${check}: a mistake in the configuration or a failed call `
    + `would pass. ${INSTEAD[check] ?? 'There is an option for it'}.`,
  );
}
