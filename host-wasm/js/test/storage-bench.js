/**
 * Rough figures of a storage. Independent of the runtime; time is measured over whole rounds, as the clock of some
 * runtimes stands still between calls.
 *
 * @import { Storage } from "../npm/storage/storage.d.ts"
 */

import { Random } from "./random.js";
import { everything, key } from "./world.js";

const ROWS = 20_000;
const SMALL_COMMITS = 300;

/**
 * @param {string} title
 * @param {number} count
 * @param {() => unknown} act
 */
async function rate(title, count, act) {
  const before = Date.now();
  await act();
  const seconds = Math.max(Date.now() - before, 1) / 1_000;
  return [title, Math.round(count / seconds)];
}

/** Returns operations per second, by title. @param {Storage} storage an empty one */
export async function bench(storage) {
  const random = new Random(1);
  const keyAt = (/** @type {number} */ at) => key(1, at >> 16, at >> 8, at);
  const rows = Array.from({ length: ROWS }, (_, at) => ({ put: keyAt(at), value: random.bytes(100) }));
  const figures = [];
  figures.push(
    await rate("rows put, 1,000 a commit", ROWS, async () => {
      for (let at = 0; at < ROWS; at += 1_000) await storage.commit(rows.slice(at, at + 1_000), undefined);
    }),
    await rate("runs of a read and a commit of 10 rows", SMALL_COMMITS, async () => {
      for (let at = 0; at < SMALL_COMMITS; at++) {
        const reading = await storage.read(rows.slice(at, at + 8).map(({ put }) => ({ get: put })));
        await storage.commit(rows.slice(at * 10, at * 10 + 10), reading?.picture);
      }
    }),
    await rate("rows got, 100 a read", ROWS, async () => {
      for (let at = 0; at < ROWS; at += 100) {
        await storage.read(Array.from({ length: 100 }, () => ({ get: keyAt(random.below(ROWS)) })));
      }
    }),
    await rate("reads of one row", 1_000, async () => {
      for (let at = 0; at < 1_000; at++) await storage.read([{ get: keyAt(random.below(ROWS)) }]);
    }),
    await rate("rows scanned, 1,000 a read", ROWS, async () => {
      for (let at = 0; at < ROWS; at += 1_000) {
        await storage.read([{ from: keyAt(at), to: key(2), descending: false, limit: 1_000 }]);
      }
    }),
    await rate("rows scanned at once", ROWS, async () => {
      await storage.read([everything(1)]);
    }),
    await rate("bytes put, 1 MiB a row", 16 << 20, async () => {
      const value = random.bytes(1 << 20);
      for (let at = 0; at < 16; at++) await storage.commit([{ put: key(3, at), value }], undefined);
    }),
  );
  return Object.fromEntries(figures);
}
