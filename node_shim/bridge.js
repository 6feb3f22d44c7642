/** The way to one interpreter: starts its process when a call needs one, and a new one when it died. */

import { BridgeProcess, NotBegun } from './bridge_process.js';
import { cancelled, Failure } from './failures.js';

/** So many deaths in a row, without an answer in between, and it is not tried again. */
const MAX_DEATHS = 3;

/** @type {Map<string, Bridge>} by interpreter, shared by all providers of this process */
const bridges = new Map();

/** @param {import('./find_python.js').Python} python */
export function bridgeFor(python) {
  const key = JSON.stringify([python.command, ...python.args]);
  if (!bridges.has(key)) bridges.set(key, new Bridge(python));
  return bridges.get(key);
}

class Bridge {
  #python;
  /** @type {BridgeProcess | undefined} */
  #process;
  #deaths = 0;
  /** @type {Failure | undefined} */
  #lastDeath;
  /** @type {Set<object>} the providers that use it */
  #users = new Set();

  /** @param {import('./find_python.js').Python} python */
  constructor(python) {
    this.#python = python;
  }

  /** @param {object} user a provider; a new one is a new try after deaths, e.g. in a second eval */
  join(user) {
    this.#users.add(user);
    this.#deaths = 0;
  }

  /** @param {object} user the last one to leave has the process ended */
  async leave(user) {
    this.#users.delete(user);
    const child = this.#process;
    if (this.#users.size > 0 || !child?.isOpen || !child.isIdle) return;
    await child.end();
  }

  /**
   * @param {{ options: object, prompt: string, context: object | null, spans?: boolean }} call
   * @param {AbortSignal} [signal]
   */
  async call(call, signal) {
    for (let tries = 1; ; tries += 1) {
      if (signal?.aborted) throw cancelled();
      if (this.#deaths >= MAX_DEATHS) {
        throw new Failure('internal', `The Python process of lobu-provider ended ${MAX_DEATHS} times in a row without an answer, so it is not started again. The last time: ${this.#lastDeath?.message}`);
      }
      if (!this.#process?.isOpen) this.#process = this.#start();
      try {
        return await this.#process.call(call, signal);
      } catch (error) {
        if (!(error instanceof NotBegun) || tries === MAX_DEATHS) throw error;
      }
    }
  }

  #start() {
    return new BridgeProcess(this.#python, {
      onAnswer: () => {
        this.#deaths = 0;
      },
      onEnd: (failure) => {
        if (failure === undefined || failure.code === 'config') return;
        this.#deaths += 1;
        this.#lastDeath = failure;
      },
    });
  }
}
