// @ts-self-types="./deno-kv.d.ts"
/**
 * The map in Deno KV, for Deno and Deno Deploy. Asynchronous; any number of processes may share it.
 *
 * One entry, the state, changes with every commit: its versionstamp is the picture. A read looks at it before
 * and after, a commit checks it. So commits of all accounts contend for one entry; a host that has to write
 * much wants another store.
 *
 * Limits of Deno KV (2.9), and what is done about them:
 *   - A key has at most 2,048 bytes as it is encoded, with zero bytes doubled: ours have at most 1,000.
 *   - A value has at most 65,536 bytes: longer ones are cut into parts (`deno-kv-rows.js`).
 *   - An atomic operation has at most 100 checks, 1,000 mutations, 81,920 bytes of keys that it sets and 819,200
 *     bytes in all: a larger commit is written to a journal and carried out from there (`deno-kv-journal.js`).
 *   - `getMany` takes at most 10 keys, a list fetches at most 1,000 entries at once.
 *
 * @import { Kv, KvAtomic, KvKey, DenoKvStorage as Declared } from "./deno-kv.d.ts"
 * @import { Change, Read, Reading } from "./storage.d.ts"
 * @import { Journal } from "./deno-kv-journal.js"
 */

import { checkChanges, keyOf } from "./bytes.js";
import { Batch } from "./deno-kv-batch.js";
import { apply, Gone, remove, sweep, write } from "./deno-kv-journal.js";
import { PatientKv, patiently } from "./deno-kv-patient.js";
import { entryKeys, find, KEYS_MAX, mutations, partCounts, shortValues, Torn } from "./deno-kv-rows.js";

/** @type {KvKey} */
const STATE = ["switchboard", "state"];
/** Times that a read or a commit without a picture begins again because of other commits. */
const TRIES_MAX = 1_000;
/** A journal that no commit refers to after so long belongs to a process that died. */
const JOURNAL_AGE_MS = 3_600_000;

/** The state's value while a journal is to be carried out; else `null`. @typedef {Journal | null} State */

/** @implements {Declared} */
export class DenoKvStorage {
  #kv;
  #journalAgeMs;
  #swept = false;

  /** @param {string} [path] */
  static async open(path) {
    const { Deno } =
      /** @type {{ Deno: { openKv(path?: string): Promise<Kv> } }} */ (/** @type {unknown} */ (globalThis));
    return new DenoKvStorage(await patiently(() => Deno.openKv(path)));
  }

  /**
   * @param {Kv} kv
   * @param {number} [journalAgeMs]
   */
  constructor(kv, journalAgeMs = JOURNAL_AGE_MS) {
    /** @type {Kv} */
    this.#kv = new PatientKv(kv);
    this.#journalAgeMs = journalAgeMs;
  }

  /**
   * @param {Read[]} reads
   * @param {string} [picture]
   * @returns {Promise<Reading<string> | null>}
   */
  async read(reads, picture) {
    const reading = await this.#readAtOnce(reads);
    if (reading !== undefined) return picture === undefined || picture === reading.picture ? reading : null;
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      const state = await this.#settled();
      if (picture !== undefined && picture !== state) return null;
      const found = await find(this.#kv, reads).catch(ignore(Torn));
      const unchanged = (await this.#kv.get(STATE)).versionstamp === state;
      if (found && unchanged) return { found, picture: state };
      if (unchanged) throw new Error("the store is damaged: a value's parts do not fit");
    }
    throw new Error(`other commits came between in ${TRIES_MAX} tries to read`);
  }

  /**
   * @param {Change[]} changes
   * @param {string | undefined} picture
   */
  async commit(changes, picture) {
    checkChanges(changes);
    if (changes.length === 0) return picture === undefined || picture === (await this.#settled());
    if (picture !== undefined) return this.#commitOn(picture, changes);
    for (let tries = 0; tries < TRIES_MAX; tries++) {
      if (await this.#commitOn(await this.#settled(), changes)) return true;
    }
    throw new Error(`other commits came between in ${TRIES_MAX} tries to commit`);
  }

  close() {
    this.#kv.close();
  }

  /**
   * Reads a few short values, and the state with them, in one call: which is a picture by itself. `undefined`
   * where that is not possible.
   *
   * @param {Read[]} reads
   * @returns {Promise<Reading<string> | undefined>}
   */
  async #readAtOnce(reads) {
    const keys = entryKeys(reads);
    if (keys === undefined || keys.length >= KEYS_MAX) return undefined;
    const [state, ...entries] = await this.#kv.getMany([STATE, ...keys]);
    const found = shortValues(entries);
    if (state.versionstamp === null || state.value !== null || found === undefined) return undefined;
    return { found, picture: state.versionstamp };
  }

  /**
   * @param {string} picture
   * @param {Change[]} changes
   */
  async #commitOn(picture, changes) {
    const check = { key: STATE, versionstamp: picture };
    const batch = await this.#batchOf(changes);
    if (batch !== undefined) return (await batch.operation(this.#kv).check(check).set(STATE, null).commit()).ok;
    const { journal, intact } = await write(this.#kv, changes);
    const { ok } = await this.#kv.atomic().check(check, intact).set(STATE, journal).commit();
    if (!ok) await remove(this.#kv, journal);
    // The commit is made. Where this process cannot carry it out, the next that reads does.
    else await this.#settled().catch(() => undefined);
    this.#swept = false;
    return ok;
  }

  /**
   * The changes as the mutations of one operation; `undefined` where they are too many.
   *
   * @param {Change[]} changes
   */
  async #batchOf(changes) {
    // What is too much even where no row has parts need not be looked up.
    const least = new Batch();
    if (!changes.every((change) => least.addAll(mutations(change, 0)))) return undefined;
    const batch = new Batch();
    const counts = await partCounts(this.#kv, changes.map(keyOf));
    if (!changes.every((change, at) => batch.addAll(mutations(change, counts[at])))) return undefined;
    return batch;
  }

  /** Has a journal carried out, if there is one, and returns the picture. */
  async #settled() {
    for (;;) {
      const { value, versionstamp } = await this.#kv.get(STATE);
      const journal = /** @type {State} */ (value);
      if (versionstamp === null) await this.#kv.atomic().check({ key: STATE, versionstamp }).set(STATE, null).commit();
      else if (journal !== null) await this.#finish(journal, versionstamp);
      else {
        await this.#sweepOnce();
        return versionstamp;
      }
    }
  }

  /**
   * @param {Journal} journal
   * @param {string} versionstamp of the state that names it
   */
  async #finish(journal, versionstamp) {
    const check = { key: STATE, versionstamp };
    const checkState = (/** @type {KvAtomic} */ operation) => void operation.check(check);
    const carriedOut = await apply(this.#kv, journal, checkState).catch(ignore(Gone));
    if (carriedOut) {
      const { ok } = await this.#kv.atomic().check(check).set(STATE, null).commit();
      if (ok) await remove(this.#kv, journal);
    } else if (carriedOut === undefined && (await this.#kv.get(STATE)).versionstamp === versionstamp) {
      throw new Error("the store is damaged: a piece of a commit is missing");
    }
  }

  async #sweepOnce() {
    if (this.#swept) return;
    this.#swept = true;
    await sweep(this.#kv, this.#journalAgeMs, STATE);
  }
}

/**
 * What makes `undefined` of one kind of error.
 *
 * @param {new (message?: string) => Error} kind
 * @returns {(error: unknown) => undefined}
 */
function ignore(kind) {
  return (error) => {
    if (!(error instanceof kind)) throw error;
  };
}
