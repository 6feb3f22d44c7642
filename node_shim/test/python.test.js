import assert from 'node:assert/strict';
import { chmodSync, mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import test from 'node:test';

import { findPython } from '../find_python.js';
import { LobuProvider } from '../index.js';
import { fakePython, folder, program, python } from './helpers.js';

/** Make empty programs, and return the folder that they are in. */
function tree(...files) {
  const root = folder();
  for (const file of files) {
    mkdirSync(path.dirname(path.join(root, file)), { recursive: true });
    writeFileSync(path.join(root, file), '#!/bin/sh\n');
    chmodSync(path.join(root, file), 0o755);
  }
  return root;
}

test('the first place that names or has a Python decides', (t) => {
  const root = tree('given/python', 'lobu/python', 'pf/python', 'active/bin/python',
    'cwd/.venv/bin/python', 'cwd/conf/.venv/bin/python', 'path/python3', 'path/python');
  const at = (...parts) => path.join(root, ...parts);
  const config = { pythonExecutable: '../given/python', basePath: 'conf' };
  const environment = {
    LOBU_PYTHON: at('lobu/python'), PROMPTFOO_PYTHON: at('pf/python'), VIRTUAL_ENV: at('active'), PATH: at('path'),
  };
  const find = () => findPython({ config }, { environment, cwd: at('cwd'), platform: 'linux' }).command;
  assert.equal(find(), at('given/python'));
  delete config.pythonExecutable;
  assert.equal(find(), at('lobu/python'));
  environment.LOBU_PYTHON = ' ';
  assert.equal(find(), at('pf/python'));
  delete environment.PROMPTFOO_PYTHON;
  assert.equal(find(), at('active/bin/python'));
  environment.VIRTUAL_ENV = at('deleted');
  assert.equal(find(), at('cwd/conf/.venv/bin/python'));
  config.basePath = '';
  assert.equal(find(), at('cwd/.venv/bin/python'));
  config.basePath = '..';
  assert.equal(findPython({ config }, { environment, cwd: at('path'), platform: 'linux' }).command, at('path/python3'));
});

test('the env block of the config is read before the environment, and a bare name is found on PATH', (t) => {
  const root = tree('python3.12');
  const environment = { PATH: root, LOBU_PYTHON: '/not/this' };
  const found = findPython({ env: { LOBU_PYTHON: 'python3.12' } }, { environment, cwd: root, platform: 'linux' });
  assert.deepEqual(found, { command: path.join(root, 'python3.12'), args: [], source: 'LOBU_PYTHON' });
});

test('on Windows the launcher is asked for a Python 3', (t) => {
  const root = tree('py.exe', 'python.exe');
  const found = findPython({}, { environment: { Path: root }, cwd: root, platform: 'win32' });
  assert.deepEqual(found, { command: path.join(root, 'py.exe'), args: ['-3'], source: 'py on PATH' });
});

const failures = (response) => [response.error, response.metadata.error];
const configFailure = { code: 'config', class: 'config', phase: 'config', retryable: false };

test('a named Python that is not there is an error that names it, not a reason to take another', async () => {
  const [text, failure] = failures(await new LobuProvider({ config: { pythonExecutable: '/no/such/python' } }).callApi('hi'));
  assert.match(text, /^\[config\] config\.pythonExecutable names '\/no\/such\/python', and there is no such program\./);
  assert.match(text, /pip install lobu-provider/);
  assert.deepEqual(failure, configFailure);
});

test('no Python at all is an error that tells where it was looked for', (t) => {
  const root = tree();
  const { problem } = findPython({}, { environment: { PATH: root }, cwd: root, platform: 'linux' });
  assert.match(problem, /No Python was found: .*\.venv.*python3 or python.* LOBU_PYTHON/);
});

test('a Python without lobu-provider is named together with the command to run', async (t) => {
  const command = fakePython(`
    console.error("Traceback ...\\nModuleNotFoundError: No module named 'lobu_provider'");
    process.exit(1);`);
  const [text, failure] = failures(await new LobuProvider({ config: { pythonExecutable: command } }).callApi('hi'));
  assert.ok(text.startsWith(`[config] ${command} (config.pythonExecutable) does not have lobu-provider. Run: ${command} -m pip install lobu-provider`), text);
  assert.deepEqual(failure, configFailure);
});

test('missing packages do not count as deaths: the same clear error every time', async (t) => {
  const command = fakePython(`
    console.error("ModuleNotFoundError: No module named 'lobu_provider'");
    process.exit(1);`);
  const made = new LobuProvider({ config: { pythonExecutable: command } });
  for (let count = 0; count < 5; count += 1) {
    assert.match((await made.callApi('hi')).error, /does not have lobu-provider/);
  }
});

test('an old lobu-provider, and an old Python, are told as such', async (t) => {
  const told = async (line) => {
    const command = fakePython(`console.error(${JSON.stringify(line)}); process.exit(1);`);
    return (await new LobuProvider({ config: { pythonExecutable: command } }).callApi('hi')).error;
  };
  assert.match(await told("ModuleNotFoundError: No module named 'lobu_provider.stdio_bridge'"), /is too old for this npm package\. Run: .* --upgrade/);
  assert.match(await told('too old: Python 3.8'), /needs Python 3\.10 or newer, and .* is Python 3\.8/);
});

for (const line of ["ModuleNotFoundError: No module named 'pydantic'", 'ImportError: libssl.so.3: cannot open shared object file']) {
  test(`a package that it needs and cannot load is told as by the Python file: ${line}`, async () => {
    const command = fakePython(`
      console.error('Traceback (most recent call last):\\n  File "x.py", line 5, in main\\n    import it\\n' + ${JSON.stringify(line)});
      process.exit(1);`);
    const [text, failure] = failures(await new LobuProvider({ config: { pythonExecutable: command } }).callApi('hi'));
    assert.equal(text, `[config] lobu-provider could not run: ${line}. Set LOBU_PYTHON to the Python that has lobu-provider, or install it for ${command} (config.pythonExecutable): ${command} -m pip install lobu-provider`);
    assert.deepEqual(failure, configFailure);
  });
}

test('no line of a traceback is in a row', async () => {
  const command = fakePython(`
    console.error('Traceback (most recent call last):\\n  File "x.py", line 5, in main\\n    go()\\n    ^^^^\\nAttributeError: no go');
    process.exit(1);`);
  const [text] = failures(await new LobuProvider({ config: { pythonExecutable: command } }).callApi('hi'));
  assert.match(text, /it ended with code 1\. Its last words: AttributeError: no go$/);
});

test('anything else that ends it before it is ready is told with its last words', async (t) => {
  const command = fakePython("console.error('OSError: no more memory'); process.exit(1);");
  const [text, failure] = failures(await new LobuProvider({ config: { pythonExecutable: command } }).callApi('hi'));
  assert.match(text, /^\[internal\] lobu-provider could not be started with .*: it ended with code 1\. Its last words: OSError: no more memory/);
  assert.equal(failure.phase, 'config');
});

test('a program that is no Python at all is an error too', async (t) => {
  const root = folder();
  const command = path.join(root, 'python');
  writeFileSync(command, 'not a program');
  chmodSync(command, 0o755);
  const response = await new LobuProvider({ config: { pythonExecutable: command } }).callApi('hi');
  assert.match(response.error, /^\[internal\] lobu-provider could not be started with /);
});

test('another protocol is an error with both commands', async (t) => {
  const command = fakePython("ready({ protocol: 2, version: '9.0.0' });");
  const [text, failure] = failures(await new LobuProvider({ config: { pythonExecutable: command } }).callApi('hi'));
  assert.match(text, /lobu-provider 9\.0\.0 .* speaks protocol 2, and this npm package speaks 1\./);
  assert.match(text, /pip install --upgrade lobu-provider and npm install "\$\(lobu-provider shim-path\)"/);
  assert.deepEqual(failure, configFailure);
});

test('what a wrapper prints before the handshake, with and without a line end, does no harm', async (t) => {
  for (const word of ['activating env...', '{"type":', 'one\\ntwo\\n']) {
    const command = program(`#!/bin/sh\nprintf '${word}'\nexec "${python}" "$@"\n`);
    const made = new LobuProvider({ config: { agent: 'support-agent', gateway: 'script:demo', pythonExecutable: command } });
    t.after(() => made.cleanup());
    assert.match((await made.callApi('How do refunds work?')).output, /30 days/);
  }
});

test('what is printed before the handshake does no harm', async (t) => {
  const command = fakePython(`
    console.log('welcome to this Python');
    on.call = ({ id }) => answer(id, 'fine');
    ready();`);
  const made = new LobuProvider({ config: { pythonExecutable: command } });
  t.after(() => made.cleanup());
  assert.equal((await made.callApi('hi')).output, 'fine');
});
