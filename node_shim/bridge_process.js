/**
 * One Python process and the calls that it has in hand. It speaks the protocol that
 * lobu_provider/stdio_bridge/protocol.py describes: lines of JSON over stdin and stdout.
 *
 * The process is detached, so that Ctrl-C in a terminal reaches promptfoo alone, and ends by itself
 * when its stdin does, however this process dies. It never keeps this one alive while it is idle.
 */

import { spawn } from 'node:child_process';
import { setMaxListeners } from 'node:events';

import { cancelled, Failure } from './failures.js';
import { ErrorOutput, LineSplitter } from './lines.js';

export const PROTOCOL = 1;

/** Not `-m`: that would put the current folder, and whatever lies there, first on the import path. */
const LAUNCH = `import sys
sys.path[:] = [p for p in sys.path if p]
if sys.version_info < (3, 10): sys.exit("too old: Python %d.%d" % sys.version_info[:2])
from lobu_provider.stdio_bridge.__main__ import main
main()`;

/** Bounds on waits that end at once when all is well. */
const START_MS = 60_000;
const CANCEL_MS = 10_000;
const CLOSE_MS = 500;
const END_MS = 3000;

/** The process tells every 5 s that it is well; silence for so many looks of 5 s means it hangs. */
const LOOK_MS = 5000;
const MAX_SILENT_LOOKS = 6;

/** The process ends and has certainly not begun the call, so another one can be asked. */
export class NotBegun extends Failure {
  /** @param {Error} [cause] why it ends, where that is known */
  constructor(cause) {
    const why = cause === undefined ? '' : ` ${cause.message}`;
    super('internal', `The Python process of lobu-provider was ended before it began this call, so nothing was sent to the gateway.${why}`, { retryable: true, phase: 'config' });
  }
}

export class BridgeProcess {
  #python;
  #onEnd;
  #process;
  #errors;
  #lines = new LineSplitter();
  #ready = withResolvers();
  #closed = withResolvers();
  #isReady = false;
  #startTimer;
  /** @type {Map<number, { settle: (response: object) => void, fail: (failure: Failure) => void }>} */
  #calls = new Map();
  #lastId = 0;
  /** Looks since the process was last heard of; counted, since a clock runs on while this sleeps. */
  #silentLooks = 0;
  #looking;
  #callers = 0;
  /** @type {ReturnType<typeof withResolvers> | undefined} while stdin takes no more */
  #full;
  /** @type {Failure | undefined} why no more calls are taken */
  #over;
  /** It was asked to end. */
  #isEnding = false;
  /** It said that it ends. */
  #isLeaving = false;

