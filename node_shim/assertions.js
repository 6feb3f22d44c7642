/**
 * The assertions: `type: javascript`, `value: package:@lobu/promptfoo-provider:toolCalled`, options
 * under `config:`. docs/assertions.md of lobu-provider describes them.
 *
 * Each gets promptfoo's `(output, context)` and returns its grading result. It throws only where a
 * grading result could turn a mistake into a pass.
 */

import { judge } from './assertions/judge.js';

const check = (name) => (output, context) => judge(name, context);

export const toolCalled = check('toolCalled');
export const toolNotCalled = check('toolNotCalled');
export const toolOrder = check('toolOrder');
export const maxToolCalls = check('maxToolCalls');
export const noToolErrors = check('noToolErrors');
export const completed = check('completed');
export const maxTurns = check('maxTurns');
export const maxLatency = check('maxLatency');
export const needsHuman = check('needsHuman');
export const retrieved = check('retrieved');
export const turns = check('turns');
export const maxTokens = check('maxTokens');
export const maxCost = check('maxCost');
