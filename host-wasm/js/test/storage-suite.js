/**
 * The requirements of every storage, as cases for a runner of any runtime. Independent of the runtime.
 *
 * A case gets a world: storages on one map, empty at the start, each with a connection of its own where the storage
 * supports several. It throws where the storage is wrong.
 *
 * @import { Change, Read, Row, Storage } from "../npm/storage/storage.d.ts"
 * @import { World } from "./world.js"
 */

import { History } from "./history.js";
import { Model, same, show } from "./model.js";
import { Random } from "./random.js";
import { contention } from "./storage-contention.js";
import { check, everything, found, key } from "./world.js";

/**
 * @param {Storage} store
 * @param {Model} model
 * @param {Read[]} reads
 */
async function agree(store, model, reads) {
  const results = await found(store, reads);
  check(results.length === reads.length, "as many results as reads");
  results.forEach((result, at) => {
    const expected = model.find(reads[at]);
    check(same(result, expected), `read ${at}: ${show(result)} instead of ${show(expected)}`);
  });
}

/**
 * Puts and deletes through one storage and the model.
 *
 * @param {World} world
 * @param {Model} model
 * @param {Change[]} changes
 */
async function commit(world, model, changes) {
  check((await world.stores[0].commit(changes, undefined)) === true, "a commit without a picture is made");
  model.apply(changes);
}