  /**
   * @param {import('./find_python.js').Python} python
   * @param {{ onAnswer: () => void, onEnd: (failure: Failure | undefined, started: boolean) => void }} listeners
   *   `onEnd` gets the reason, or nothing when the process was asked to end
   */
  constructor(python, listeners) {
    this.#python = python;
    this.#onEnd = listeners.onEnd;
    this.onAnswer = listeners.onAnswer;
    this.#ready.promise.catch(() => {}); // whoever calls gets it
    this.#errors = new ErrorOutput('[lobu-provider] ', (line) => process.stderr.write(`${line}\n`));
    this.#process = spawn(python.command, [...python.args, '-c', LAUNCH], {
      stdio: ['pipe', 'pipe', 'pipe'],
      detached: true,
      windowsHide: true,
    });
    this.#process.on('error', (error) => this.#ended(error.message));
    this.#process.on('exit', (code, signal) => {
      // 'close' comes when the last output is read, and not while a grandchild holds stderr open.
      const how = signal ? `was ended by ${signal}` : `ended with code ${code}`;
      const late = setTimeout(() => this.#ended(how), CLOSE_MS);
      this.#process.once('close', () => {
        clearTimeout(late);
        this.#ended(how);
      });
    });
    this.#process.stdin.on('error', () => {}); // the end of the process says why
    this.#process.stdin.on('drain', () => this.#drained());
    this.#process.stdout.on('error', () => {});
    this.#process.stdout.on('data', (chunk) => {
      this.#silentLooks = 0;
      for (const line of this.#lines.feed(chunk)) this.#receive(line);
    });
    this.#process.stderr.on('error', () => {});
    this.#process.stderr.on('data', (chunk) => this.#errors.feed(chunk));
    this.#startTimer = setTimeout(() => {
      this.#breakOff(new Failure('internal', `${this.#name()} did not start within ${START_MS / 1000} s.`, { retryable: true, phase: 'config' }));
    }, START_MS);
    for (const handle of [this.#process, this.#process.stdin, this.#process.stdout, this.#process.stderr]) handle.unref();
    this.#startTimer.unref();
  }

  /** Whether it takes calls. */
  get isOpen() {
    return this.#over === undefined && !this.#isEnding && !this.#isLeaving;
  }

  get isIdle() {
    return this.#callers === 0;
  }

  /**
   * @param {{ options: object, prompt: string, context: object | null, spans?: boolean }} call
   * @param {AbortSignal} [signal]
   * @returns {Promise<object>} promptfoo's ProviderResponse; rejects with a Failure
   */
  async call(call, signal) {
    this.#hold();
    const abort = withResolvers();
    abort.promise.catch(() => {});
    const stopping = { stop: () => abort.reject(cancelled()) };
    const onAbort = () => stopping.stop();
    if (signal !== undefined) listen(signal, onAbort);
    try {
      await Promise.race([this.#ready.promise, abort.promise]);
      while (this.#full !== undefined) await Promise.race([this.#full.promise, abort.promise]);
      if (!this.isOpen) throw new NotBegun(this.#over);
      if (signal?.aborted) throw cancelled();
      return await this.#exchange(call, stopping);
    } finally {
      signal?.removeEventListener('abort', onAbort);
      this.#release();
    }
  }

  /** Close stdin, on which the process ends in order, and wait for that. */
  async end() {
    this.#isEnding = true;
    this.#process.ref();
    this.#process.stdin.end();
    const limit = setTimeout(() => this.#process.kill('SIGKILL'), END_MS);
    await this.#closed.promise;
    clearTimeout(limit);
  }

  async #exchange(call, stopping) {
    const id = (this.#lastId += 1);
    let limit;
    stopping.stop = () => {
      this.#write({ type: 'cancel', id });
      limit = setTimeout(() => this.#calls.get(id)?.fail(cancelled()), CANCEL_MS);
    };
    try {
      return await new Promise((settle, fail) => {
        this.#calls.set(id, { settle, fail });
        this.#write({ type: 'call', id, ...call }); // the id early: it is found in a broken line
      });
    } finally {
      this.#calls.delete(id);
      clearTimeout(limit);
    }
  }

  #write(message) {
    if (!this.#process.stdin.write(`${JSON.stringify(message)}\n`)) this.#full ??= withResolvers();
  }

  #drained() {
    this.#full?.resolve();
    this.#full = undefined;
  }

  #receive(line) {
    let message;
    try {
      message = JSON.parse(line.toString('utf8'));
    } catch {
      message = undefined;
    }
    if (!this.#isReady) {
      if (message?.type === 'ready') this.#started(message);
      else this.#errors.line(line.toString('utf8')); // printed by something that starts before us
      return;
    }
    if (message?.type === 'alive') return;
    if (message?.type === 'ending' && Array.isArray(message.running)) {
      this.#letGo(message.running);
      return;
    }
    const call = this.#calls.get(message?.id);
    if (message?.type === 'result') {
      this.onAnswer();
      call?.settle(message.response);
    } else if (message?.type === 'fault') {
      const text = `The Python side cannot read a call: ${message.message}. Please report this.`;
      if (call !== undefined) call.fail(new Failure('internal', text));
      else this.#errors.line(text);
    } else {
      this.#breakOff(new Failure('internal', `${this.#name()} sent what is not a message of the protocol, so its answers cannot be told apart any more. Please report this.`));
    }
  }

  #started(ready) {
    clearTimeout(this.#startTimer);
    if (ready.protocol !== PROTOCOL) {
      this.#breakOff(new Failure('config', `lobu-provider ${ready.version} of ${this.#name()} speaks protocol ${ready.protocol}, and this npm package speaks ${PROTOCOL}. Bring both to the same release: ${this.#pip('install --upgrade lobu-provider')} and npm install "$(lobu-provider shim-path)"`));
      return;
    }
    this.#isReady = true;
    this.#errors.open();
    this.#ready.resolve();
  }

  /** Take no more calls, and give back those in hand but for the `running`, which get an answer. */
  #letGo(running) {
    this.#isLeaving = true;
    this.#drained();
    for (const [id, call] of this.#calls) if (!running.includes(id)) call.fail(new NotBegun());
  }

  /** Take no more calls, fail those in hand, and have the process end. */
  #breakOff(failure) {
    this.#fail(failure);
    this.#process.stdin.destroy();
    this.#process.kill();
    // A process that hangs does not hear that; it and what it started go after a while.
    setTimeout(() => this.#killAll(), END_MS).unref();
  }

  #look() {
    if (!this.#isReady) return;
    this.#silentLooks += 1;
    if (this.#silentLooks < MAX_SILENT_LOOKS) return;
    const silence = (LOOK_MS * MAX_SILENT_LOOKS) / 1000;
    this.#breakOff(new Failure('internal', `The Python process of lobu-provider gave no sign of life for ${silence} s, in the middle of this call. It is ended; its session may be left at the gateway, and the next call starts a new process.`, { retryable: true }));
    this.#killAll();
  }

  #killAll() {
    if (this.#process.exitCode !== null || this.#process.signalCode !== null) return;
    try {
      process.kill(-this.#process.pid, 'SIGKILL'); // detached: it leads a group of its own
    } catch {
      this.#process.kill('SIGKILL');
    }
  }

  #ended(how) {
    const failure = this.#isReady ? this.#died(how) : this.#didNotStart(how);
    if (failure.code !== 'config') this.#errors.open();
    this.#fail(failure);
    this.#closed.resolve();
  }

  /** @param {Failure} failure */
  #fail(failure) {
    if (this.#over !== undefined) return;
    this.#over = failure;
    clearTimeout(this.#startTimer);
    this.#ready.reject(failure);
    this.#drained();
    for (const call of this.#calls.values()) call.fail(failure);
    this.#onEnd(this.#isEnding ? undefined : failure);
  }

  #died(how) {
    const said = this.#said();
    return new Failure('internal', `The Python process of lobu-provider ${how} in the middle of this call. Its session may be left at the gateway; the next call starts a new process.${said}`, { retryable: true });
  }

  #didNotStart(how) {
    const said = this.#lastWords().join('\n');
    const old = /too old: (Python \d+\.\d+)/.exec(said);
    if (old !== null) {
      return new Failure('config', `lobu-provider needs Python 3.10 or newer, and ${this.#name()} is ${old[1]}. Set LOBU_PYTHON to a newer one that has lobu-provider.`);
    }
    if (/No module named '?lobu_provider\.stdio_bridge/.test(said)) {
      return new Failure('config', `The lobu-provider of ${this.#name()} is too old for this npm package. Run: ${this.#pip('install --upgrade lobu-provider')}`);
    }
    if (/No module named '?lobu_provider/.test(said)) {
      return new Failure('config', `${this.#name()} does not have lobu-provider. Run: ${this.#pip('install lobu-provider')} - or set LOBU_PYTHON to the interpreter that has it.`);
    }
    const missing = /^(?:ImportError|ModuleNotFoundError): .*$/m.exec(said);
    if (missing !== null) { // of what it needs, missing or broken; in the words of lobu_hook.py
      return new Failure('config', `lobu-provider could not run: ${missing[0]}. Set LOBU_PYTHON to the Python that has lobu-provider, or install it for ${this.#name()}: ${this.#pip('install lobu-provider')}`);
    }
    return new Failure('internal', `lobu-provider could not be started with ${this.#name()}: it ${how}.${this.#said()}`, { phase: 'config' });
  }

  /** Without the lines of a traceback, which name files and code; stderr has shown all. */
  #lastWords() {
    return this.#errors.tail().filter((line) => !/^(?:\s|Traceback \(most recent call last\))/.test(line));
  }

  #said() {
    const lines = this.#lastWords();
    return lines.length > 0 ? ` Its last words: ${lines.join(' | ')}` : '';
  }

  #name() {
    return `${this.#python.command} (${this.#python.source})`;
  }

  #pip(what) {
    const words = [this.#python.command, ...this.#python.args];
    return `${words.map((word) => (/[^\w@%+=:,./\\-]/.test(word) ? `"${word}"` : word)).join(' ')} -m pip ${what}`;
  }

  #hold() {
    this.#callers += 1;
    if (this.#callers > 1) return;
    this.#silentLooks = 0;
    this.#looking = setInterval(() => this.#look(), LOOK_MS);
    this.#process.ref();
    this.#process.stdout.ref();
  }

  #release() {
    this.#callers -= 1;
    if (this.#callers > 0) return;
    clearInterval(this.#looking);
    this.#process.unref();
    this.#process.stdout.unref();
  }
}

/** Listen to a signal that promptfoo shares between all its calls: more than ten are no leak. */
function listen(signal, onAbort) {
  try {
    setMaxListeners(0, signal);
  } catch {
    // a signal that is not Node's own has no such limit
  }
  signal.addEventListener('abort', onAbort, { once: true });
  if (signal.aborted) onAbort();
}

/** Promise.withResolvers, which Node 20 does not have. */
function withResolvers() {
  let resolve;
  let reject;
  const promise = new Promise((yes, no) => {
    resolve = yes;
    reject = no;
  });
  return { promise, resolve, reject };
}
