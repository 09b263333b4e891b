/**
 * Rows of the map in Deno KV, whose values have at most 65,536 bytes. Used by the Deno KV storage only.
 *
 * A short value stands in its row's entry. Of a longer one the entry holds the length, and the bytes stand in
 * parts beside it. What is read here is of one picture only if the state was the same before and after.
 *
 * @import { Kv, KvEntry, KvKey } from "./deno-kv.d.ts"
 * @import { Bytes, Change, Found, Read, Row } from "./storage.d.ts"
 * @import { Mutation } from "./deno-kv-batch.js"
 */

import { isEmpty, keyOf } from "./bytes.js";

/** Longest value of an entry, bytes. */
export const VALUE_BYTES_MAX = 65_536;
/** Keys of one `getMany`. */
export const KEYS_MAX = 10;
/** Entries that a list fetches at once; up to 1,000 are allowed, and a row may have 64 KiB. */
const LIST_BATCH = 500;
/** Look-ups under way at once. */
const PARALLEL = 16;

/** A value whose parts do not fit its row's entry: it was changed while it was read, or the store is damaged. */
export class Torn extends Error {}

/** @param {Bytes} key @returns {KvKey} */
const rowKey = (key) => ["switchboard", "row", key];
/** @param {Bytes} key @param {number} part @returns {KvKey} */
const partKey = (key, part) => ["switchboard", "part", key, part];
/** @param {number} bytes */
const partsOf = (bytes) => (bytes <= VALUE_BYTES_MAX ? 0 : Math.ceil(bytes / VALUE_BYTES_MAX));

/**
 * The reads of one key each, as keys of entries; `undefined` where a scan is among them.
 *
 * @param {Read[]} reads
 */
export function entryKeys(reads) {
  const keys = reads.map((read) => ("get" in read ? rowKey(read.get) : undefined));
  return /** @type {KvKey[] | undefined} */ (keys.includes(undefined) ? undefined : keys);
}

/**
 * The values of entries that are not in parts; `undefined` where one is.
 *
 * @param {KvEntry[]} entries
 */
export function shortValues(entries) {
  if (entries.some(({ value }) => typeof value === "number")) return undefined;
  return entries.map(({ value }) => (value instanceof Uint8Array ? value : null));
}

/**
 * @param {Kv} kv
 * @param {Read[]} reads
 * @returns {Promise<Found[]>}
 */
export async function find(kv, reads) {
  const gets = reads.flatMap((read) => ("get" in read ? [read.get] : []));
  const values = lookUp(kv, gets.map(rowKey)).then((entries) => assemble(kv, gets, entries));
  const scans = inParallel(reads.filter((read) => "from" in read), (read) => scan(kv, read));
  const [valueList, rowLists] = await Promise.all([values, scans]);
  let value = 0;
  let rows = 0;
  return reads.map((read) => ("get" in read ? valueList[value++] : rowLists[rows++]));
}

/**
 * How many parts each key has.
 *
 * @param {Kv} kv
 * @param {Bytes[]} keys
 */
export async function partCounts(kv, keys) {
  const entries = await lookUp(kv, keys.map(rowKey));
  return entries.map(({ value }) => (typeof value === "number" ? partsOf(value) : 0));
}

/**
 * What a change does to the entries, where its row had `parts`. The row's own entry comes last: until then it
 * tells what parts there may be.
 *
 * @param {Change} change
 * @param {number} parts
 * @returns {Iterable<Mutation>}
 */
export function* mutations(change, parts) {
  const key = keyOf(change);
  const value = "put" in change ? change.value : undefined;
  const kept = value === undefined ? 0 : partsOf(value.length);
  for (let part = kept; part < parts; part++) yield { key: partKey(key, part) };
  for (let part = 0; part < kept; part++) {
    yield { key: partKey(key, part), value: value?.slice(part * VALUE_BYTES_MAX, (part + 1) * VALUE_BYTES_MAX) };
  }
  if (value === undefined) yield { key: rowKey(key) };
  else yield { key: rowKey(key), value: kept > 0 ? value.length : value };
}

/**
 * @param {Kv} kv
 * @param {{ from: Bytes, to: Bytes, descending: boolean, limit: number }} range
 * @returns {Promise<Row[]>}
 */
async function scan(kv, range) {
  if (isEmpty(range)) return [];
  const { from, to, descending, limit } = range;
  const options = { limit: Math.min(limit, 2 ** 31), reverse: descending, batchSize: Math.min(limit, LIST_BATCH) };
  const entries = [];
  for await (const entry of kv.list({ start: rowKey(from), end: rowKey(to) }, options)) entries.push(entry);
  const keys = entries.map((entry) => /** @type {Bytes} */ (entry.key[2]));
  const values = await assemble(kv, keys, entries);
  return keys.map((key, at) => [key, /** @type {Bytes} */ (values[at])]);
}

/**
 * The values of entries, with those taken together that are in parts.
 *
 * @param {Kv} kv
 * @param {Bytes[]} keys
 * @param {KvEntry[]} entries
 * @returns {Promise<(Bytes | null)[]>}
 */
async function assemble(kv, keys, entries) {
  const long = entries.flatMap(({ value }, at) => (typeof value === "number" ? [{ at, bytes: value }] : []));
  const partKeys = long.flatMap(({ at, bytes }) =>
    Array.from({ length: partsOf(bytes) }, (_, part) => partKey(keys[at], part))
  );
  const parts = (await lookUp(kv, partKeys)).values();
  const values = entries.map(({ value }) => (value instanceof Uint8Array ? value : null));
  for (const { at, bytes } of long) {
    const value = new Uint8Array(bytes);
    for (let start = 0; start < bytes; start += VALUE_BYTES_MAX) {
      const part = parts.next().value?.value;
      const length = Math.min(bytes - start, VALUE_BYTES_MAX);
      if (!(part instanceof Uint8Array) || part.length !== length) throw new Torn("a value's parts do not fit");
      value.set(part, start);
    }
    values[at] = value;
  }
  return values;
}

/**
 * The entries of any number of keys, in their order.
 *
 * @param {Kv} kv
 * @param {KvKey[]} keys
 */
export async function lookUp(kv, keys) {
  const groups = [];
  for (let at = 0; at < keys.length; at += KEYS_MAX) groups.push(keys.slice(at, at + KEYS_MAX));
  return (await inParallel(groups, (group) => kv.getMany(group))).flat();
}

/**
 * Does `act` for each item, a bounded number at once; the results are in the order of the items.
 *
 * @template T, R
 * @param {T[]} items
 * @param {(item: T) => Promise<R>} act
 */
async function inParallel(items, act) {
  /** @type {R[]} */
  const results = Array(items.length);
  const rest = items.entries();
  const worker = async () => {
    for (const [at, item] of rest) results[at] = await act(item);
  };
  await Promise.all(Array.from({ length: Math.min(PARALLEL, items.length) }, worker));
  return results;
}
