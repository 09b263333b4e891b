/**
 * Which keys belong to which space, and what a read depended on. Used by the Durable Objects storage only.
 *
 * @import { Bytes, Change, Found, Read } from "./storage.d.ts"
 * @import { Range } from "./durable-object.d.ts"
 */

import { compare, isEmpty, keyOf, successor } from "./bytes.js";

/** Bytes of a key that name its space. */
const SPACE_BYTES = 5;

/**
 * The name of the space that a key belongs to.
 *
 * @param {Bytes} key
 */
export function spaceOf(key) {
  const [kind, a, b, c, d] = key;
  const number = ((a << 24) | (b << 16) | (c << 8) | d) >>> 0;
  if (key.length >= SPACE_BYTES && kind === 1) return `account-${number}`;
  if (key.length >= SPACE_BYTES && kind === 0 && number === 0) return "root";
  throw new RangeError("a key begins with its space");
}

/**
 * The name of the space that a read stays in. A scan over several is refused: they lie in different objects.
 *
 * @param {Read} read
 */
export function spaceOfRead(read) {
  if ("get" in read) return spaceOf(read.get);
  const space = spaceOf(read.from);
  if (compare(read.to, afterSpace(read.from)) > 0) throw new RangeError("a scan stays in one space");
  return space;
}

/** The end of a key's space: there is nothing between the root and the first account. @param {Bytes} key */
function afterSpace(key) {
  if (key[0] === 0) return Uint8Array.of(1);
  const end = key.slice(0, SPACE_BYTES);
  for (let at = SPACE_BYTES - 1; at >= 0; at--) {
    end[at] = (end[at] + 1) & 255;
    if (end[at] !== 0) break;
  }
  return end;
}

/**
 * All that a read may look at.
 *
 * @param {Read} read
 * @returns {Range[]}
 */
export function rangesOf(read) {
  if ("get" in read) return [[read.get, successor(read.get)]];
  return isEmpty(read) ? [] : [[read.from, read.to]];
}

/**
 * All that a result depends on: a scan that ended at its limit, or was cut, has not looked further.
 *
 * @param {Read} read
 * @param {Found} found
 * @param {boolean} cut
 * @returns {Range[]}
 */
export function seenRanges(read, found, cut) {
  if ("get" in read || !Array.isArray(found) || isEmpty(read) || (found.length < read.limit && !cut)) {
    return rangesOf(read);
  }
  const last = found[found.length - 1][0];
  return [read.descending ? [last, read.to] : [read.from, successor(last)]];
}

/**
 * The rest of a scan after its first rows.
 *
 * @param {Read} read
 * @param {Found} found
 * @returns {Read}
 */
export function restOf(read, found) {
  if ("get" in read || !Array.isArray(found)) throw new TypeError("only a scan is cut");
  const last = found[found.length - 1][0];
  const limit = read.limit - found.length;
  return read.descending ? { ...read, to: last, limit } : { ...read, from: successor(last), limit };
}

/**
 * The keys of changes, in order.
 *
 * @param {Change[]} changes
 */
export function sortedKeys(changes) {
  return changes.map(keyOf).sort(compare);
}

/**
 * Whether one of the keys, which are in order, lies in one of the ranges.
 *
 * @param {Range[]} ranges
 * @param {Bytes[]} keys
 */
export function touches(ranges, keys) {
  return ranges.some(([from, to]) => {
    let low = 0;
    let high = keys.length;
    while (low < high) {
      const middle = (low + high) >>> 1;
      if (compare(keys[middle], from) < 0) low = middle + 1;
      else high = middle;
    }
    return low < keys.length && compare(keys[low], to) < 0;
  });
}
