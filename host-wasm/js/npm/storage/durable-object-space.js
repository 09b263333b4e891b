/**
 * The rows of one space in a Durable Object's SQLite, with what is kept beside them for commits over several
 * spaces. Used by the Durable Objects storage only. Each method that changes something is one transaction.
 *
 * `prepared` is the one commit of another object that waits here for its decision, with its changes in
 * `prepared_rows`. `decisions` are this object's own commits that a participant has not confirmed yet.
 *
 * @import { Bytes, Change, Found, Read, Row } from "./storage.d.ts"
 * @import { ObjectStorage, SpacePicture } from "./durable-object.d.ts"
 * @typedef {{ id: string, coordinator: string, sinceMs: number, keys: Bytes[] }} Prepared keys in order
 */

import { compare, isEmpty } from "./bytes.js";
import { sortedKeys, touches } from "./durable-object-ranges.js";

/** Keys of late commits that are remembered, so that a picture is not old for a commit that does not concern it. */
const LATE_KEYS_MAX = 20_000;

const TABLES = [
  "CREATE TABLE IF NOT EXISTS rows (key BLOB PRIMARY KEY, value BLOB NOT NULL) WITHOUT ROWID",
  "CREATE TABLE IF NOT EXISTS state (format INTEGER NOT NULL, name TEXT, commits INTEGER NOT NULL, wake_ms INTEGER)",
  "INSERT INTO state SELECT 1, NULL, 0, NULL WHERE NOT EXISTS (SELECT * FROM state)",
  "CREATE TABLE IF NOT EXISTS prepared (id TEXT NOT NULL, coordinator TEXT NOT NULL, since_ms INTEGER NOT NULL)",
  "CREATE TABLE IF NOT EXISTS prepared_rows (key BLOB PRIMARY KEY, value BLOB) WITHOUT ROWID",
  "CREATE TABLE IF NOT EXISTS decisions (id TEXT, participant TEXT, PRIMARY KEY (id, participant)) WITHOUT ROWID",
];

export class Space {
  /** @type {ObjectStorage} */
  #storage;
  /** @type {{ commits: number, keys: Bytes[] }[]} the count after a late commit, and its keys in order */
  #late = [];
  #lateKeys = 0;
  #commits;
  /** @type {Prepared | null} */
  #prepared;

  /**
   * @param {ObjectStorage} storage
   * @param {string} [name] of the space; known from an earlier time where it is not given
   */
  constructor(storage, name) {
    this.#storage = storage;
    storage.transactionSync(() => TABLES.forEach((table) => this.#run(table)));
    const [[format, known, commits]] = this.#run("SELECT format, name, commits FROM state");
    if (format !== 1) throw new Error(`the object has format ${format}, this version reads 1`);
    if ((name ?? known) === null || (known !== null && name !== undefined && name !== known)) {
      throw new Error(`an object of ${known} cannot be that of ${name}`);
    }
    if (known === null) this.#run("UPDATE state SET name = ?", name);
    /** Of the space. */
    this.name = String(name ?? known);
    this.#commits = Number(commits);
    this.#prepared = this.#loadPrepared();
  }

  /** How many commits were made. */
  get commits() {
    return this.#commits;
  }

  /** The commit that waits for its decision. */
  get prepared() {
    return this.#prepared;
  }

  /**
   * Whether what a run saw is still what is stored.
   *
   * @param {SpacePicture} picture
   */
  holds({ commits, ranges }) {
    if (commits === this.#commits) return true;
    if (commits < this.#commits - this.#late.length) return false;
    return !this.#late.some((late) => late.commits > commits && touches(ranges, late.keys));
  }

  /**
   * The results of the first reads, until they have so many bytes; `cut`: the last is a scan that has more rows.
   *
   * @param {Read[]} reads
   * @param {number} bytesMax
   */
  find(reads, bytesMax = Infinity) {
    /** @type {Found[]} */
    const found = [];
    for (let at = 0, bytes = 0; at < reads.length && bytes < bytesMax; at++) {
      const read = reads[at];
      const rows = "get" in read ? this.#get(read.get) : this.#scan(read, bytesMax - bytes);
      bytes += rows.reduce((sum, [key, value]) => sum + key.length + value.length, 0);
      found.push("get" in read ? (rows[0]?.[1] ?? null) : rows);
      if ("from" in read && bytes >= bytesMax && rows.length < read.limit) return { found, cut: true };
    }
    return { found, cut: false };
  }

  /**
   * Makes changes, and keeps the decision of a commit that has other participants.
   *
   * @param {Change[]} changes
   * @param {{ id: string, participants: string[] }} [decision]
   */
  commit(changes, decision) {
    this.#storage.transactionSync(() => {
      for (const change of changes) {
        if ("put" in change) this.#run("INSERT OR REPLACE INTO rows VALUES (?, ?)", change.put, change.value);
        else this.#run("DELETE FROM rows WHERE key = ?", change.delete);
      }
      if (changes.length > 0) this.#run("UPDATE state SET commits = commits + 1");
      for (const name of decision?.participants ?? []) {
        this.#run("INSERT INTO decisions VALUES (?, ?)", decision?.id, name);
      }
    });
    this.#remember(sortedKeys(changes));
  }

  /**
   * Keeps changes until they are decided: those of a new commit, or more of the one that is kept.
   *
   * @param {{ id: string, coordinator: string, changes: Change[] }} claim
   * @param {number} nowMs
   */
  prepare({ id, coordinator, changes }, nowMs) {
    this.#storage.transactionSync(() => {
      this.#run("DELETE FROM prepared");
      this.#run("INSERT INTO prepared VALUES (?, ?, ?)", id, coordinator, nowMs);
      for (const change of changes) {
        if ("put" in change) this.#run("INSERT INTO prepared_rows VALUES (?, ?)", change.put, change.value);
        else this.#run("INSERT INTO prepared_rows VALUES (?, NULL)", change.delete);
      }
    });
    const keys = [...(this.#prepared?.keys ?? []), ...sortedKeys(changes)].sort(compare);
    this.#prepared = { id, coordinator, sinceMs: nowMs, keys };
  }

  /**
   * Makes the prepared changes, or forgets them; returns those that were made.
   *
   * @param {boolean} committed
   */
  settle(committed) {
    const kept = committed ? this.#run("SELECT key, value FROM prepared_rows") : [];
    /** @type {Change[]} */
    const changes = kept.map((
      [key, value],
    ) => (value === null ? { delete: bytes(key) } : { put: bytes(key), value: bytes(value) }));
    this.#storage.transactionSync(() => {
      if (committed) {
        this.#run("INSERT OR REPLACE INTO rows SELECT key, value FROM prepared_rows WHERE value IS NOT NULL");
        this.#run("DELETE FROM rows WHERE key IN (SELECT key FROM prepared_rows WHERE value IS NULL)");
        this.#run("UPDATE state SET commits = commits + 1");
      }
      this.#run("DELETE FROM prepared_rows");
      this.#run("DELETE FROM prepared");
    });
    const keys = this.#prepared?.keys ?? [];
    this.#prepared = null;
    if (committed) this.#remember(keys);
    return changes;
  }

