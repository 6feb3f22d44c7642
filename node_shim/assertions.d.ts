/** promptfoo's grading result. */
export interface LobuGradingResult {
  pass: boolean;
  score: number;
  reason: string;
  /** Only of `turns`: for each turn (`turn 1`) and each `metric`. */
  namedScores?: Record<string, number>;
  namedScoreWeights?: Record<string, number>;
  /** Only of `turns`: one for each check. */
  componentResults?: Array<{
    pass: boolean;
    score: number;
    reason: string;
    assertion: { type: string; value: string; metric?: string; weight?: number };
  }>;
}

/**
 * An assertion for `type: javascript`, with its options under `config:`.
 *
 * @param output not looked at: the check reads `context.providerResponse`
 * @param context promptfoo's: `config`, `vars`, `test`, `providerResponse`
 * @throws where a grading result could turn a mistake into a pass, as with `not-javascript`
 */
export type LobuAssertion = (output: unknown, context: Record<string, unknown>) => LobuGradingResult;

/** A tool was called: `tool` or `pattern`, `args`, `times`, `min`, `max`, ... */
export const toolCalled: LobuAssertion;
/** A tool was not called. */
export const toolNotCalled: LobuAssertion;
/** Tools were called in this order: `tools`, `mode`. */
export const toolOrder: LobuAssertion;
/** At most `max` tool calls. */
export const maxToolCalls: LobuAssertion;
/** No tool call failed. */
export const noToolErrors: LobuAssertion;
/** The conversation ended normally and waits for nobody. */
export const completed: LobuAssertion;
/** At most `max` turns. */
export const maxTurns: LobuAssertion;
/** At most `turnMs`, `firstTextMs` and `totalMs` milliseconds. */
export const maxLatency: LobuAssertion;
/** A card asks for a person; with `expected: false` none does. */
export const needsHuman: LobuAssertion;
/** Snippets were retrieved: `contains`, `regex`, `min`. */
export const retrieved: LobuAssertion;
/** Checks for each turn: `turns: {1: [...], 2: [...]}`. */
export const turns: LobuAssertion;
/** At most `max` tokens; `whenUnknown: skip` where the gateway reports none. */
export const maxTokens: LobuAssertion;
/** A cost of at most `max`; `whenUnknown: skip` where the gateway reports none. */
export const maxCost: LobuAssertion;
