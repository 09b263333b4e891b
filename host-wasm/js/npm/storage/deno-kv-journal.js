/**
 * Commits that are larger than one atomic operation of Deno KV. Used by the Deno KV storage only.
 *
 * The changes are written down in pieces, under a head of their own. One operation then makes the journal the
 * truth: it checks the head and the state, and the state names the journal from then on. Whoever finds such a
 * state carries the changes out (any number of processes may, from the start, again) and clears the state. Each
 * operation of theirs checks the state, so that one who comes late changes nothing any more.
 *
 * A journal whose writer died before that operation is removed by age: its head is replaced first, which makes
 * the operation impossible, however late it is.
 *
 * @import { Kv, KvAtomic, KvKey } from "./deno-kv.d.ts"
 * @import { Bytes, Change } from "./storage.d.ts"
 * @import { Mutation } from "./deno-kv-batch.js"
 */

import { keyOf } from "./bytes.js";
import { carryOut } from "./deno-kv-batch.js";
import { KEYS_MAX, lookUp, mutations, partCounts, VALUE_BYTES_MAX } from "./deno-kv-rows.js";

/** Changes whose rows are looked at together while a journal is carried out. */
const GROUP = 100;
/** Bytes before a change's key and value: what it is, and their lengths. */
const HEAD_BYTES = 7;
const PUT = 1;
const DELETE = 2;

/** @param {string} id @returns {KvKey} */
const headKey = (id) => ["switchboard", "journal", id];
/** @param {string} id @param {number} piece @returns {KvKey} */
const pieceKey = (id, piece) => ["switchboard", "piece", id, piece];

/** What a head and the state say of a journal. @typedef {{ id: string, pieces: number }} Journal */

/** A piece is gone: somebody else has carried the journal out, or the store is damaged. */
export class Gone extends Error {}

/**
 * Writes a journal down and returns it with the check that its head is still there.
 *
 * @param {Kv} kv
 * @param {Change[]} changes
 * @returns {Promise<{ journal: Journal, intact: { key: KvKey, versionstamp: string } }>}
 */
export async function write(kv, changes) {
  const bytes = changes.reduce((sum, change) => sum + HEAD_BYTES + keyOf(change).length + valueOf(change).length, 0);
  const journal = { id: crypto.randomUUID(), pieces: Math.ceil(bytes / VALUE_BYTES_MAX) };
  const head = { pieces: journal.pieces, writtenMs: Date.now() };
  const { versionstamp } = await kv.set(headKey(journal.id), head);
  await carryOut(kv, pieces(journal.id, changes));
  return { journal, intact: { key: headKey(journal.id), versionstamp } };
}

/**
 * Carries a journal out. `false`: somebody else has done so.
 *
 * @param {Kv} kv
 * @param {Journal} journal
 * @param {(operation: KvAtomic) => void} checkState
 */
export async function apply(kv, journal, checkState) {
  return carryOut(kv, journalMutations(kv, journal), checkState);
}

/**
 * Removes a journal that is not the truth.
 *
 * @param {Kv} kv
 * @param {Journal} journal
 */
export async function remove(kv, { id, pieces }) {
  const keys = Array.from({ length: pieces }, (_, piece) => ({ key: pieceKey(id, piece) }));
  await carryOut(kv, [...keys, { key: headKey(id) }]);
}

/**
 * Removes the journals of writers that died, as far as no commit comes between.
 *
 * @param {Kv} kv
 * @param {number} ageMs from which on a writer counts as dead
 * @param {KvKey} stateKey
 */
export async function sweep(kv, ageMs, stateKey) {
  for await (const { key, value, versionstamp } of kv.list({ prefix: ["switchboard", "journal"] })) {
    const id = String(key[2]);
    const head = /** @type {{ pieces: number, writtenMs: number }} */ (value);
    if (Date.now() - head.writtenMs < ageMs) continue;
    const state = await kv.get(stateKey);
    if (state.value !== null) return;
    // While the state names no journal this one is not the truth, and with its head replaced it never will be.
    const operation = kv.atomic().check({ key: stateKey, versionstamp: state.versionstamp }, {
      key: headKey(id),
      versionstamp,
    });
    const { ok } = await operation.set(headKey(id), { ...head, swept: true }).commit();
    if (ok) await remove(kv, { id, pieces: head.pieces });
  }
}

