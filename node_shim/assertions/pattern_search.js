/**
 * Whether a pattern is found in a text, in time that grows with the text and not with its tries.
 *
 * The engines of Python and JavaScript try one way after the other, for which `(a+)+b` takes longer
 * than anyone waits. Here a text is read once, from its end to its start, with the set of all places
 * in the pattern from which the rest of the text can be fitted: a place is reached or not, however
 * many ways lead to it. What was found out about a set and a character is kept.
 *
 * A pattern is made of nodes: `characters` (`ranges` of code points, `negated`), `sequel` and `choice`
 * (`nodes`), `repeat` (`node`, `least`, `most`), `look` (`node`, `wanted`), `at` (`where`).
 */

/** Places of a pattern, which repeats multiply. */
export const MAX_PLACES = 3_000;

/** Sets of places that are remembered. */
const MAX_KEPT = 2000;

const WORD = /^[A-Za-z0-9_]$/;

/** A pattern has more than MAX_PLACES places. */
export class TooLarge extends Error {}

/** A pattern that can be looked for. */
export class Search {
  /** Each a node (or `undefined` where several ways part, or a fit is complete) and where it leads. */
  #places = [];
  /** The places of each lookahead, inner ones first, and at last those of the whole. */
  #layers = [];
  #open = [];
  #start;
  #before;
  #sets;
  #seesNeighbours;
  #classes = new Map();
  #kept;
  #same;

  /** @throws {TooLarge} */
  constructor(node) {
    this.#start = this.#layer(node);
    this.#before = this.#places.map(() => []);
    this.#places.forEach((place, number) => {
      if (place.node?.kind === 'characters') return;
      for (const way of place.ways) this.#before[way].push(number);
    });
    const kinds = this.#places.map((place) => place.node);
    this.#sets = [...new Set(kinds.filter((one) => one?.kind === 'characters'))];
    this.#seesNeighbours = kinds.some((one) => one?.kind === 'at');
    this.#forget();
  }

  /** Whether some part of a text fits. */
  foundIn(text) {
    const characters = Array.from(text);
    let alive = this.#remember(this.#step(undefined, undefined, characters.at(-1) ?? ''));
    for (let index = characters.length - 1; index >= 0; index -= 1) {
      if (alive.has(this.#start)) return true;
      const character = characters[index];
      const before = this.#seesNeighbours && index > 0 ? characters[index - 1] : '';
      const kind = this.#class(character);
      const key = `${kind.number} ${index === 0 ? 0 : WORD.test(before) ? 2 : 1}`;
      let found = alive.next.get(key);
      if (found === undefined) {
        if (this.#kept >= MAX_KEPT) this.#forget();
        found = this.#remember(this.#step(alive, kind, before));
        alive.next.set(key, found);
      }
      alive = found;
    }
    return alive.has(this.#start);
  }

  #forget() {
    for (const set of this.#same?.values() ?? []) set.next.clear();
    this.#same = new Map();
    this.#kept = 0;
  }

  /** One object for equal sets, with the sets that follow it. */
  #remember(set) {
    const key = [...set].sort((one, other) => one - other).join();
    let known = this.#same.get(key);
    if (known === undefined) {
      known = Object.assign(set, { next: new Map() });
      this.#same.set(key, known);
      this.#kept += 1;
    }
    return known;
  }

  /** Which sets of the pattern a character is in, and whether it is one of a word. */
  #class(character) {
    let found = this.#classes.get(character);
    if (found === undefined) {
      const code = character.codePointAt(0);
      const fitting = this.#sets.filter(({ ranges, negated }) => (
        ranges.some(([low, high]) => low <= code && code <= high) !== negated
      ));
      found = { fitting: new Set(fitting), isWord: WORD.test(character), number: this.#classes.size };
      this.#classes.set(character, found);
    }
    return found;
  }

  /**
   * The places that can be fitted from one position on.
   *
   * @param after those of the next position
   * @param kind the class of the character here, `undefined` at the end of the text
   * @param before the character before, empty at the start of the text
   */
  #step(after, kind, before) {
    const alive = new Set();
    for (const layer of this.#layers) {
      const work = layer.filter((number) => {
        const { node, ways } = this.#places[number];
        if (node?.kind !== 'characters') return ways.length === 0;
        return kind !== undefined && after.has(ways[0]) && kind.fitting.has(node);
      });
      while (work.length > 0) {
        const number = work.pop();
        if (alive.has(number)) continue;
        alive.add(number);
        for (const one of this.#before[number]) {
          if (!alive.has(one) && this.#holds(this.#places[one], alive, kind, before)) work.push(one);
        }
      }
    }
    return alive;
  }

  #holds({ node, start }, alive, kind, before) {
    if (node?.kind === 'look') return alive.has(start) === node.wanted;
    if (node?.kind !== 'at') return true;
    if (node.where === 'start') return before === '';
    if (node.where === 'end') return kind === undefined;
    const isEdge = WORD.test(before) !== (kind?.isWord ?? false);
    return isEdge === (node.where === 'edge');
  }

  /** Make the places of a pattern by itself; return the first. */
  #layer(node) {
    this.#open.push([]);
    const start = this.#build(node, this.#place(undefined, []));
    this.#layers.push(this.#open.pop());
    return start;
  }

  #place(node, ways, start) {
    if (this.#places.length === MAX_PLACES) throw new TooLarge();
    this.#places.push({ node, ways, start });
    this.#open.at(-1).push(this.#places.length - 1);
    return this.#places.length - 1;
  }

  /** Make the places of a node that is followed by another; return the first. */
  #build(node, then) {
    if (node.kind === 'sequel') return node.nodes.reduceRight((next, one) => this.#build(one, next), then);
    if (node.kind === 'choice') return this.#place(undefined, node.nodes.map((one) => this.#build(one, then)));
    if (node.kind === 'repeat') return this.#repeat(node, then);
    if (node.kind === 'look') return this.#place(node, [then], this.#layer(node.node));
    return this.#place(node, [then]);
  }

  #repeat({ node, least, most }, end) {
    let then = end;
    if (most === undefined) {
      then = this.#place(undefined, [end]);
      this.#places[then].ways.push(this.#build(node, then));
    }
    for (let count = least; count < (most ?? 0); count += 1) {
      then = this.#place(undefined, [this.#build(node, then), end]);
    }
    for (let count = 0; count < least; count += 1) then = this.#build(node, then);
    return then;
  }
}
