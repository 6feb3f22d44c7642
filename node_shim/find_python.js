/** Which Python runs lobu-provider: the first of a list of places that has one. */

import { accessSync, constants, statSync } from 'node:fs';
import path from 'node:path';

/**
 * @typedef {{ command: string, args: string[], source: string }} Python
 *   `source` says in words why this one.
 * @typedef {{ command: undefined, problem: string }} NoPython
 */

/**
 * @param {{ config?: Record<string, any>, env?: Record<string, any> }} options promptfoo's
 * @param {{ environment?: NodeJS.ProcessEnv, cwd?: string, platform?: string }} [host]
 * @returns {Python | NoPython}
 */
export function findPython({ config = {}, env = {} }, host = {}) {
  const { environment = process.env, cwd = process.cwd(), platform = process.platform } = host;
  const windows = platform === 'win32';
  const variable = (name) => text(env[name]) ?? text(environment[name]);

  // A named one is taken at its word: another in its place would only hide the mistake.
  const named = [
    ['config.pythonExecutable', text(config.pythonExecutable)],
    ['LOBU_PYTHON', variable('LOBU_PYTHON')],
    ['PROMPTFOO_PYTHON', variable('PROMPTFOO_PYTHON')],
  ].find(([, value]) => value !== undefined);
  if (named !== undefined) {
    const [source, value] = named;
    const command = value.includes('/') || (windows && value.includes('\\'))
      ? executable(path.resolve(cwd, value), windows)
      : onPath(value, environment, windows);
    if (command !== undefined) return { command, args: [], source };
    return { command: undefined, problem: `${source} names '${value}', and there is no such program. ${FIX}` };
  }

  const inside = (folder) => path.join(folder, ...(windows ? ['Scripts', 'python.exe'] : ['bin', 'python']));
  const active = text(environment.VIRTUAL_ENV);
  const beside = path.resolve(cwd, text(config.basePath) ?? '.', '.venv');
  const environments = [
    ...(active !== undefined ? [[active, 'the active virtual environment']] : []),
    [beside, 'the .venv beside the config'],
    [path.resolve(cwd, '.venv'), 'the .venv in the current folder'],
  ];
  for (const [folder, source] of environments) {
    const command = executable(inside(folder), windows);
    if (command !== undefined) return { command, args: [], source };
  }

  for (const [name, ...args] of windows ? [['py', '-3'], ['python']] : [['python3'], ['python']]) {
    const command = onPath(name, environment, windows);
    if (command !== undefined) return { command, args, source: `${name} on PATH` };
  }
  return {
    command: undefined,
    problem: `No Python was found: none is named, no virtual environment is active, there is no ${beside}, and PATH has no ${windows ? 'py or python' : 'python3 or python'}. ${FIX}`,
  };
}

const FIX = 'Install Python 3.10 or newer with lobu-provider (python3 -m pip install lobu-provider), and set LOBU_PYTHON to it if it is not on PATH.';

function text(value) {
  return typeof value === 'string' && value.trim() ? value.trim() : undefined;
}

function onPath(name, environment, windows) {
  const folders = (environment.PATH ?? environment.Path ?? '').split(path.delimiter).filter(Boolean);
  for (const folder of folders) {
    const found = executable(path.join(folder, name), windows);
    if (found !== undefined) return found;
  }
  return undefined;
}

function executable(file, windows) {
  for (const candidate of windows && !/\.exe$/i.test(file) ? [`${file}.exe`, file] : [file]) {
    try {
      accessSync(candidate, constants.X_OK);
      if (statSync(candidate).isFile()) return candidate;
    } catch {
      // not there, or not to be run
    }
  }
  return undefined;
}