/** @param {Change} change */
function valueOf(change) {
  return "put" in change ? change.value : new Uint8Array();
}

/**
 * The changes as one stream of bytes, cut into pieces.
 *
 * @param {string} id
 * @param {Change[]} changes
 * @returns {Iterable<Mutation>}
 */
function* pieces(id, changes) {
  let piece = new Uint8Array(VALUE_BYTES_MAX);
  let filled = 0;
  let count = 0;
  for (const change of changes) {
    for (let bytes of [encodedHead(change), keyOf(change), valueOf(change)]) {
      while (bytes.length > 0) {
        const part = bytes.subarray(0, VALUE_BYTES_MAX - filled);
        piece.set(part, filled);
        filled += part.length;
        bytes = bytes.subarray(part.length);
        if (filled < VALUE_BYTES_MAX) continue;
        yield { key: pieceKey(id, count++), value: piece };
        piece = new Uint8Array(VALUE_BYTES_MAX);
        filled = 0;
      }
    }
  }
  if (filled > 0) yield { key: pieceKey(id, count), value: piece.subarray(0, filled) };
}

/** @param {Change} change */
function encodedHead(change) {
  const head = new Uint8Array(HEAD_BYTES);
  const view = new DataView(head.buffer);
  view.setUint8(0, "put" in change ? PUT : DELETE);
  view.setUint16(1, keyOf(change).length);
  view.setUint32(3, valueOf(change).length);
  return head;
}

/**
 * @param {Kv} kv
 * @param {Journal} journal
 * @returns {AsyncIterable<Mutation>}
 */
async function* journalMutations(kv, journal) {
  for await (const group of groups(changesOf(kv, journal))) {
    const counts = await partCounts(kv, group.map(keyOf));
    for (const [at, change] of group.entries()) yield* mutations(change, counts[at]);
  }
}

/** @param {AsyncIterable<Change>} changes */
async function* groups(changes) {
  /** @type {Change[]} */
  let group = [];
  for await (const change of changes) {
    group.push(change);
    if (group.length < GROUP) continue;
    yield group;
    group = [];
  }
  if (group.length > 0) yield group;
}

/**
 * The changes that a journal's pieces hold.
 *
 * @param {Kv} kv
 * @param {Journal} journal
 * @returns {AsyncIterable<Change>}
 */
async function* changesOf(kv, journal) {
  const stream = new PieceStream(kv, journal);
  for (;;) {
    const head = await stream.take(HEAD_BYTES);
    if (head === undefined) return;
    const view = new DataView(head.buffer);
    const key = await stream.take(view.getUint16(1));
    const value = await stream.take(view.getUint32(3));
    if (key === undefined || value === undefined) throw new Error("a journal ends within a change");
    yield view.getUint8(0) === PUT ? { put: key, value } : { delete: key };
  }
}

/** The bytes of a journal, in order. */
class PieceStream {
  /** @type {Bytes[]} */
  #fetched = [];
  #next = 0;
  /** @type {Bytes} */
  #piece = new Uint8Array();

  /**
   * @param {Kv} kv
   * @param {Journal} journal
   */
  constructor(kv, journal) {
    this.kv = kv;
    this.journal = journal;
  }

  /**
   * The next `length` bytes; `undefined` at the end.
   *
   * @param {number} length
   */
  async take(length) {
    const bytes = new Uint8Array(length);
    for (let filled = 0; filled < length;) {
      if (this.#piece.length === 0 && !(await this.#advance())) return undefined;
      const part = this.#piece.subarray(0, length - filled);
      bytes.set(part, filled);
      filled += part.length;
      this.#piece = this.#piece.subarray(part.length);
    }
    return bytes;
  }

  async #advance() {
    if (this.#fetched.length === 0 && this.#next < this.journal.pieces) {
      const count = Math.min(KEYS_MAX, this.journal.pieces - this.#next);
      const keys = Array.from({ length: count }, (_, at) => pieceKey(this.journal.id, this.#next + at));
      this.#fetched = (await lookUp(this.kv, keys)).map(({ value }) => {
        if (!(value instanceof Uint8Array)) throw new Gone("a piece of a journal is gone");
        return value;
      });
      this.#next += count;
    }
    this.#piece = this.#fetched.shift() ?? new Uint8Array();
    return this.#piece.length > 0;
  }
}
