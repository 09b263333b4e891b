// @ts-self-types="./memory.d.ts"
/**
 * The map in memory, for tests and for hosts whose data need not outlive them. Synchronous, not durable.
 *
 * Rows lie in chunks of sorted arrays: a lookup is two binary searches, a change moves at most one chunk's entries, and
 * a scan walks arrays.
 *
 * @import { MemoryStorage as Declared } from "./memory.d.ts"
 * @import { Bytes, Change, Read, Reading, Row } from "./storage.d.ts"
 */

import { checkChanges, compare, isEmpty } from "./bytes.js";

/** Rows of a chunk; a fuller one is split in half. */
const CHUNK_ROWS_MAX = 512;

/** @implements {Declared} */
export class MemoryStorage {
  #rows = new SortedRows();
  #commits = 0;

  /**
   * @param {Read[]} reads
   * @param {number} [picture]
   * @returns {Reading<number> | null}
   */
  read(reads, picture) {
    if (picture !== undefined && picture !== this.#commits) return null;
    const found = reads.map((read) => ("get" in read ? this.#rows.get(read.get) : this.#rows.scan(read)));
    return { found, picture: this.#commits };
  }

  /**
   * @param {Change[]} changes
   * @param {number | undefined} picture
   */
  commit(changes, picture) {
    checkChanges(changes);
    if (picture !== undefined && picture !== this.#commits) return false;
    if (changes.length > 0) this.#commits += 1;
    for (const change of changes) {
      if ("put" in change) this.#rows.put(new Uint8Array(change.put), new Uint8Array(change.value));
      else this.#rows.delete(change.delete);
    }
    return true;
  }
}

/** Rows sorted by key. */
class SortedRows {
  /** @type {{ keys: Bytes[], values: Bytes[] }[]} in order; none is empty */
  #chunks = [];

  /** @param {Bytes} key */
  get(key) {
    const found = this.#lowerBound(key);
    return this.#has(found, key) ? this.#chunks[found.at].values[found.place] : null;
  }

  /**
   * @param {Bytes} key
   * @param {Bytes} value
   */
  put(key, value) {
    if (this.#chunks.length === 0) this.#chunks.push({ keys: [], values: [] });
    const at = this.#chunkOf(key);
    const chunk = this.#chunks[at];
    const place = lowerBound(chunk.keys, key);
    if (this.#has({ at, place }, key)) {
      chunk.values[place] = value;
      return;
    }
    chunk.keys.splice(place, 0, key);
    chunk.values.splice(place, 0, value);
    if (chunk.keys.length > CHUNK_ROWS_MAX) this.#halve(at);
  }

  /** @param {Bytes} key */
  delete(key) {
    const { at, place } = this.#lowerBound(key);
    if (!this.#has({ at, place }, key)) return;
    const chunk = this.#chunks[at];
    chunk.keys.splice(place, 1);
    chunk.values.splice(place, 1);
    if (chunk.keys.length === 0) this.#chunks.splice(at, 1);
  }

  /**
   * @param {{ from: Bytes, to: Bytes, descending: boolean, limit: number }} scan
   * @returns {Row[]}
   */
  scan(scan) {
    if (isEmpty(scan)) return [];
    const first = this.#lowerBound(scan.from);
    const end = this.#lowerBound(scan.to);
    return scan.descending ? this.#backward(first, end, scan.limit) : this.#forward(first, end, scan.limit);
  }

  /**
   * @param {Place} first
   * @param {Place} end
   * @param {number} limit
   */
  #forward(first, end, limit) {
    /** @type {Row[]} */
    const rows = [];
    for (let at = first.at; at <= end.at && at < this.#chunks.length; at++) {
      const { keys, values } = this.#chunks[at];
      const stop = at === end.at ? end.place : keys.length;
      for (let place = at === first.at ? first.place : 0; place < stop; place++) {
        if (rows.length === limit) return rows;
        rows.push([keys[place], values[place]]);
      }
    }
    return rows;
  }

  /**
   * @param {Place} first
   * @param {Place} end
   * @param {number} limit
   */
  #backward(first, end, limit) {
    /** @type {Row[]} */
    const rows = [];
    for (let at = Math.min(end.at, this.#chunks.length - 1); at >= first.at; at--) {
      const { keys, values } = this.#chunks[at];
      const stop = at === first.at ? first.place : 0;
      for (let place = (at === end.at ? end.place : keys.length) - 1; place >= stop; place--) {
        if (rows.length === limit) return rows;
        rows.push([keys[place], values[place]]);
      }
    }
    return rows;
  }

  /**
   * Returns the position of the first key at or after `key`: past the last row if there is none.
   *
   * @param {Bytes} key
   * @returns {Place}
   */
  #lowerBound(key) {
    if (this.#chunks.length === 0) return { at: 0, place: 0 };
    const at = this.#chunkOf(key);
    const { keys } = this.#chunks[at];
    const place = lowerBound(keys, key);
    return place < keys.length ? { at, place } : { at: at + 1, place: 0 };
  }

  /**
   * Returns the last chunk that begins at or before `key`, or the first one.
   *
   * @param {Bytes} key
   */
  #chunkOf(key) {
    let low = 0;
    let high = this.#chunks.length;
    while (high - low > 1) {
      const middle = (low + high) >>> 1;
      if (compare(this.#chunks[middle].keys[0], key) <= 0) low = middle;
      else high = middle;
    }
    return low;
  }

  /**
   * @param {Place} at
   * @param {Bytes} key
   */
  #has({ at, place }, key) {
    const stored = this.#chunks[at]?.keys[place];
    return stored !== undefined && compare(stored, key) === 0;
  }

  /** @param {number} at */
  #halve(at) {
    const { keys, values } = this.#chunks[at];
    const half = keys.length >>> 1;
    this.#chunks.splice(at + 1, 0, { keys: keys.splice(half), values: values.splice(half) });
  }
}

/** @typedef {{ at: number, place: number }} Place a chunk, and a row in it */

/**
 * Returns the first index in `keys` at or after `key`.
 *
 * @param {Bytes[]} keys
 * @param {Bytes} key
 */
function lowerBound(keys, key) {
  let low = 0;
  let high = keys.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if (compare(keys[middle], key) < 0) low = middle + 1;
    else high = middle;
  }
  return low;
}
