/**
 * Byte strings: their order, and the bounds that every storage enforces. Used by the storages only.
 *
 * @import { Bytes, Change } from "./storage.d.ts"
 */

export const KEY_BYTES_MAX = 1000;
export const VALUE_BYTES_MAX = 2_000_000;
export const CHANGES_MAX = 60_000;

/**
 * Returns a negative number, zero or a positive one as `a` sorts before, with, or after `b`.
 *
 * @param {Bytes} a
 * @param {Bytes} b
 */
export function compare(a, b) {
  const shared = Math.min(a.length, b.length);
  for (let at = 0; at < shared; at++) {
    if (a[at] !== b[at]) return a[at] - b[at];
  }
  return a.length - b.length;
}

/**
 * Returns the smallest key after `key`.
 *
 * @param {Bytes} key
 * @returns {Bytes}
 */
export function successor(key) {
  const next = new Uint8Array(key.length + 1);
  next.set(key);
  return next;
}

/**
 * Returns whether a scan cannot have any rows, whatever is stored.
 *
 * @param {{ from: Bytes, to: Bytes, limit: number }} scan
 */
export function isEmpty(scan) {
  return scan.limit <= 0 || compare(scan.from, scan.to) >= 0;
}

/** @param {Change} change */
export function keyOf(change) {
  return "put" in change ? change.put : change.delete;
}

/**
 * Throws for changes that not every storage could hold, before any of them is made.
 *
 * @param {Change[]} changes
 */
export function checkChanges(changes) {
  if (changes.length > CHANGES_MAX) throw new RangeError(`a commit has at most ${CHANGES_MAX} changes`);
  for (const change of changes) {
    const length = keyOf(change).length;
    if (length < 5 || length > KEY_BYTES_MAX) throw new RangeError(`a key has 5 to ${KEY_BYTES_MAX} bytes`);
    if ("put" in change && change.value.length > VALUE_BYTES_MAX) {
      throw new RangeError(`a value has at most ${VALUE_BYTES_MAX} bytes`);
    }
  }
}