/** @type {Record<string, (world: World) => Promise<void>>} */
export const cases = {
  async "an empty map has nothing"({ stores }) {
    for (const store of stores) {
      await agree(store, new Model(), [{ get: key(0, 1) }, everything(0), everything(1)]);
      await agree(store, new Model(), []);
      check((await store.commit([], undefined)) === true, "an empty commit is made");
    }
  },

  async "scans keep order, bounds and limits"(world) {
    const model = new Model();
    const keys = [[], [0], [0, 0], [0, 255], [1], [1, 0], [254], [255], [255, 0], [255, 255]];
    for (const account of [0, 1, 2, 255]) {
      const changes = keys.map((rest, at) => ({ put: key(account, ...rest), value: new Uint8Array([account, at]) }));
      await commit(world, model, changes);
    }
    const bounds = keys.map((rest) => key(1, ...rest));
    for (const from of bounds) {
      /** @type {Read[]} */
      const reads = [...bounds, key(2)].flatMap((to) =>
        [0, 1, 2, 9, 10, 4_294_967_295].flatMap((limit) => [
          { from, to, descending: false, limit },
          { from, to, descending: true, limit },
        ])
      );
      await agree(world.stores[0], model, reads);
    }
    await agree(world.stores[0], model, [0, 1, 2, 3, 254, 255].map(everything));
  },

  async "a scan over all spaces gives the whole map"(world) {
    const model = new Model();
    await commit(
      world,
      model,
      [0, 1, 2, 255].map((account) => ({ put: key(account, 7), value: new Uint8Array([account]) })),
    );
    const whole = { from: new Uint8Array(), to: new Uint8Array(32).fill(255), descending: false, limit: 1_000 };
    await agree(world.stores[0], model, [whole, { ...whole, descending: true }]);
  },

  async "long scans keep order and limits"(world) {
    const model = new Model();
    const random = new Random(world.seed);
    for (let part = 0; part < 3; part++) {
      const changes = Array.from({ length: 900 }, (_, at) => ({
        put: key(7, part, (at * 7) >> 8, at * 7, ...random.bytes(random.below(4))),
        value: random.bytes(random.below(200)),
      }));
      await commit(world, model, changes);
    }
    const limits = [99, 100, 101, 499, 500, 501, 999, 1000, 1001, 2699, 2700, 2701];
    for (const limit of limits) {
      const bounds = { from: key(7), to: key(8), limit };
      await agree(world.stores[0], model, [
        { ...bounds, descending: false },
        { ...bounds, descending: true },
        { ...bounds, from: key(7, 0, 200), to: key(7, 2, 3), descending: true },
      ]);
    }
  },

  async "values of every size come back, whatever was there before"(world) {
    const model = new Model();
    const random = new Random(world.seed);
    const sizes = [
      0,
      1,
      255,
      65_535,
      65_536,
      65_537,
      131_072,
      131_073,
      1 << 20,
      (1 << 20) + 300,
      1_100_000,
      3,
      700_000,
      0,
    ];
    for (const size of [...sizes, ...sizes.toReversed()]) {
      const value = random.bytes(size);
      await commit(world, model, [{ put: key(3, 1), value }, { put: key(3, 2, size % 7), value }]);
      await agree(world.stores.at(-1) ?? world.stores[0], model, [{ get: key(3, 1) }, everything(3)]);
    }
    await commit(world, model, [{ delete: key(3, 1) }, { delete: key(3, 9) }]);
    await agree(world.stores[0], model, [{ get: key(3, 1) }, everything(3)]);
  },

  async "keys of every length, full of the smallest and the largest byte"(world) {
    const model = new Model();
    /** @type {Change[]} */
    const changes = [0, 1, 127, 128, 500, 995].flatMap((length) =>
      [0, 1, 255].map((byte) => ({
        put: key(4, byte, ...Array(Math.max(0, length - 1)).fill(byte)),
        value: new Uint8Array(length),
      }))
    );
    await commit(world, model, [
      ...new Map(changes.map((change) => ["put" in change ? change.put.join() : "", change])).values(),
    ]);
    await agree(world.stores[0], model, [everything(4), { ...everything(4), descending: true }]);
  },

  async "bounds of keys, values and commits are kept"(world) {
    const { stores } = world;
    const value = new Uint8Array(1);
    /** @type {Change[][]} */
    const refused = [
      [{ put: new Uint8Array(4), value }],
      [{ put: new Uint8Array(1_001), value }],
      [{ put: key(1), value }, { delete: new Uint8Array(1_001) }],
      [{ put: key(1), value: new Uint8Array(2_000_001) }],
      Array(60_001).fill({ delete: key(1) }),
    ];
    for (const changes of refused) {
      const outcome = await Promise.resolve().then(() => stores[0].commit(changes, undefined)).catch((error) => error);
      check(outcome instanceof Error, "more than every storage holds is refused");
    }
    const model = new Model();
    await agree(stores[0], model, [everything(0), everything(1)]);
    await commit(world, model, [{ put: key(1, ...Array(995).fill(255)), value: new Uint8Array(2_000_000).fill(1) }]);
    await agree(stores[0], model, [everything(1)]);
  },

  async "commits of thousands of changes are made whole"(world) {
    const model = new Model();
    const random = new Random(world.seed);
    const keyAt = (/** @type {number} */ at) => key(random.pick([0, 1, 2]), at >> 16, at >> 8, at);
    const keys = Array.from({ length: 3_000 }, (_, at) => keyAt(at));
    await commit(world, model, keys.map((put) => ({ put, value: random.bytes(random.below(300)) })));
    await agree(world.stores[0], model, [0, 1, 2].map(everything));
    await commit(
      world,
      model,
      keys.map((at) => (random.once(2) ? { delete: at } : { put: at, value: random.bytes(40) })),
    );
    await agree(world.stores.at(-1) ?? world.stores[0], model, [0, 1, 2].map(everything));
    const large = Array.from(
      { length: 12 },
      (_, at) => ({ put: keys[at * 9], value: random.bytes(random.below(1_100_000)) }),
    );
    await commit(world, model, large);
    await agree(world.stores[0], model, large.map(({ put }) => ({ get: put })));
    await commit(world, model, keys.map((at) => ({ delete: at })));
    await agree(world.stores[0], model, [0, 1, 2].map(everything));
  },

  async "the largest commit is made whole"({ stores, seed }) {
    const random = new Random(seed);
    const count = 60_000;
    const value = random.bytes(1_000);
    const keyAt = (/** @type {number} */ at) => key(5, at >> 16, at >> 8, at);
    const { picture } = /** @type {{ picture: unknown }} */ (await stores[0].read([{ get: key(5) }]));
    const changes = Array.from({ length: count }, (_, at) => ({ put: keyAt(at), value }));
    check((await stores[0].commit(changes, picture)) === true, "the commit is made");
    const [rows] =
      /** @type {Row[][]} */ (await found(stores[0], [{ ...everything(5), limit: 30_000, descending: true }]));
    check(rows.length === 30_000, "the rows are there");
    check(rows.every((row, at) => same([row], [[keyAt(count - 1 - at), value]])), "in order");
    const deletes = changes.map(({ put }) => ({ delete: put }));
    check((await stores[0].commit(deletes, undefined)) === true, "the rows are deleted");
    await agree(stores[0], new Model(), [everything(5)]);
  },

  async "a picture does not hold after what was read has changed"({ stores }) {
    const writer = stores.at(-1) ?? stores[0];
    const value = new Uint8Array([1]);
    for (const change of [{ put: key(1, 1), value }, { delete: key(1, 1) }]) {
      for (const read of [{ get: key(1, 1) }, everything(1)]) {
        const before = await stores[0].read([read]);
        check(before !== null, "there is a picture");
        const again = await stores[0].read([{ get: key(0, 9) }], before.picture);
        check(again !== null, "it holds while nothing was committed");
        check((await writer.commit([change], undefined)) === true, "a change is made");
        const other = await stores[0].read([{ get: key(0, 9) }], again.picture);
        check(
          other === null || same(other.found[0], again.found[0]),
          "another read does not hold, or is of the picture",
        );
        const late = await stores[0].read([read], again.picture);
        check(late === null || same(late.found[0], before.found[0]), "so is the same read");
        check((await stores[0].commit([{ put: key(0, 9), value }], again.picture)) === false, "a commit says so");
        check((await stores[0].commit([], before.picture)) === false, "an empty one as well");
      }
    }
    check(same((await found(stores[0], [{ get: key(0, 9) }]))[0], null), "nothing was changed");
  },

  async "a random history agrees with the model"(world) {
    await new History(world).run();
  },

  ...contention,
};
