// @ts-self-types="./indexeddb.d.ts"
/**
 * The map in IndexedDB, for browsers. Asynchronous; tabs and workers of an origin may share it.
 *
 * One object store holds the rows under binary keys, which IndexedDB compares byte by byte, and under the number 0,
 * which sorts before them all, a count of commits: the picture. A read is one transaction, and so is a commit, which is
 * on disk before it is acknowledged.
 *
 * A browser is not a safe place all the same. It may clear an origin that was not made persistent
 * (`navigator.storage.persist`). And Chromium (156) appends to its log behind a record that a kill cut off; at the next
 * start it takes that for corruption and begins with an empty database. Keep a copy elsewhere of what must not be lost.
 *
 * @import { IndexedDbStorage as Declared } from "./indexeddb.d.ts"
 * @import { Bytes, Change, Found, Read, Reading, Row } from "./storage.d.ts"
 */

import { checkChanges, isEmpty } from "./bytes.js";

const FORMAT = 1;
const ROWS = "rows";
/** The key of the count of commits. */
const COMMITS = 0;
/** Largest row count that a browser accepts. */
const LIMIT_MAX = 2 ** 32 - 1;

/** @typedef {{ key: IDBValidKey, value: ArrayBuffer }} StoredRow */

/** @implements {Pick<Declared, keyof Declared>} */
export class IndexedDbStorage {
  #database;

  static async open(name = "switchboard") {
    const request = indexedDB.open(name, FORMAT);
    request.onupgradeneeded = () => request.result.createObjectStore(ROWS);
    return new IndexedDbStorage(await outcome(request));
  }

  /** @param {IDBDatabase} database */
  constructor(database) {
    this.#database = database;
    // Another tab wants to delete the database, or opens a later version of it.
    database.onversionchange = () => database.close();
  }

  /**
   * @param {Read[]} reads
   * @param {number} [picture]
   * @returns {Promise<Reading<number> | null>}
   */
  async read(reads, picture) {
    const rows = this.#database.transaction(ROWS, "readonly").objectStore(ROWS);
    // All requests are made at once: a transaction ends as soon as it has none.
    const [commits, ...found] = await Promise.all([
      outcome(rows.get(COMMITS)),
      ...reads.map((read) => find(rows, read)),
    ]);
    const current = commits ?? 0;
    return picture === undefined || picture === current ? { found, picture: current } : null;
  }

  /**
   * @param {Change[]} changes
   * @param {number | undefined} picture
   */
  async commit(changes, picture) {
    checkChanges(changes);
    const transaction = this.#database.transaction(ROWS, "readwrite", { durability: "strict" });
    const ended = end(transaction);
    const rows = transaction.objectStore(ROWS);
    let holds = true;
    const count = rows.get(COMMITS);
    count.onsuccess = () => {
      const commits = count.result ?? 0;
      holds = picture === undefined || picture === commits;
      if (!holds || changes.length === 0) return;
      rows.put(commits + 1, COMMITS);
      for (const change of changes) {
        if ("put" in change) rows.put(ownBuffer(change.value), plain(change.put));
        else rows.delete(plain(change.delete));
      }
    };
    await ended;
    return holds;
  }

  close() {
    this.#database.close();
  }
}

/**
 * @param {IDBObjectStore} rows
 * @param {Read} read
 * @returns {Promise<Found>}
 */
async function find(rows, read) {
  if ("get" in read) {
    const value = await outcome(rows.get(plain(read.get)));
    return value === undefined ? null : new Uint8Array(value);
  }
  if (isEmpty(read)) return [];
  const range = IDBKeyRange.bound(plain(read.from), plain(read.to), false, true);
  const limit = Math.min(read.limit, LIMIT_MAX);
  return read.descending ? descend(rows, range, limit) : ascend(rows, range, limit);
}

/**
 * @param {IDBObjectStore} rows
 * @param {IDBKeyRange} range
 * @param {number} limit
 * @returns {Promise<Row[]>}
 */
async function ascend(rows, range, limit) {
  const [keys, values] = await Promise.all([
    outcome(rows.getAllKeys(range, limit)),
    outcome(rows.getAll(range, limit)),
  ]);
  return keys.map((key, at) => rowOf(key, values[at]));
}

/**
 * Returns the last rows of a range: only newer browsers fetch many rows from its end at once.
 *
 * @param {IDBObjectStore & { getAllRecords?: (options: object) => IDBRequest<StoredRow[]> }} rows
 * @param {IDBKeyRange} range
 * @param {number} limit
 * @returns {Promise<Row[]>}
 */
async function descend(rows, range, limit) {
  if (!rows.getAllRecords) return descendByCursor(rows, range, limit);
  const records = await outcome(rows.getAllRecords({ query: range, count: limit, direction: "prev" }));
  return records.map(({ key, value }) => rowOf(key, value));
}

/**
 * @param {IDBObjectStore} rows
 * @param {IDBKeyRange} range
 * @param {number} limit
 * @returns {Promise<Row[]>}
 */
function descendByCursor(rows, range, limit) {
  return new Promise((resolve, reject) => {
    /** @type {Row[]} */
    const found = [];
    const request = rows.openCursor(range, "prev");
    request.onerror = () => reject(request.error);
    request.onsuccess = () => {
      const cursor = request.result;
      if (cursor) found.push(rowOf(cursor.key, cursor.value));
      if (cursor && found.length < limit) cursor.continue();
      else resolve(found);
    };
  });
}

/**
 * @param {IDBValidKey} key
 * @param {ArrayBuffer} value
 * @returns {Row}
 */
function rowOf(key, value) {
  return [new Uint8Array(/** @type {ArrayBuffer} */ (key)), new Uint8Array(value)];
}

/** Returns the result of a request. @template T @param {IDBRequest<T>} request @returns {Promise<T>} */
function outcome(request) {
  return new Promise((resolve, reject) => {
    request.onsuccess = () => resolve(request.result);
    request.onerror = () => reject(request.error);
  });
}

/** Waits until a transaction is on disk. @param {IDBTransaction} transaction @returns {Promise<void>} */
function end(transaction) {
  return new Promise((resolve, reject) => {
    transaction.oncomplete = () => resolve();
    transaction.onabort = () => reject(transaction.error ?? new Error("the transaction was aborted"));
  });
}

/**
 * Copies bytes into a buffer of their own: storing a view would store its whole buffer.
 *
 * @param {Bytes} bytes
 */
function ownBuffer(bytes) {
  return new Uint8Array(bytes).buffer;
}

/** Narrows a view to the type IndexedDB expects. @param {Bytes} bytes */
function plain(bytes) {
  return /** @type {Uint8Array<ArrayBuffer>} */ (bytes);
}
