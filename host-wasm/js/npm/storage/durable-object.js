// @ts-self-types="./durable-object.d.ts"
/**
 * The map in the SQLite of one Cloudflare Durable Object. Synchronous.
 *
 * The platform runs one instance of an object at a time, and all reads and commits happen in it. So the picture is a
 * count of commits in the instance's memory: nothing older can exist. The platform writes changes without an `await` in
 * between as one transaction, including an alarm set meanwhile, and lets nothing leave the object before it is durable.
 *
 * An object holds 10 GB, a row 2 MB.
 *
 * @import { DurableStorage as Declared, ObjectStorage } from "./durable-object.d.ts"
 * @import { Bytes, Change, Found, Read, Reading } from "./storage.d.ts"
 */

import { checkChanges, isEmpty } from "./bytes.js";
import { ASCENDING, CREATE_ROWS, DELETE, DESCENDING, GET, PUT } from "./sql.js";

/** In format 1 an object held the rows of one account only. */
const FORMAT = 2;

/** @implements {Declared} */
export class DurableStorage {
  #storage;
  #commits = 0;

  /** @param {ObjectStorage} storage the object's `ctx.storage` */
  constructor(storage) {
    this.#storage = storage;
    storage.transactionSync(() => this.#prepareTables());
  }

  /**
   * @param {Read[]} reads
   * @param {number} [picture]
   * @returns {Reading<number> | null}
   */
  read(reads, picture) {
    if (picture !== undefined && picture !== this.#commits) return null;
    return { found: reads.map((read) => this.#find(read)), picture: this.#commits };
  }

  /**
   * @param {Change[]} changes
   * @param {number | undefined} picture
   */
  commit(changes, picture) {
    checkChanges(changes);
    if (picture !== undefined && picture !== this.#commits) return false;
    if (changes.length === 0) return true;
    // An exception rolls everything back.
    this.#storage.transactionSync(() => {
      for (const change of changes) {
        if ("put" in change) this.#run(PUT, change.put, change.value);
        else this.#run(DELETE, change.delete);
      }
    });
    this.#commits += 1;
    return true;
  }

  #prepareTables() {
    const [known] = this.#run("SELECT 1 FROM sqlite_master WHERE name = 'state'");
    if (known === undefined) {
      this.#run(CREATE_ROWS);
      this.#run("CREATE TABLE state (format INTEGER NOT NULL)");
      this.#run("INSERT INTO state VALUES (?)", FORMAT);
    }
    const [[format]] = this.#run("SELECT format FROM state");
    if (format !== FORMAT) throw new Error(`the object has format ${format}, this version reads ${FORMAT}`);
  }

  /**
   * @param {Read} read
   * @returns {Found}
   */
  #find(read) {
    if ("get" in read) {
      const [row] = this.#run(GET, read.get);
      return row === undefined ? null : bytes(row[0]);
    }
    if (isEmpty(read)) return [];
    const rows = this.#run(read.descending ? DESCENDING : ASCENDING, read.from, read.to, read.limit);
    return rows.map(([key, value]) => [bytes(key), bytes(value)]);
  }

  /**
   * @param {string} query
   * @param {...unknown} bindings
   */
  #run(query, ...bindings) {
    return [...this.#storage.sql.exec(query, ...bindings).raw()];
  }
}

/**
 * Wraps a blob, which is returned as an `ArrayBuffer`.
 *
 * @param {unknown} blob
 * @returns {Bytes}
 */
function bytes(blob) {
  return new Uint8Array(/** @type {ArrayBuffer} */ (blob));
}
