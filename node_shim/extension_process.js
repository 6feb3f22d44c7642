/**
 * One short Python process for one hook: `python -m lobu_provider.extension`. It is detached, so that
 * Ctrl-C in a terminal reaches promptfoo alone, and finishes what it does also when promptfoo ends.
 */

import { spawn } from 'node:child_process';

import { ErrorOutput } from './lines.js';

/** As in bridge_process.js: not `-m`, which would put the current folder first on the import path. */
const LAUNCH = `import sys
sys.path[:] = [p for p in sys.path if p]
from lobu_provider.extension.__main__ import main
main()`;

/** It bounds itself to less; this is for one that hangs. */
const LIMIT_MS = 30_000;

const FIX = 'Install lobu-provider for it, or set LOBU_PYTHON to the Python that has it.';

/**
 * @param {import('./find_python.js').Python | import('./find_python.js').NoPython} python
 * @param {{ hook: string, context: object }} asked
 * @returns {Promise<{ stop?: string }>} why the run cannot work, if it cannot; never rejects
 */
export function runHook(python, asked) {
  if (python.command === undefined) return Promise.resolve({ stop: python.problem });
  let input;
  try {
    input = JSON.stringify(asked, (key, value) => (typeof value === 'bigint' ? String(value) : value));
  } catch {
    process.stderr.write('lobu-provider: a provider\'s config refers to itself, so nothing was checked.\n');
    return Promise.resolve({});
  }
  return new Promise((resolve) => {
    const child = spawn(python.command, [...python.args, '-c', LAUNCH], {
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      windowsHide: true,
    });
    const errors = new ErrorOutput('', (line) => process.stderr.write(`${line}\n`));
    let output = '';
    let isLate = false;
    const limit = setTimeout(() => {
      isLate = true;
      child.kill('SIGKILL');
    }, LIMIT_MS);
    const end = (how) => {
      clearTimeout(limit);
      const answer = lastLine(output);
      if (answer !== undefined) {
        errors.open();
        resolve(answer);
      } else if (errors.tail().some((line) => /No module named '?lobu_provider/.test(line))) {
        resolve({ stop: `${python.command} (${python.source}) does not have lobu-provider, or an old one. ${FIX}` });
      } else {
        errors.open();
        process.stderr.write(`lobu-provider: the extension ${isLate ? 'hung' : how}. The run goes on.\n`);
        resolve({});
      }
    };
    child.on('error', (error) => end(`could not be started: ${error.code}`));
    child.on('close', (code, signal) => end(signal ? `was ended by ${signal}` : `ended with code ${code}`));
    child.stdout.on('data', (chunk) => {
      output += chunk;
    });
    child.stderr.on('data', (chunk) => errors.feed(chunk));
    child.stdin.on('error', () => {}); // the end of the process says why
    child.stdin.end(input);
  });
}

function lastLine(output) {
  try {
    const answer = JSON.parse(output.trim().split('\n').pop());
    return answer !== null && typeof answer === 'object' ? answer : undefined;
  } catch {
    return undefined;
  }
}
