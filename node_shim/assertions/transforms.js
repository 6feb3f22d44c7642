/**
 * Texts made of a row for promptfoo's model-graded assertions: what was retrieved, what happened.
 *
 * promptfoo makes an error row of a transform that throws or returns nothing, so each gives a text
 * for every row of a Lobu provider, and throws only where there is nothing to judge.
 */

import { readEvidence } from './evidence.js';
import { evidenceText } from './evidence_text.js';
import { get, isMapping } from './values.js';

/** No more, e.g. that a search failed: a grader would compare those words with the test's. */
const NOTHING = 'No context was retrieved.';

/** By the name that a config writes after the file. */
export const TRANSFORMS = { retrievedContext, evidence: evidenceText };

/**
 * The text that a transform makes of a row.
 *
 * @param {string} name a key of TRANSFORMS
 * @param context what promptfoo hands a transform: `vars`, `prompt` and `metadata`
 * @throws {NoEvidence} the row is not of a Lobu provider, or is malformed; the text says why
 */
export function transform(name, context) {
  const metadata = isMapping(context) ? get(context, 'metadata') : undefined;
  return TRANSFORMS[name](readEvidence({ providerResponse: { metadata } }));
}

/** What the searches found, each text once, or NOTHING. */
function retrievedContext(evidence) {
  const text = get(evidence.response.metadata, 'retrievedContext');
  if (typeof text === 'string' && text.trim()) return text;
  // Without snippets nothing was found; with them the joined text was dropped, the row being big.
  return evidence.snippets.join('\n\n') || NOTHING;
}