  /**
   * Whether a commit was decided that this participant has not confirmed.
   *
   * @param {string} id
   * @param {string} participant
   */
  isDecided(id, participant) {
    return this.#run("SELECT 1 FROM decisions WHERE id = ? AND participant = ?", id, participant).length > 0;
  }

  /** What participants have not confirmed, some of it at a time. @returns {{ id: string, participant: string }[]} */
  unconfirmed() {
    return this.#run("SELECT id, participant FROM decisions LIMIT 100").map(([id, participant]) => ({
      id: String(id),
      participant: String(participant),
    }));
  }

  /** A participant has confirmed. @param {string} id @param {string} participant */
  forget(id, participant) {
    this.#run("DELETE FROM decisions WHERE id = ? AND participant = ?", id, participant);
  }

  /** When the object's owner wants to be woken. @returns {number | null} */
  get wakeMs() {
    const [[wakeMs]] = this.#run("SELECT wake_ms FROM state");
    return wakeMs === null ? null : Number(wakeMs);
  }

  set wakeMs(atMs) {
    this.#run("UPDATE state SET wake_ms = ?", atMs);
  }

  /** @returns {Prepared | null} */
  #loadPrepared() {
    const [row] = this.#run("SELECT id, coordinator, since_ms FROM prepared");
    if (row === undefined) return null;
    const keys = this.#run("SELECT key FROM prepared_rows ORDER BY key").map(([key]) => bytes(key));
    return { id: String(row[0]), coordinator: String(row[1]), sinceMs: Number(row[2]), keys };
  }

  /** @param {Bytes[]} keys of a commit that was made */
  #remember(keys) {
    if (keys.length === 0) return;
    this.#commits += 1;
    this.#late.push({ commits: this.#commits, keys });
    this.#lateKeys += keys.length;
    while (this.#lateKeys > LATE_KEYS_MAX) this.#lateKeys -= this.#late.shift()?.keys.length ?? 0;
  }

  /** @param {Bytes} key @returns {Row[]} */
  #get(key) {
    return this.#run("SELECT value FROM rows WHERE key = ?", key).map(([value]) => [key, bytes(value)]);
  }

  /**
   * @param {{ from: Bytes, to: Bytes, descending: boolean, limit: number }} read
   * @param {number} bytesMax after which no further row is taken
   * @returns {Row[]}
   */
  #scan(read, bytesMax) {
    if (isEmpty(read)) return [];
    const order = read.descending ? "DESC" : "ASC";
    const query = `SELECT key, value FROM rows WHERE key >= ? AND key < ? ORDER BY key ${order} LIMIT ?`;
    /** @type {Row[]} */
    const rows = [];
    let left = bytesMax;
    for (const [key, value] of this.#storage.sql.exec(query, read.from, read.to, read.limit).raw()) {
      rows.push([bytes(key), bytes(value)]);
      left -= rows[rows.length - 1][0].length + rows[rows.length - 1][1].length;
      if (left <= 0) break;
    }
    return rows;
  }

  /**
   * @param {string} query
   * @param {...unknown} bindings
   */
  #run(query, ...bindings) {
    return [...this.#storage.sql.exec(query, ...bindings).raw()];
  }
}

/** @param {unknown} blob */
function bytes(blob) {
  return new Uint8Array(/** @type {ArrayBuffer} */ (blob));
}
