/**
 * A transform of promptfoo: a text made of the row's metadata.
 *
 * @param output not looked at
 * @param context promptfoo's: `metadata`
 * @throws where the row is not of a Lobu provider
 */
export type LobuTransform = (output: unknown, context: Record<string, unknown>) => string;

/** For `contextTransform`: what was retrieved, or a sentence that says why there is nothing. */
export const retrievedContext: LobuTransform;
/** For the `transform` of an `llm-rubric`: answers, tool calls and cards of all turns. */
export const evidence: LobuTransform;
