/**
 * Values as JSON has them: how they are written, and when two are the same.
 *
 * This folder is lobu_provider/assertions in JavaScript, file by file; tests/assertions/golden.json
 * holds both to the same verdicts and words.
 */

/** Characters of a value in a message. */
export const MAX_SHOWN = 200;

/** Entries of a list in a message. */
export const MAX_LISTED = 20;

export const isNumber = (value) => typeof value === 'number';

export const isMapping = (value) => typeof value === 'object' && value !== null && !Array.isArray(value);

/** What `mapping` itself holds under a key; nothing of what all objects have. */
export const get = (mapping, key, fallback) => (Object.hasOwn(mapping, key) ? mapping[key] : fallback);

export const has = (mapping, key) => Object.hasOwn(mapping, key);

export const sortedKeys = (mapping) => Object.keys(mapping).sort();

/** A value as JSON has it, which is how Python sees it. */
export const plain = (value) => JSON.parse(JSON.stringify(value) ?? 'null');

/** Compact JSON with sorted keys: languages differ in the order that they keep. */
export function jsonText(value) {
  if (Array.isArray(value)) return `[${value.map(jsonText).join(',')}]`;
  if (isMapping(value)) {
    return `{${sortedKeys(value).map((key) => `${JSON.stringify(key)}:${jsonText(value[key])}`).join(',')}}`;
  }
  return JSON.stringify(value) ?? 'null';
}

/** A value for a message, shortened. */
export function show(value, limit = MAX_SHOWN) {
  const text = jsonText(value);
  const characters = Array.from(text);
  return characters.length <= limit ? text : `${characters.slice(0, limit).join('')}...`;
}

/** Names for a message, in the order given. */
export function showList(texts) {
  const more = texts.length - MAX_LISTED;
  return `[${[...texts.slice(0, MAX_LISTED), ...(more > 0 ? [`${more} more`] : [])].join(', ')}]`;
}

/** E.g. `1 time` or `3 times`. */
export const times = (count, unit = 'time') => `${count} ${unit}${count === 1 ? '' : 's'}`;

/** Whether two JSON values are equal. */
export function same(first, second) {
  if (Array.isArray(first) && Array.isArray(second)) {
    return first.length === second.length && first.every((item, index) => same(item, second[index]));
  }
  if (isMapping(first) && isMapping(second)) {
    const keys = Object.keys(first);
    return keys.length === Object.keys(second).length
      && keys.every((key) => has(second, key) && same(first[key], second[key]));
  }
  return first === second;
}

/** Whether `part` occurs in `text`, ignoring case. */
export const contains = (text, part) => text.toLowerCase().includes(part.toLowerCase());

/** What was probably meant by a word that is none of the options. */
export function nearest(word, options) {
  let best;
  const wanted = bareWord(word);
  for (const option of options) {
    const steps = distance(wanted, bareWord(option));
    if (steps <= Math.max(2, Math.floor(wanted.length / 3)) && (best === undefined || steps < best[0])) {
      best = [steps, option];
    }
  }
  const start = wanted.slice(0, 3);
  return best?.[1] ?? options.find((option) => start && bareWord(option).slice(0, 3) === start);
}

/** A suggestion to append, or nothing. */
export function didYouMean(word, options) {
  const meant = nearest(word, options);
  return meant === undefined ? '' : `; did you mean ${show(meant)}?`;
}

/** The start of a word without case and separators. */
export function bareWord(word) {
  return Array.from(word).slice(0, 60).join('').toLowerCase().replace(/[^a-z0-9]/g, '');
}

/** How many letters to add, drop or change to make one word of another. */
export function distance(first, second) {
  const row = Array.from({ length: second.length + 1 }, (_, index) => index);
  for (let i = 1; i <= first.length; i += 1) {
    let before = row[0];
    row[0] = i;
    for (let j = 1; j <= second.length; j += 1) {
      const changed = before + (first[i - 1] === second[j - 1] ? 0 : 1);
      before = row[j];
      row[j] = Math.min(row[j] + 1, row[j - 1] + 1, changed);
    }
  }
  return row.at(-1);
}
