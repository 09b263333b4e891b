/**
 * Concurrent runs: the result must be as if they had come one after another.
 *
 * @import { Bytes, Change, Found, Read, Row, Storage } from "../npm/storage/storage.d.ts"
 * @import { World } from "./world.js"
 * @typedef {(reads: Read[]) => Promise<Found[]>} See the reads of a run
 */

import { Random } from "./random.js";
import { check, found, key } from "./world.js";

/** Thrown by a run's read when its picture is outdated. */
const OLD = Symbol("the picture is old");

/** Retries of a run before the storage counts as stuck. */
const TRIES_MAX = 2_000;

/**
 * Runs `decide` on pictures until its changes are committed, as a host does.
 *
 * @param {Storage} store
 * @param {(see: See) => Promise<Change[]>} decide
 */
export async function exchange(store, decide) {
  for (let tries = 0; tries < TRIES_MAX; tries++) {
    /** @type {unknown} */
    let picture;
    /** @type {See} */
    const see = async (reads) => {
      const reading = await store.read(reads, picture);
      if (reading === null) throw OLD;
      picture = reading.picture;
      return reading.found;
    };
    try {
      if (await store.commit(await decide(see), picture)) return tries;
    } catch (error) {
      if (error !== OLD) throw error;
    }
    // A host does other work in between; a storage that never waits would otherwise block all others.
    await new Promise((resolve) => setTimeout(resolve));
  }
  throw new Error(`not committed in ${TRIES_MAX} tries`);
}

/** @param {Found} found */
function numberOf(found) {
  if (!(found instanceof Uint8Array)) return 0;
  return new DataView(found.buffer, found.byteOffset).getUint32(0);
}

/** @param {number} number */
function bytesOf(number) {
  const bytes = new Uint8Array(4);
  new DataView(bytes.buffer).setUint32(0, number);
  return bytes;
}

/** @type {Record<string, (world: World) => Promise<void>>} */
export const contention = {
  async "counters lose nothing"({ stores, seed }) {
    const random = new Random(seed);
    const counters = [key(0, 1), key(1, 1), key(2, 1), key(2, 2)];
    const expected = counters.map(() => 0);
    const workers = Array.from({ length: 8 }, async (_, worker) => {
      for (let round = 0; round < 12; round++) {
        const places = random.once(2) ? [0, random.below(3) + 1] : [random.below(4)];
        places.forEach((place) => (expected[place] += 1));
        await exchange(stores[worker % stores.length], async (see) => {
          /** @type {number[]} */
          const numbers = [];
          for (const place of places) numbers.push(numberOf((await see([{ get: counters[place] }]))[0]));
          return places.map((place, at) => ({ put: counters[place], value: bytesOf(numbers[at] + 1) }));
        });
      }
    });
    await Promise.all(workers);
    const counted = (await found(stores[0], counters.map((get) => ({ get })))).map(numberOf);
    check(counted.join() === expected.join(), `counted ${counted} instead of ${expected}`);
  },

  async "a sum over spaces is the same in every picture"({ stores, seed }) {
    const random = new Random(seed);
    const places = [key(0, 1), key(1, 1), key(2, 1)];
    await stores[0].commit(places.map((put) => ({ put, value: bytesOf(1_000) })), undefined);
    let open = true;
    const movers = Array.from({ length: 4 }, async (_, worker) => {
      for (let round = 0; round < 15; round++) {
        const from = random.below(3);
        const to = (from + 1 + random.below(2)) % 3;
        await exchange(stores[worker % stores.length], async (see) => {
          const [a, b] = (await see([{ get: places[from] }, { get: places[to] }])).map(numberOf);
          return [{ put: places[from], value: bytesOf(a - 7) }, { put: places[to], value: bytesOf(b + 7) }];
        });
      }
    });
    const watchers = Array.from({ length: 3 }, async (_, worker) => {
      const order = [0, 1, 2].map((at) => places[(at + worker) % 3]);
      for (let seen = 0; open || seen === 0;) seen += await watch(stores[worker % stores.length], order);
    });
    await Promise.all(movers).finally(() => (open = false));
    await Promise.all(watchers);
  },

  async "of two runs that read the same and write apart one is refused"({ stores }) {
    const [left, right] = [key(1, 1), key(2, 1)];
    for (let round = 0; round < 12; round++) {
      await stores[0].commit([left, right].map((put) => ({ put, value: bytesOf(1) })), undefined);
      const withdraw = (/** @type {Bytes} */ own) => async (/** @type {See} */ see) => {
        const [a] = await see([{ get: left }]);
        const [b] = await see([{ get: right }]);
        return numberOf(a) + numberOf(b) === 2 ? [{ put: own, value: bytesOf(0) }] : [];
      };
      await Promise.all([left, right].map((own, at) => exchange(stores[(round + at) % stores.length], withdraw(own))));
      const [a, b] = (await found(stores[0], [{ get: left }, { get: right }])).map(numberOf);
      check(a + b === 1, `round ${round}: ${a} and ${b} are left`);
    }
  },

  async "what a run scanned does not grow before it commits"({ stores }) {
    const range = { from: key(1, 5), to: key(1, 6), descending: true, limit: 1 };
    const append = async (/** @type {See} */ see) => {
      const [rows] = /** @type {Row[][]} */ (await see([range]));
      const last = rows.length === 0 ? 0 : rows[0][0][6];
      return [{ put: key(1, 5, last + 1), value: new Uint8Array([last]) }];
    };
    await Promise.all(Array.from({ length: 24 }, (_, at) => exchange(stores[at % stores.length], append)));
    const [rows] = /** @type {Row[][]} */ (await found(stores[0], [{ ...range, limit: 100 }]));
    check(rows.length === 24, `${rows.length} rows instead of 24`);
  },
};

/**
 * Reads the places in several calls of one run; returns whether the picture held to the end.
 *
 * @param {Storage} store
 * @param {Bytes[]} places
 */
async function watch(store, places) {
  /** @type {unknown} */
  let picture;
  let sum = 0;
  for (const place of places) {
    const reading = await store.read([{ get: place }], picture);
    if (reading === null) return 0;
    picture = reading.picture;
    sum += numberOf(reading.found[0]);
  }
  check(sum === 3_000, `a picture with the sum ${sum}`);
  await new Promise((resolve) => setTimeout(resolve));
  return 1;
}
