/**
 * A writer whose rows are a function of the number of its last commit: a later reader can tell whether a commit was
 * lost or torn. Independent of the runtime.
 *
 * @import { Change, Row, Storage } from "../npm/storage/storage.d.ts"
 */

import { hex } from "./model.js";
import { Random } from "./random.js";
import { everything, key } from "./world.js";

/**
 * Returns the rows of an account after commit `number`, in order.
 *
 * @param {number} account
 * @param {number} number
 * @returns {Row[]}
 */
export function rowsAfter(account, number) {
  if (number === 0) return [];
  const random = new Random(number);
  const rows = new Map();
  // Every third commit has thousands of rows, or megabytes.
  const [count, size] = number % 3 === 0 ? random.pick([[2_500, 60], [30, 90_000]]) : [40, 3_000];
  for (let left = 1 + random.below(count); left > 0; left--) {
    const at = key(account, random.below(5), random.below(256));
    rows.set(hex(at), [at, random.bytes(random.below(size))]);
  }
  rows.set("", [key(account), Uint8Array.of(number >> 24, number >> 16, number >> 8, number)]);
  return [...rows.values()].sort(([a], [b]) => (hex(a) < hex(b) ? -1 : 1));
}

/**
 * Returns the number of an account's last commit, from its rows; throws when they are not those of that commit.
 *
 * @param {Storage} storage
 * @param {number} account
 */
export async function lastCommit(storage, account) {
  const reading = await storage.read([everything(account)]);
  const [rows] = /** @type {Row[][]} */ (reading?.found);
  const head = rows[0]?.[1] ?? new Uint8Array(4);
  const number = new DataView(head.buffer, head.byteOffset).getUint32(0);
  const text = (/** @type {Row[]} */ list) => list.map(([at, value]) => `${hex(at)} ${hex(value)}`).join("\n");
  if (text(rows) !== text(rowsAfter(account, number))) throw new Error(`commit ${number} is there by half`);
  return number;
}

/**
 * Commits one number after another, and passes each to `acknowledge` once its commit is made.
 *
 * @param {Storage} storage
 * @param {number} account
 * @param {(number: number) => unknown} acknowledge
 */
export async function writeForEver(storage, account, acknowledge) {
  let number = await lastCommit(storage, account);
  for (;;) {
    const before = rowsAfter(account, number);
    const after = rowsAfter(account, number + 1);
    const kept = new Set(after.map(([at]) => hex(at)));
    /** @type {Change[]} */
    const changes = after.map(([put, value]) => ({ put, value }));
    changes.push(...before.filter(([at]) => !kept.has(hex(at))).map(([at]) => ({ delete: at })));
    const reading = await storage.read([{ get: key(account) }]);
    if (!(await storage.commit(changes, reading?.picture))) continue;
    number += 1;
    await acknowledge(number);
  }
}
