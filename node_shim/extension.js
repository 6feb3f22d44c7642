/**
 * promptfoo's hooks around a whole run, for JavaScript configs and for `package:` providers:
 *
 *     extensions:
 *       - file://./node_modules/@lobu/promptfoo-provider/extension.js:beforeAll
 *       - file://./node_modules/@lobu/promptfoo-provider/extension.js:afterAll
 *
 * It runs inside promptfoo and changes the suite in place, so functions in it stay what they are.
 * Transcripts and transforms are repaired here; everything else is done by the Python package, whose
 * rules for both (transcripts.py and context_transforms.py in lobu_provider/extension) are the same.
 */

import { readFileSync } from 'node:fs';
import path from 'node:path';

import { findPython } from './find_python.js';
import { runHook } from './extension_process.js';

const OPTIONS = Symbol.for('lobu-provider.options');
const PACKAGE = '@lobu/promptfoo-provider';
const TRUE = ['1', 'true', 'yes', 'yup', 'yeppers'];

/**
 * @param {{ suite: Record<string, any> }} context promptfoo's
 * @returns {Promise<undefined>} rejects to stop the run
 */
export async function beforeAll(context) {
  const { suite } = context;
  const providers = ourProviders(suite);
  if (providers.length === 0) return undefined;
  const { stop } = await runHook(python(providers), {
    hook: 'beforeAll',
    context: { suite: { ...namesOf(suite), providers } },
  });
  if (stop !== undefined) {
    tell(stop); // promptfoo shows an error amid much else
    throw stopped(stop);
  }
  repairTranscripts(suite, providers);
  for (const place of places(suite)) correctTransforms(place?.assert);
  return undefined;
}

/** @param {{ suite: Record<string, any>, evalId?: string }} context promptfoo's */
export async function afterAll(context) {
  try {
    const providers = ourProviders(context.suite);
    if (providers.length === 0) return undefined;
    const { stop } = await runHook(python(providers), {
      hook: 'afterAll',
      context: { evalId: context.evalId, suite: { providers } },
    });
    if (stop !== undefined) tell(stop);
  } catch (error) {
    tell(`the extension failed: ${error?.name}. The results are complete.`);
  }
  return undefined;
}

/** Our providers, with all of their options, as lobu_provider/extension/suite.py reads them. */
function ourProviders(suite) {
  const seen = (suite?.providers ?? []).map((provider, index) => {
    const label = provider?.label || undefined;
    const options = provider?.[OPTIONS];
    if (options !== undefined) return { index, label, package: PACKAGE, options };
    const script = provider?.scriptPath;
    if (typeof script !== 'string' || !isOurs(script)) return undefined;
    const { id, config = provider.config, env } = provider.options ?? {};
    return { index, label, scriptPath: script, options: { id, config, env } };
  });
  return seen.filter((provider) => provider !== undefined);
}

function isOurs(script) {
  if (path.basename(script) === 'lobu_hook.py') return true;
  try {
    return script.endsWith('.py') && readFileSync(script, 'utf8').includes('lobu_provider'); // a renamed copy
  } catch {
    return false;
  }
}

function python(providers) {
  return findPython({ config: providers[0].options.config ?? {}, env: providers[0].options.env ?? {} });
}

/** What the advice on tests is made of; no functions, and nothing that refers to itself. */
function namesOf(suite) {
  const judged = (place) => (Array.isArray(place?.assert) && place.assert.length > 0 ? [true] : []);
  const names = (tests) => list(tests).map((test) => ({ description: test?.description, assert: judged(test) }));
  return {
    tests: names(suite.tests),
    scenarios: list(suite.scenarios).map((scenario) => ({
      config: list(scenario?.config).map((data) => ({ assert: judged(data) })),
      tests: names(scenario?.tests),
    })),
    defaultTest: { assert: judged(suite.defaultTest) },
  };
}

function repairTranscripts(suite, providers) {
  const expands = !TRUE.includes((process.env.PROMPTFOO_DISABLE_VAR_EXPANSION ?? '').toLowerCase());
  const meant = providers.some(({ options }) => options.config?.stringTranscript !== 'prompt');
  if (!expands || !meant) return;
  for (const place of places(suite)) {
    const turns = place?.vars?.transcript;
    if (!Array.isArray(turns) || typeof turns[0] !== 'string') continue;
    const options = { ...suite.defaultTest?.options, ...place.options };
    const isReshaped = String(options.transformVars ?? '').includes('transcript');
    if (options.disableVarExpansion !== true && !isReshaped) place.vars.transcript = [turns];
  }
}

/** As lobu_provider/extension/context_transforms.py does. */
function correctTransforms(assertions) {
  for (const assertion of list(assertions)) {
    const transform = assertion?.contextTransform;
    if (typeof transform === 'string' && !/\n|:\/\//.test(transform)) {
      const corrected = transform.replace(/(?<![\w.$'"`])metadata(?=\s*(\.|\?\.|\[))/g, 'context.metadata');
      if (corrected !== transform) assertion.contextTransform = corrected;
    }
    correctTransforms(assertion?.assert); // of an assert-set
  }
}

/** Everything that becomes part of a test. */
function places(suite) {
  const scenarios = list(suite.scenarios).flatMap((scenario) => [...list(scenario?.config), ...list(scenario?.tests)]);
  return [suite.defaultTest, ...scenarios, ...list(suite.tests)];
}

function list(value) {
  return Array.isArray(value) ? value : [];
}

/** An error whose stack is its message: promptfoo prints it several times. */
function stopped(reason) {
  const error = new Error(`lobu-provider: ${reason}`);
  error.stack = error.message;
  return error;
}

function tell(text) {
  process.stderr.write(`lobu-provider: ${text}\n`);
}
