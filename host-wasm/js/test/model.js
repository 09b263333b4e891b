/**
 * The map as simple as possible: a list of rows, sorted again for every scan. Storages are compared with it.
 *
 * @import { Bytes, Change, Found, Read, Row } from "../npm/storage/storage.d.ts"
 */

/** @param {Bytes} bytes */
export function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

export class Model {
  /** @type {Map<string, Row>} */
  #rows = new Map();

  /** @param {Change[]} changes */
  apply(changes) {
    for (const change of changes) {
      if ("put" in change) this.#rows.set(hex(change.put), [change.put, change.value]);
      else this.#rows.delete(hex(change.delete));
    }
  }

  /** Returns the map after a commit. @param {Change[]} changes */
  after(changes) {
    const model = new Model();
    model.#rows = new Map(this.#rows);
    model.apply(changes);
    return model;
  }

  /**
   * @param {Read} read
   * @returns {Found}
   */
  find(read) {
    if ("get" in read) return this.#rows.get(hex(read.get))?.[1] ?? null;
    const from = hex(read.from);
    const to = hex(read.to);
    const keys = [...this.#rows.keys()].filter((key) => key >= from && key < to).sort();
    if (read.descending) keys.reverse();
    return keys.slice(0, read.limit).map((key) => /** @type {Row} */ (this.#rows.get(key)));
  }
}

/**
 * Returns whether two results are the same; large values are compared byte by byte.
 *
 * @param {Found} a
 * @param {Found} b
 * @returns {boolean}
 */
export function same(a, b) {
  if (a === null || b === null) return a === b;
  if (a instanceof Uint8Array || b instanceof Uint8Array) {
    return a instanceof Uint8Array && b instanceof Uint8Array && sameBytes(a, b);
  }
  return a.length === b.length && a.every(([key, value], at) => sameBytes(key, b[at][0]) && sameBytes(value, b[at][1]));
}

/**
 * @param {Bytes} a
 * @param {Bytes} b
 */
function sameBytes(a, b) {
  return a.length === b.length && a.every((byte, at) => byte === b[at]);
}

/** Describes a result in one line. @param {Found} found */
export function show(found) {
  if (found === null) return "nothing";
  if (found instanceof Uint8Array) return `${found.length} bytes`;
  return `[${found.map(([key, value]) => `${hex(key)}: ${value.length}`).join(", ")}]`;
}
