// @ts-self-types="./durable-object.d.ts"
/**
 * The map in Cloudflare Durable Objects with SQLite, one object for each space: the root, and every account.
 *
 * The first five bytes of a key are its space. The runs of an account work in its object: what is the account's
 * own is read and committed there, synchronously; what is another space's goes to its object by calls. A commit
 * that concerns several spaces is one of two phases (`durable-object-coordinator.js`), and reads of several are
 * of one moment (`durable-object-reader.js`).
 *
 * Limits of Durable Objects: a value has at most 2 MB, a call between objects carries 32 MiB (larger claims and
 * answers are cut), an object has 128 MB of memory, one alarm and 10 GB of rows. A scan stays in one space: a
 * dump asks each object for its own rows.
 *
 * @import { Bytes, Change, Row } from "./storage.d.ts"
 * @import { Ask, Claim, ObjectStorage, Page, Shard as Declared, ShardOptions } from "./durable-object.d.ts"
 */

import { successor } from "./bytes.js";
import { Coordinator } from "./durable-object-coordinator.js";
import { Participant, SILENCE_MS } from "./durable-object-participant.js";
import { Reader } from "./durable-object-reader.js";
import { Space } from "./durable-object-space.js";

/** Rows of one page of a dump, bytes. */
const PAGE_BYTES = 8 << 20;
/** After every key: no space begins with this byte. */
const END = new Uint8Array([255]);
/** When decisions are told again, and coordinators asked. */
const AGAIN_MS = 2 * SILENCE_MS;

/** @implements {Declared} */
export class Shard {
  #objectStorage;
  #space;
  #participant;
  #coordinator;
  #now;
  /** @type {number | null} when the object is going to be woken, as far as this instance knows */
  #alarmMs = null;
  /** Whether the owner was told that its time has come: it answers with another one. */
  #isOwnerTold = false;

  /**
   * @param {ObjectStorage} storage
   * @param {string | undefined} name
   * @param {ShardOptions} options
   */
  constructor(storage, name, { peer, onCommit = () => undefined, now = Date.now, sleep = pause }) {
    this.#space = new Space(storage, name);
    const own = this.#space.name;
    const committed = (/** @type {Change[]} */ changes) => tell(onCommit, changes);
    const schedule = () => this.#schedule();
    const ask = async (/** @type {string} */ coordinator, /** @type {string} */ id) =>
      peer(coordinator).decision(id, own);
    this.#objectStorage = storage;
    this.#now = now;
    this.#participant = new Participant(this.#space, { now, sleep, ask, committed, schedule });
    this.#coordinator = new Coordinator(this.#space, this.#participant, { own, peer, now, committed, schedule });
    const reader = new Reader(own, this.#space, this.#participant, peer);
    this.storage = {
      read: reader.read.bind(reader),
      commit: this.#coordinator.commit.bind(this.#coordinator),
    };
    // The owner's alarm is still set; that of an undecided commit may have rung in vain.
    if (this.#isUnsettled) this.#schedule();
  }

  /** @param {Ask} ask */
  read(ask) {
    return this.#participant.read(ask);
  }

  /** @param {Claim} claim */
  prepare(claim) {
    return this.#participant.prepare(claim);
  }

  /**
   * @param {string} id
   * @param {boolean} committed
   */
  finish(id, committed) {
    this.#participant.finish(id, committed);
  }

  /**
   * @param {string} id
   * @param {string} participant
   */
  decision(id, participant) {
    return this.#coordinator.decision(id, participant);
  }

  /**
   * @param {Bytes} [after]
   * @returns {Page}
   */
  dump(after) {
    const from = after ? successor(after) : new Uint8Array();
    const { found, cut } = this.#space.find([{ from, to: END, descending: false, limit: 2 ** 31 }], PAGE_BYTES);
    const rows = /** @type {Row[]} */ (found[0]);
    return { rows, next: cut ? rows[rows.length - 1][0] : null };
  }

  /** @param {number | null} atMs */
  wakeAt(atMs) {
    this.#isOwnerTold = false;
    this.#space.wakeMs = atMs;
    this.#schedule();
  }

  async alarm() {
    this.#alarmMs = null;
    await Promise.all([this.#participant.settleSilent(), this.#coordinator.tellAgain()]);
    const { wakeMs } = this.#space;
    this.#isOwnerTold = wakeMs !== null && wakeMs <= this.#now();
    this.#schedule();
    return this.#isOwnerTold;
  }

  /** Whether a commit is undecided here, or unconfirmed elsewhere. */
  get #isUnsettled() {
    return this.#space.prepared !== null || this.#space.unconfirmed().length > 0;
  }

  /** Has the object woken as early as anything of it needs. */
  #schedule() {
    const { wakeMs } = this.#space;
    const nowMs = this.#now();
    const times = [];
    if (wakeMs !== null && !this.#isOwnerTold) times.push(wakeMs);
    if (this.#isUnsettled) times.push(nowMs + AGAIN_MS);
    const nextMs = Math.min(...times);
    if (nextMs === Infinity || (this.#alarmMs !== null && this.#alarmMs <= nextMs)) return;
    this.#alarmMs = nextMs;
    void this.#objectStorage.setAlarm(nextMs);
  }
}

/**
 * Tells the owner of changes that are made already: what it throws must not undo them.
 *
 * @param {(changes: Change[]) => void} onCommit
 * @param {Change[]} changes
 */
function tell(onCommit, changes) {
  try {
    onCommit(changes);
  } catch (error) {
    console.error(error);
  }
}

/** @param {number} ms */
function pause(ms) {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
