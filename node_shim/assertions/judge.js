/** The way of every assertion: its config filled in and checked, the row read, the check run. */

import * as about from './conversation_checks.js';
import { NoEvidence, ofTurn, readEvidence } from './evidence.js';
import { checkOptions } from './options.js';
import { toolOrder } from './order_check.js';
import { failed, grading } from './outcome.js';
import { fill } from './templates.js';
import * as tools from './tool_checks.js';
import { checkGroups, judgeGroups } from './turn_groups.js';
import { get, has, isMapping, same } from './values.js';

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
  refuseNegation(check, config, get(given, 'test'));
  const problems = [];
  const variables = plain(get(given, 'vars') ?? {});
  const options = fill(config, isMapping(variables) ? variables : {}, problems);
  if (problems.length === 0) problems.push(...problemsOf(check, options));
  if (problems.length > 0) return failed(`${check}: the configuration is wrong: ${problems.join('\n')}`);
  try {
    const evidence = readEvidence(context);
    return check === 'turns' ? judgeGroups(options.turns, evidence, run) : grading(check, run(check, options, evidence));
  } catch (error) {
    if (!(error instanceof NoEvidence)) throw error;
    return failed(`${check} failed: ${error.message}`);
  }
}

/** As JSON has it, which is how Python sees it. */
const plain = (value) => JSON.parse(JSON.stringify(value) ?? 'null');

function problemsOf(check, options) {
  const problems = checkOptions(check, options);
  if (check === 'turns' && isMapping(options) && has(options, 'turns')) problems.push(...checkGroups(options.turns));
  return problems;
}

const run = (check, options, evidence) => RUN[check](options, ofTurn(evidence, get(options, 'turn')));

/** Find this assertion among the test's, which say their type; the context does not. */
function refuseNegation(check, config, test) {
  for (const assertion of assertionsIn(isMapping(test) ? get(test, 'assert') : undefined)) {
    const [kind, value] = [get(assertion, 'type'), get(assertion, 'value')];
    if (
      ['not-python', 'not-javascript'].includes(kind)
      && typeof value === 'string'
      && value.endsWith(`:${check}`)
      && same(plain(get(assertion, 'config') ?? {}), config)
    ) {
      throw new Error(
        `lobu-provider: do not write ${kind} with ${check}: a mistake in the configuration or a failed call `
        + `would pass. ${INSTEAD[check] ?? 'There is an option for it'}.`,
      );
    }
  }
}

function assertionsIn(found) {
  if (!Array.isArray(found)) return [];
  return found.filter(isMapping).flatMap((item) => [item, ...assertionsIn(get(item, 'assert'))]);
}
