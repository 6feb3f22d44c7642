/** Bytes into lines. */

const NEWLINE = 0x0a;

/** Cuts chunks into lines, without empty ones; each byte is looked at once, however long the line. */
export class LineSplitter {
  /** @type {Buffer[]} */
  #parts = [];

  /**
   * @param {Buffer} chunk
   * @returns {Buffer[]} the lines that end in it
   */
  feed(chunk) {
    const lines = [];
    let start = 0;
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      this.#parts.push(chunk.subarray(start, end));
      const line = this.#parts.length === 1 ? this.#parts[0] : Buffer.concat(this.#parts);
      if (line.length > 0) lines.push(line);
      this.#parts = [];
      start = end + 1;
    }
    if (start < chunk.length) this.#parts.push(chunk.subarray(start));
    return lines;
  }
}

const SHOWN_LINES = 500;
const KEPT_LINES = 12;
const LINE_CHARACTERS = 2000;

/**
 * What a process says on stderr: shown to people line by line, with an end, and its last lines kept.
 * Nothing is shown before `open()`.
 */
export class ErrorOutput {
  #rest = '';
  #kept = [];
  #held = [];
  #shown = 0;
  #isOpen = false;
  #decoder = new TextDecoder();

  /** @param {string} prefix @param {(line: string) => void} show */
  constructor(prefix, show) {
    this.prefix = prefix;
    this.show = show;
  }

  /** @param {Uint8Array} chunk */
  feed(chunk) {
    const lines = (this.#rest + this.#decoder.decode(chunk, { stream: true })).split('\n');
    this.#rest = lines.pop().slice(0, LINE_CHARACTERS);
    for (const line of lines) this.line(line);
  }

  /** @param {string} text */
  line(text) {
    const line = text.trimEnd().slice(0, LINE_CHARACTERS);
    if (!line) return;
    this.#kept = [...this.#kept, line].slice(-KEPT_LINES);
    if (this.#isOpen) this.#tell(line);
    else this.#held = [...this.#held, line].slice(-SHOWN_LINES);
  }

  /** Show what was held back and, from now on, what comes. */
  open() {
    this.#isOpen = true;
    for (const line of this.#held.splice(0)) this.#tell(line);
  }

  /** The last lines, with one that has no end yet. */
  tail() {
    return [...this.#kept, this.#rest.trimEnd()].filter(Boolean).slice(-KEPT_LINES);
  }

  #tell(line) {
    this.#shown += 1;
    if (this.#shown <= SHOWN_LINES) this.show(`${this.prefix}${line}`);
    else if (this.#shown === SHOWN_LINES + 1) this.show(`${this.prefix}(more is not shown)`);
  }
}
