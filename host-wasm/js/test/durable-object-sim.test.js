/**
 * Commits over several objects, in many simulated worlds where objects die and calls are lost.
 *
 * Each commit writes a marker in every space that it changes and raises the count there, so that a count is a
 * version of its space. At the end a marker is everywhere or nowhere, what was acknowledged is there, and all
 * runs, those that only read included, fit into one order by the versions that they read and wrote.
 *
 * @import { Change, Found, Row, Storage } from "../npm/storage/storage.d.ts"
 * @typedef {object} Run
 * @property {number} id
 * @property {number[]} accounts that it changes
 * @property {Map<number, number>} read the version of each account that it read
 * @property {"unknown" | "made" | "refused"} fate
 */

import test from "node:test";

import { Sim } from "./durable-object-sim.js";
import { Random } from "./random.js";
import { seed } from "./run.js";
import { check, everything, key } from "./world.js";

const ACCOUNTS = [0, 1, 2, 3];
const COUNT = 1;
const MARKER = 2;
const WORLDS = 150;
const NEVER = 1e9;

/** @param {number} account */
const nameOf = (account) => (account === 0 ? "root" : `account-${account}`);
/** @param {number} number */
const bytesOf = (number) => new Uint8Array([number >> 24, number >> 16, number >> 8, number]);
/** @param {Found} found */
const numberOf = (
  found,
) => (found instanceof Uint8Array ? new DataView(found.buffer, found.byteOffset).getInt32(0) : 0);

class World {
  /** @type {Run[]} */
  runs = [];

  /** @param {number} worldSeed */
  constructor(worldSeed) {
    this.random = new Random(worldSeed);
    // Some worlds are calm, so that contention is tried by itself.
    this.isCalm = this.random.once(2);
    const slowMs = this.random.pick([20, 100, 400, 3_000, 25_000]);
    this.killEveryMs = this.random.pick([100, 400, 1_500]) + slowMs / 10;
    this.sim = new Sim(worldSeed + 1, { lost: this.isCalm ? NEVER : 40, slowMs });
  }

  async run() {
    const { sim } = this;
    const clients = [0, 1, 2, 3, 0, 1, 2, 3].map((account, at) => this.#client(account, at < 5 ? 15 : 0));
    let isOver = false;
    const ended = Promise.all(clients).finally(() => (isOver = true));
    if (!this.isCalm) this.#killAtTimes(() => isOver);
    await sim.run(() => isOver);
    await ended;
    sim.network.lost = NEVER;
    const quietMs = sim.nowMs + 120_000;
    await sim.run(() => sim.nowMs >= quietMs || this.#isQuiet());
    await this.#checkEnd(this.random.pick(ACCOUNTS));
  }

  #isQuiet() {
    return [...this.sim.objects.values()].every((object) => object.count("prepared") + object.count("decisions") === 0);
  }

  /** @param {() => boolean} isOver */
  #killAtTimes(isOver) {
    this.sim.after(this.random.below(this.killEveryMs), () => {
      if (isOver()) return;
      this.sim.object(nameOf(this.random.pick(ACCOUNTS))).die();
      this.#killAtTimes(isOver);
    });
  }

