/** Failures on this side of the bridge, as error rows of the same form as the Python side's. */

const FACTS = {
  config: { class: 'config', phase: 'config', retryable: false },
  cancelled: { class: 'infrastructure', phase: 'create', retryable: true },
  internal: { class: 'infrastructure', phase: 'turn', retryable: false },
};

export class Failure extends Error {
  /**
   * @param {'config' | 'cancelled' | 'internal'} code
   * @param {string} message what happened, why, and what to do
   * @param {{ retryable?: boolean, phase?: string }} [facts] where they differ from the code's usual
   */
  constructor(code, message, facts = {}) {
    super(message);
    this.code = code;
    this.facts = { code, ...FACTS[code], ...facts };
  }
}

/** What an error says; whatever was thrown, this does not throw. */
function words(error) {
  try {
    return String(error);
  } catch {
    return 'something that cannot be printed';
  }
}

export const cancelled = () =>
  new Failure('cancelled', 'The run was interrupted before this call ended.');

/**
 * The row for an error.
 *
 * @param {unknown} error
 * @param {unknown[]} [secrets] values that the text must not show
 */
export function failed(error, secrets = []) {
  const failure = error instanceof Failure
    ? error
    : new Failure('internal', `@lobu/promptfoo-provider failed: ${words(error)}. Please report this.`);
  let text = failure.message;
  for (const secret of secrets) {
    if (typeof secret === 'string' && secret.trim().length >= 6) {
      text = text.replaceAll(secret.trim(), '[hidden]');
    }
  }
  return {
    output: '',
    error: `[${failure.code}] ${text}`.toWellFormed(),
    metadata: {
      toolCalls: [],
      retrievedSnippets: [],
      turns: [],
      interactions: [],
      messages: '[]',
      warnings: [],
      error: failure.facts,
      // Switches off promptfoo's retry, which would replay the conversation.
      rateLimitKind: 'quota',
    },
  };
}
