/**
 * The input of a case of the suite, and helpers that the cases share.
 *
 * @import { Read, Storage } from "../npm/storage/storage.d.ts"
 * @typedef {object} World
 * @property {Storage[]} stores one map through several storages; at least one
 * @property {number} seed
 */

/**
 * @param {boolean} holds
 * @param {string} message
 * @returns {asserts holds}
 */
export function check(holds, message) {
  if (!holds) throw new Error(message);
}

/**
 * Returns a key of an account, or of the root for account 0.
 *
 * @param {number} account
 * @param {...number} rest
 */
export function key(account, ...rest) {
  return new Uint8Array([account === 0 ? 0 : 1, 0, 0, 0, account, ...rest]);
}

/** Returns a scan of all keys of an account, or of the root. @param {number} account @returns {Read} */
export function everything(account) {
  const to = account === 0 ? new Uint8Array([1]) : key(account + 1);
  return { from: key(account), to, descending: false, limit: 1_000_000 };
}

/**
 * Executes reads that must succeed.
 *
 * @param {Storage} store
 * @param {Read[]} reads
 */
export async function found(store, reads) {
  const reading = await store.read(reads);
  check(reading !== null, "a read without a picture gives no null");
  return reading.found;
}
