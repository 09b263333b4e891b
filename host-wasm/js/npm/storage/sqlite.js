// @ts-self-types="./sqlite.d.ts"
/**
 * The map in one SQLite file, for Node (22.13 and later) and Deno. Synchronous.
 *
 * A commit is one transaction whose journal is synced before it returns, so it survives process and power failures. The
 * picture is a count of commits in the file: any number of processes may share it. A process waits at most {@link
 * BUSY_MS} for another's transaction, then its call throws.
 *
 * @import { StatementSync } from "node:sqlite"
 * @import { SqliteStorage as Declared } from "./sqlite.d.ts"
 * @import { Bytes, Change, Found, Read, Reading } from "./storage.d.ts"
 */

import { DatabaseSync } from "node:sqlite";

import { checkChanges, isEmpty } from "./bytes.js";
import { ASCENDING, CREATE_ROWS, DELETE, DESCENDING, GET, PUT } from "./sql.js";

const BUSY_MS = 5_000;
/** Marks the file as Switchboard's in SQLite's own header: "Swbd". */
const APPLICATION_ID = 0x53776264;
const FORMAT = 1;

const TABLES = `
  ${CREATE_ROWS};
  CREATE TABLE picture (commits INTEGER NOT NULL);
  INSERT INTO picture VALUES (0);
  PRAGMA application_id = ${APPLICATION_ID};
  PRAGMA user_version = ${FORMAT};
`;

/** @implements {Declared} */
export class SqliteStorage {
  #database;
  #statements;

  /** @param {string} path of the file, created if it is missing */
  constructor(path) {
    this.#database = new DatabaseSync(path);
    try {
      this.#prepareFile(path);
      this.#statements = statements(this.#database);
    } catch (error) {
      this.#database.close();
      throw error;
    }
  }

  /**
   * @param {Read[]} reads
   * @param {number} [picture]
   * @returns {Reading<number> | null}
   */
  read(reads, picture) {
    return this.#transaction(this.#statements.beginRead, () => {
      const commits = this.#commits();
      if (picture !== undefined && picture !== commits) return null;
      return { found: reads.map((read) => this.#find(read)), picture: commits };
    });
  }

  /**
   * @param {Change[]} changes
   * @param {number | undefined} picture
   */
  commit(changes, picture) {
    checkChanges(changes);
    return this.#transaction(this.#statements.beginWrite, () => {
      if (picture !== undefined && picture !== this.#commits()) return false;
      if (changes.length > 0) this.#statements.count.run();
      for (const change of changes) {
        if ("put" in change) this.#statements.put.run(change.put, change.value);
        else this.#statements.delete.run(change.delete);
      }
      return true;
    });
  }

  close() {
    this.#database.close();
  }

  /** @param {string} path */
  #prepareFile(path) {
    const database = this.#database;
    database.exec(`PRAGMA busy_timeout = ${BUSY_MS}`);
    const mark = () => numberOf(database, "PRAGMA application_id");
    if (mark() !== APPLICATION_ID) {
      database.exec("BEGIN IMMEDIATE");
      // Another process may have created the tables while this one waited.
      if (mark() !== APPLICATION_ID) {
        if (numberOf(database, "SELECT count(*) FROM sqlite_schema") > 0) {
          throw new Error(`${path} is not of Switchboard`);
        }
        database.exec(TABLES);
      }
      database.exec("COMMIT");
    }
    const format = numberOf(database, "PRAGMA user_version");
    if (format !== FORMAT) throw new Error(`${path} has format ${format}, this version reads ${FORMAT}`);
    const mode = database.prepare("PRAGMA journal_mode = WAL").get()?.journal_mode;
    if (mode !== "wal") throw new Error(`${path} cannot have a write-ahead log: its journal mode is ${mode}`);
    database.exec("PRAGMA synchronous = FULL");
  }

  /**
   * @template T
   * @param {StatementSync} begin
   * @param {() => T} act
   */
  #transaction(begin, act) {
    begin.run();
    try {
      const result = act();
      this.#statements.end.run();
      return result;
    } catch (error) {
      // SQLite may have rolled back by itself; the first error is the one to report.
      if (this.#database.isTransaction !== false) this.#rollback();
      throw error;
    }
  }

  #rollback() {
    try {
      this.#statements.undo.run();
    } catch {
      // No transaction was left to roll back.
    }
  }

  #commits() {
    return Number(this.#statements.picture.get()?.commits);
  }

  /**
   * @param {Read} read
   * @returns {Found}
   */
  #find(read) {
    if ("get" in read) return bytes(this.#statements.get.get(read.get)?.value);
    if (isEmpty(read)) return [];
    const { ascending, descending } = this.#statements;
    const rows = (read.descending ? descending : ascending).all(read.from, read.to, read.limit);
    return rows.map(({ key, value }) => [/** @type {Bytes} */ (key), /** @type {Bytes} */ (value)]);
  }
}

/** @param {unknown} value @returns {Bytes | null} */
function bytes(value) {
  return value instanceof Uint8Array ? value : null;
}

/**
 * @param {DatabaseSync} database
 * @param {string} query
 */
function numberOf(database, query) {
  return Number(Object.values(database.prepare(query).get() ?? {})[0]);
}

/** @param {DatabaseSync} database */
function statements(database) {
  return {
    beginRead: database.prepare("BEGIN"),
    beginWrite: database.prepare("BEGIN IMMEDIATE"),
    end: database.prepare("COMMIT"),
    undo: database.prepare("ROLLBACK"),
    picture: database.prepare("SELECT commits FROM picture"),
    count: database.prepare("UPDATE picture SET commits = commits + 1"),
    get: database.prepare(GET),
    ascending: database.prepare(ASCENDING),
    descending: database.prepare(DESCENDING),
    put: database.prepare(PUT),
    delete: database.prepare(DELETE),
  };
}
