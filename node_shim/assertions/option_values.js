/** The kinds of values that options have, each with the words for it. */

import { isNumber } from './values.js';

/** The highest count and weight; sums of them are exact enough and end nowhere near infinity. */
export const MAX_COUNT = 1_000_000;

const MAX_TURN = 999_999;

/** Whether a value is a text that is not blank. */
export const isText = (value) => typeof value === 'string' && value.trim() !== '';

/** Whether a value is such a text, or a list of some. */
export const isTexts = (value) => isText(value) || (Array.isArray(value) && value.length > 0 && value.every(isText));

const isWhole = (value, least, most) => Number.isInteger(value) && value >= least && value <= most;

/** Whether a value is a whole number from 0 to `MAX_COUNT`. */
export const isCount = (value) => isWhole(value, 0, MAX_COUNT);

/** Whether a value is a number above 0, at most `MAX_COUNT`. */
export const isWeight = (value) => isNumber(value) && value > 0 && value <= MAX_COUNT;

/** What each kind is called in a message, and whether a value is of it. */
export const EXPECTED = {
  text: ['a text', isText],
  texts: ['a text or a list of texts', isTexts],
  names: ["a tool's name or a list of names", isTexts],
  flags: ['"i"', (value) => ['', 'i'].includes(value)],
  'yes or no': ['true or false', (value) => typeof value === 'boolean'],
  count: [`a whole number from 0 to ${MAX_COUNT}`, isCount],
  place: [`a turn's number, from 1 to ${MAX_TURN}`, (value) => isWhole(value, 1, MAX_TURN)],
  amount: ['a number from 0', (value) => isNumber(value) && value >= 0],
};
