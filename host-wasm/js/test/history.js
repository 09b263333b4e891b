/**
 * A random history of reads and commits by several concurrent runs, one act after another, compared with the model.
 *
 * @import { Change, Found, Read, Storage } from "../npm/storage/storage.d.ts"
 * @import { World } from "./world.js"
 * @typedef {object} Run the state of an exchange between its first read and its commit
 * @property {Storage} store
 * @property {unknown} picture
 * @property {{ read: Read, found: Found }[]} seen
 * @property {number} began number of commits before its first read
 */

import { Model, same, show } from "./model.js";
import { Random } from "./random.js";
import { check, everything, key } from "./world.js";

const ACTS = 400;
const RUNS = 4;
const ACCOUNTS = [0, 1, 2];
const SIZES = [0, 1, 2, 3, 40, 40, 40, 300, 300, 65_536, 65_537, 200_000, 1_100_000];

export class History {
  /** Contents of the map after each commit. */
  #versions = [new Model()];

  /** @param {World} world */
  constructor({ stores, seed }) {
    this.stores = stores;
    this.random = new Random(seed);
    this.runs = Array.from({ length: RUNS }, () => this.#begin());
  }

  async run() {
    for (let act = 0; act < ACTS; act++) {
      const at = this.random.below(RUNS);
      const ended = this.random.once(3) ? await this.#commit(this.runs[at]) : await this.#read(this.runs[at]);
      if (ended) this.runs[at] = this.#begin();
    }
    const last = this.#begin();
    for (const account of ACCOUNTS) await this.#readAll(last, [everything(account)]);
  }

  /** @returns {Run} */
  #begin() {
    return { store: this.random.pick(this.stores), picture: undefined, seen: [], began: this.#commits };
  }

  /** @param {Run} run */
  #read(run) {
    return this.#readAll(run, Array.from({ length: this.random.below(4) }, () => this.#someRead()));
  }

  /**
   * @param {Run} run
   * @param {Read[]} reads
   */
  async #readAll(run, reads) {
    if (run.picture === undefined) run.began = this.#commits;
    const reading = await run.store.read(reads, run.picture);
    if (reading === null) return this.#stale(run);
    reading.found.forEach((found, at) => run.seen.push({ read: reads[at], found }));
    check(reading.found.length === reads.length, "as many results as reads");
    this.#isOfOnePicture(run);
    run.picture = reading.picture;
    return false;
  }

  /** @param {Run} run */
  async #commit(run) {
    const changes = this.#someChanges();
    if (!(await run.store.commit(changes, run.picture))) return this.#stale(run);
    const difference = this.#difference(run, this.#commits);
    check(difference === undefined, `committed although a run saw ${difference}`);
    if (changes.length > 0) this.#versions.push(this.#versions[this.#commits].after(changes));
    return true;
  }

  /** Checks a rejected picture: it must be older than the last commit. @param {Run} run */
  #stale(run) {
    check(run.picture !== undefined, "only a picture can be old");
    check(run.began < this.#commits, "a picture holds as long as nothing is committed");
    return true;
  }

  /** Checks that all that a run has read was stored at one moment since its first read. @param {Run} run */
  #isOfOnePicture(run) {
    const differences = [];
    for (let version = this.#commits; version >= run.began; version--) {
      const difference = this.#difference(run, version);
      if (difference === undefined) return;
      differences.push(difference);
    }
    throw new Error(`a run saw what was never there at once: ${differences[0]}`);
  }

  /** Finds a read that differs from the map of a version. @param {Run} run @param {number} version */
  #difference(run, version) {
    for (const { read, found } of run.seen) {
      const expected = this.#versions[version].find(read);
      if (!same(found, expected)) return `${show(found)} instead of ${show(expected)}`;
    }
  }

  get #commits() {
    return this.#versions.length - 1;
  }

  #someKey() {
    const length = this.random.below(4);
    return key(this.random.pick(ACCOUNTS), ...Array.from({ length }, () => this.random.pick([0, 0, 1, 128, 254, 255])));
  }

  /** @returns {Read} */
  #someRead() {
    if (this.random.once(2)) return { get: this.#someKey() };
    const from = this.#someKey();
    const to = this.#someKey();
    from[0] = to[0];
    from[4] = to[4];
    return { from, to, descending: this.random.once(2), limit: this.random.pick([0, 1, 2, 5, 1000]) };
  }

  /** @returns {Change[]} */
  #someChanges() {
    const changes = new Map();
    for (let left = this.random.pick([0, 1, 1, 2, 3, 12]); left > 0; left--) {
      const at = this.#someKey();
      const put = { put: at, value: this.random.bytes(this.random.pick(SIZES)) };
      changes.set(at.join(), this.random.once(3) ? { delete: at } : put);
    }
    return [...changes.values()];
  }
}