  /**
   * What a run of an object comes to; `undefined` when the object died meanwhile.
   *
   * @template T
   * @param {number} account
   * @param {(storage: import("../npm/storage/storage.d.ts").Storage<any>) => Promise<T>} run
   * @returns {Promise<T | undefined>}
   */
  async #inObject(account, run) {
    const object = this.sim.object(nameOf(account));
    return Promise.race([run(object.shard.storage), object.death]);
  }

  /**
   * Runs of an account's object, one after another: commits, or readers of everything.
   *
   * @param {number} account
   * @param {number} commits 0: it only reads
   */
  async #client(account, commits) {
    for (let round = 0; round < (commits || 20); round++) {
      await this.sim.sleep(this.random.below(40));
      const changed = commits ? ACCOUNTS.filter(() => this.random.once(3)) : [];
      /** @type {Run} */
      const run = { id: this.runs.length, accounts: changed, read: new Map(), fate: "unknown" };
      this.runs.push(run);
      const order = [
        ...changed,
        ...ACCOUNTS.filter((at) => !changed.includes(at) && (!commits || this.random.once(3))),
      ];
      if (this.random.once(2)) order.reverse();
      const made = await this.#inObject(account, (storage) => this.#carryOut(storage, run, order)).catch(() =>
        undefined
      );
      if (made !== undefined) run.fate = made ? "made" : "refused";
    }
  }

  /**
   * @param {Storage<any>} storage
   * @param {Run} run
   * @param {number[]} order of the accounts that it reads, one or two in a call
   */
  async #carryOut(storage, { id, accounts, read }, order) {
    /** @type {unknown} */
    let picture;
    for (let at = 0; at < order.length;) {
      const some = order.slice(at, at += 1 + this.random.below(2));
      const reading = await storage.read(some.map((account) => ({ get: key(account, COUNT) })), picture);
      if (reading === null) return false;
      picture = reading.picture;
      some.forEach((account, n) => read.set(account, numberOf(reading.found[n])));
      if (this.random.once(3)) await this.sim.sleep(this.random.below(20));
    }
    /** @type {Change[]} */
    const changes = accounts.flatMap((account) => {
      const value = bytesOf((read.get(account) ?? 0) + 1);
      return [{ put: key(account, COUNT), value }, { put: key(account, MARKER, id >> 8, id), value }];
    });
    // A run that only reads is over: all that it read must be of one picture without a commit.
    return changes.length === 0 || storage.commit(changes, picture);
  }

  /** @param {number} account from whose object everything is read */
  async #checkEnd(account) {
    check(this.#isQuiet(), "something stays undecided");
    const { storage } = this.sim.object(nameOf(account)).shard;
    const reading = await this.sim.act(() => storage.read(ACCOUNTS.map(everything)));
    const maps = /** @type {Row[][]} */ (reading?.found).map((rows) =>
      new Map(rows.map(([at, value]) => [at.slice(5).join(), numberOf(value)]))
    );
    const made = this.runs.filter((run) => {
      const present = ACCOUNTS.filter((at) => maps[at].has([MARKER, (run.id >> 8) & 255, run.id & 255].join()));
      check(
        present.length === 0 || present.join() === run.accounts.join(),
        `commit ${run.id} is there by half: ${present} of ${run.accounts}`,
      );
      if (run.fate === "made") {
        check(present.join() === run.accounts.join(), `the acknowledged commit ${run.id} is lost`);
      }
      if (run.fate === "refused") check(present.length === 0, `the refused commit ${run.id} was made`);
      return present.length > 0 || (run.accounts.length === 0 && run.fate === "made");
    });
    for (const map of maps) check(map.size - 1 === (map.get(String(COUNT)) ?? -1), "a count has lost a commit");
    checkOrder(made);
  }
}

/**
 * Whether there is an order of runs that explains all that they read and wrote.
 *
 * @param {Run[]} runs
 */
function checkOrder(runs) {
  const writers = new Map();
  for (const run of runs) {
    for (const account of run.accounts) writers.set(`${account} ${(run.read.get(account) ?? 0) + 1}`, run);
  }
  /**
   * Those that come right after a run: it read what they overwrote, or they read or overwrote what it wrote.
   *
   * @param {Run} run
   */
  const followers = (run) =>
    runs.filter((other) =>
      [...other.read].some(([account, version]) => {
        const wrote = run.accounts.includes(account) ? (run.read.get(account) ?? 0) + 1 : undefined;
        return wrote === version || (other.accounts.includes(account) && run.read.get(account) === version);
      })
    );
  check(
    writers.size === runs.reduce((sum, { accounts }) => sum + accounts.length, 0),
    "two commits wrote the same version",
  );
  const done = new Set();
  const path = new Set();
  const visit = (/** @type {Run} */ run) => {
    if (done.has(run)) return;
    check(!path.has(run), `no order explains the runs ${[...path].map(({ id }) => id)}`);
    path.add(run);
    for (const other of followers(run)) if (other !== run) visit(other);
    path.delete(run);
    done.add(run);
  };
  runs.forEach(visit);
}

test(`durable objects: ${WORLDS} simulated worlds keep every commit whole`, async (t) => {
  const fates = { unknown: 0, made: 0, refused: 0 };
  let readings = 0;
  for (let at = 0; at < WORLDS; at++) {
    const worldSeed = (seed + at) >>> 0;
    const world = new World(worldSeed);
    await world.run().catch((error) => {
      throw new Error(`SWITCHBOARD_SEED=${worldSeed} ${error.message}`, { cause: error });
    });
    for (const { fate, accounts } of world.runs) {
      if (accounts.length > 0) fates[fate] += 1;
      else if (fate === "made") readings += 1;
    }
  }
  t.diagnostic(`${JSON.stringify(fates)}, ${readings} readings`);
  check(Math.min(fates.made, fates.unknown, fates.refused, readings) > WORLDS, "too little was tried");
});
