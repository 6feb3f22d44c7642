/**
 * Fill `{{name}}` in an assertion's config from the test's vars, which promptfoo does not do.
 *
 * A text that is nothing but `{{name}}` becomes the variable itself, so a number stays a number.
 * What cannot be filled in is a problem: left as it is, it would make a negative check pass.
 */

import { didYouMean, has, isMapping, jsonText, show, sortedKeys } from './values.js';

const FIELD = /\{\{([^{}]*)\}\}/g;
const WHOLE = /^\{\{([^{}]*)\}\}$/;
const NAME = /^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z0-9_]+)*$/;

/** A copy of a config value with its fields filled in; problems are appended. */
export function fill(value, variables, problems) {
  if (Array.isArray(value)) return value.map((item) => fill(item, variables, problems));
  if (isMapping(value)) {
    return Object.fromEntries(sortedKeys(value).map((key) => [key, fill(value[key], variables, problems)]));
  }
  if (typeof value !== 'string' || !(value.includes('{{') || value.includes('{%'))) return value;
  const whole = WHOLE.exec(value);
  if (whole !== null) return lookUp(whole[1], variables, problems);
  const rest = value.replace(FIELD, '');
  if (rest.includes('{{') || rest.includes('{%')) {
    problems.push(`${show(value)}: only {{name}} is filled in, no other template`);
    return value;
  }
  return value.replace(FIELD, (_, field) => textOf(field, variables, problems));
}

function textOf(field, variables, problems) {
  const before = problems.length;
  const value = lookUp(field, variables, problems);
  if (value === null && problems.length === before) {
    problems.push(`{{${bare(field)}}} is null, and stands inside a text`);
  }
  return typeof value === 'string' ? value : jsonText(value);
}

const bare = (field) => field.replace(/^ +| +$/g, '');

function lookUp(field, variables, problems) {
  const name = bare(field);
  if (!NAME.test(name)) {
    problems.push(
      `{{${field}}}: only names of variables are filled in, such as {{order}} or {{order.id}}`,
    );
    return '';
  }
  let value = variables;
  for (const part of name.split('.')) {
    if (isMapping(value) && has(value, part)) value = value[part];
    else if (Array.isArray(value) && /^(0|[1-9][0-9]{0,8})$/.test(part) && Number(part) < value.length) {
      value = value[Number(part)];
    } else return missing(name, variables, problems);
  }
  return value;
}

function missing(name, variables, problems) {
  if (name.startsWith('env.')) {
    problems.push(`{{${name}}}: this environment variable is not set`);
  } else {
    const hint = didYouMean(name, sortedKeys(variables));
    problems.push(`{{${name}}}: the test has no such variable${hint}`);
  }
  return '';
}
