/** What a check finds out, and promptfoo's grading result made of it. */

import { get } from './values.js';

/** The result of one check: what was seen, and all that is wrong. */
export const outcome = (seen, failures = []) => ({ seen, failures });

/** promptfoo's grading result. */
export function grading(title, { seen, failures }) {
  if (failures.length === 0) return { pass: true, score: 1, reason: `${title}: ${seen}` };
  return failed(`${title} failed: ${failures.join('\n')}`);
}

/** promptfoo's grading result for a failure. */
export const failed = (reason) => ({ pass: false, score: 0, reason });

/** Why a check that something is absent cannot be made, unless the options allow it. */
export function gaps(evidence, options, what = 'tool calls') {
  if (evidence.holes.length === 0 || get(options, 'allowGaps', false)) return [];
  const why = evidence.holes.join('; ');
  return [`${what} may be missing, so this cannot be said: ${why} (allowGaps: true accepts that)`];
}
