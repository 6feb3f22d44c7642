/**
 * LobuProvider: what promptfoo loads as `package:@lobu/promptfoo-provider:LobuProvider`.
 *
 * Named exports only: promptfoo takes a default export for the whole module. The work is done by
 * the Python package lobu-provider; see bridge_process.js for how it is reached.
 */

import { bridgeFor } from './bridge.js';
import { callContext, callOptions, callPrompt, callSignal } from './call_context.js';
import { failed, Failure } from './failures.js';
import { findPython } from './find_python.js';
import { makeSpans, takesSpans } from './spans.js';

export {
  completed, maxCost, maxLatency, maxTokens, maxToolCalls, maxTurns, needsHuman, noToolErrors, retrieved,
  toolCalled, toolNotCalled, toolOrder, turns,
} from './assertions.js';

const PACKAGE = '@lobu/promptfoo-provider';

/** Config keys that hold no secret, for people who print a provider. */
const SHOWN_KEYS = [
  'agent', 'org', 'provider', 'model', 'timeoutMs', 'thread', 'keepSession', 'dryRun', 'renderTurns',
  'stringTranscript', 'retrievalTools', 'tokenEnv', 'tokenFile', 'pythonExecutable', 'basePath',
  'turnTimeoutMs', 'idleTimeoutMs', 'retries', 'stopOnTool', 'maxToolCalls', 'caFile',
  'maxConcurrentSessions', 'sessionStartGapMs', 'failureTexts', 'allowEmpty', 'maxMetadataKb',
  'tracing', 'traceArguments',
];

/** How extension.js asks a provider for all of its options; not for JSON, which is printed. */
const OPTIONS = Symbol.for('lobu-provider.options');

export class LobuProvider {
  /** @type {string | undefined} promptfoo sets it after it has made the provider. */
  label;

  #options;
  #bridge;

  /** @param {import('./index.js').LobuProviderOptions} [options] */
  constructor(options) {
    const { id, config, env } = options ?? {};
    this.#options = { id, config: config ?? {}, env: env ?? {} };
  }

  id() {
    const { id, config } = this.#options;
    if (typeof id === 'string' && id) return id;
    return typeof config.agent === 'string' && config.agent ? `lobu:${config.agent}` : 'lobu';
  }

  /**
   * @param {string} prompt
   * @param {Record<string, unknown>} [context]
   * @param {{ abortSignal?: AbortSignal }} [more]
   * @returns {Promise<import('./index.js').LobuProviderResponse>} never rejects
   */
  async callApi(prompt, context, more) {
    try {
      const call = {
        options: callOptions(this.#options),
        prompt: callPrompt(prompt),
        context: callContext(context),
        ...(takesSpans() ? { spans: true } : {}),
      };
      const response = await this.#openBridge().call(call, callSignal(more?.abortSignal));
      return await makeSpans(response);
    } catch (error) {
      return failed(error, this.#secrets());
    }
  }

  /** End the Python process if no other provider uses it. */
  async cleanup() {
    const bridge = this.#bridge;
    this.#bridge = undefined;
    await bridge?.leave(this);
  }

  get [OPTIONS]() {
    return this.#options;
  }

  toJSON() {
    const { config, env } = this.#options;
    const shown = Object.fromEntries(
      SHOWN_KEYS.filter((key) => config[key] !== undefined).map((key) => [key, config[key]]),
    );
    const gateway = typeof config.gateway === 'string' ? { gateway: bareUrl(config.gateway) } : {};
    const told = new Set([...SHOWN_KEYS, 'gateway']);
    // Whoever reads this in the place of the options must know that they are not all here.
    const hidden = Object.keys(config).some((key) => !told.has(key)) || Object.keys(env).length > 0;
    const configShown = { ...shown, ...gateway };
    return { id: this.id(), label: this.label, package: PACKAGE, hidden, config: configShown };
  }

  #openBridge() {
    if (this.#bridge === undefined) {
      const python = findPython(this.#options);
      if (python.command === undefined) throw new Failure('config', python.problem);
      this.#bridge = bridgeFor(python);
      this.#bridge.join(this);
    }
    return this.#bridge;
  }

  #secrets() {
    const found = [process.env.LOBU_TOKEN];
    try {
      const { config, env } = this.#options;
      found.push(env.LOBU_TOKEN, config.token, ...Object.values(config.headers ?? {}));
    } catch {
      // a config whose own getters throw; the error row must come all the same
    }
    return found;
  }
}

/** Without what may be a secret in an address: user, password and query. */
function bareUrl(text) {
  return text.replace(/\/\/[^/@]*@/, '//').replace(/[?#].*$/s, '');
}
