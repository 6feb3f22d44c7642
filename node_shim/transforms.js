/**
 * Transforms for promptfoo's model-graded assertions:
 * `contextTransform: file://./node_modules/@lobu/promptfoo-provider/transforms.js:retrievedContext`.
 * docs/retrieval.md of lobu-provider describes them. promptfoo takes no `package:` here.
 */

import { transform } from './assertions/transforms.js';

export const retrievedContext = (output, context) => transform('retrievedContext', context);
export const evidence = (output, context) => transform('evidence', context);
