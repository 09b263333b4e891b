/**
 * Durable Objects in one process, in virtual time and from a seed: objects die at any moment and come back with
 * what they stored, calls are slow or lost, alarms ring. Their SQL is Node's.
 *
 * @import { ObjectStorage, Peer } from "../npm/storage/durable-object.d.ts"
 * @import { Change } from "../npm/storage/storage.d.ts"
 */

import { DatabaseSync } from "node:sqlite";

import { Shard } from "../npm/storage/durable-object.js";
import { Random } from "./random.js";

const METHODS = /** @type {const} */ (["read", "prepare", "finish", "decision", "dump"]);

/** What is called in an object that has died; what a caller gets whose call was lost. */
class Lost extends Error {}

export class Sim {
  nowMs = 1_000_000;
  /** @type {Map<string, SimObject>} */
  objects = new Map();
  /** @type {{ atMs: number, order: number, act: () => void }[]} */
  #events = [];
  #order = 0;

  /** @param {number} seed @param {{ lost: number, slowMs: number }} network one of so many calls is lost */
  constructor(seed, network) {
    this.random = new Random(seed);
    this.network = network;
  }

  /** @param {string} name */
  object(name) {
    let object = this.objects.get(name);
    if (object === undefined) {
      object = new SimObject(this, name);
      this.objects.set(name, object);
    }
    return object;
  }

  /** @param {number} ms @param {() => void} act */
  after(ms, act) {
    this.#events.push({ atMs: this.nowMs + ms, order: this.#order++, act });
  }

  /** @param {number} ms @returns {Promise<void>} */
  sleep(ms) {
    return new Promise((resolve) => this.after(ms, resolve));
  }

  /** Lets time pass until `isOver`, event by event. @param {() => boolean} isOver */
  async run(isOver) {
    while (!isOver()) {
      if (this.#events.length === 0) throw new Error("nothing happens any more");
      let first = 0;
      for (let at = 1; at < this.#events.length; at++) if (isBefore(this.#events[at], this.#events[first])) first = at;
      const [event] = this.#events.splice(first, 1);
      this.nowMs = Math.max(this.nowMs, event.atMs);
      event.act();
      // All that follows from an event happens before the next.
      await new Promise((resolve) => setImmediate(resolve));
    }
  }

  /**
   * Runs something to its end, while time passes.
   *
   * @template T
   * @param {() => T | Promise<T>} what
   * @returns {Promise<T>}
   */
  async act(what) {
    let isOver = false;
    const result = Promise.resolve().then(what).finally(() => (isOver = true));
    result.catch(() => undefined);
    await new Promise((resolve) => setImmediate(resolve));
    await this.run(() => isOver);
    return result;
  }

  /** Lets so much time pass. @param {number} ms */
  pass(ms) {
    return this.act(() => this.sleep(ms));
  }

  /** How long a message is under way. */
  delayMs() {
    const isSlow = this.random.once(this.network.slowMs > 1_000 ? 20 : 4);
    return isSlow ? this.random.below(this.network.slowMs) : 1 + this.random.below(5);
  }
}

/** @param {{ atMs: number, order: number }} a @param {{ atMs: number, order: number }} b */
function isBefore(a, b) {
  return a.atMs < b.atMs || (a.atMs === b.atMs && a.order < b.order);
}

/** One object: what it stored, and the instance that lives now, if any. */
export class SimObject {
  #database = new DatabaseSync(":memory:");
  /** @type {Shard | null} */
  #shard = null;
  /** How often it died. */
  deaths = 0;
  /** When its owner was woken. @type {number[]} */
  wokenMs = [];
  /** What its owner was told of. @type {Change[][]} */
  told = [];
  /** @type {PromiseWithResolvers<undefined>} */
  #dying = Promise.withResolvers();
  #alarm = 0;

  /** @param {Sim} sim @param {string} name */
  constructor(sim, name) {
    this.sim = sim;
    this.name = name;
  }

  /** The living instance, which is made when there is none. */
  get shard() {
    const { deaths, sim } = this;
    this.#shard ??= new Shard(this.#storage(deaths), this.name, {
      peer: (name) => this.#stub(name, deaths),
      onCommit: (changes) => void this.told.push(changes),
      now: () => sim.nowMs,
      sleep: (ms) => sim.sleep(ms),
    });
    return this.#shard;
  }

  /** The next time that it dies. @returns {Promise<undefined>} */
  get death() {
    return this.#dying.promise;
  }

  /** Whatever the instance has under way goes on nowhere. */
  die() {
    this.#shard = null;
    this.deaths += 1;
    this.#dying.resolve(undefined);
    this.#dying = Promise.withResolvers();
  }

  /** What is stored in a table, for the end of a test. @param {string} table */
  count(table) {
    return Number(this.#database.prepare(`SELECT count(*) AS n FROM ${table}`).get()?.n);
  }

  /** @param {number} deaths of the instance that may use it @returns {ObjectStorage} */
  #storage(deaths) {
    const alive = () => {
      if (this.deaths !== deaths) throw new Lost("the object is dead");
    };
    return {
      sql: {
        exec: (query, ...bindings) => {
          alive();
          const rows = this.#database.prepare(query).all(...bindings).map(Object.values);
          return { raw: () => rows };
        },
      },
      transactionSync: (act) => {
        alive();
        this.#database.exec("BEGIN");
        try {
          const result = act();
          this.#database.exec("COMMIT");
          return result;
        } catch (error) {
          this.#database.exec("ROLLBACK");
          throw error;
        }
      },
      setAlarm: async (atMs) => {
        alive();
        const alarm = ++this.#alarm;
        this.sim.after(Math.max(0, atMs - this.sim.nowMs), () => alarm === this.#alarm && void this.#ring());
      },
    };
  }

  /** An alarm rings until it was dealt with. */
  async #ring() {
    const { deaths } = this;
    const alarm = this.#alarm;
    const isTime = await Promise.race([this.shard.alarm().catch(() => undefined), this.death]);
    if (!isTime) return this.#ringAgain(deaths, alarm);
    this.wokenMs.push(this.sim.nowMs);
    this.shard.wakeAt(null);
  }

  /** @param {number} deaths @param {number} alarm when it rang */
  #ringAgain(deaths, alarm) {
    const isLost = deaths !== this.deaths && alarm === this.#alarm;
    if (isLost) this.sim.after(100, () => alarm === this.#alarm && void this.#ring());
  }

  /** @param {string} name @param {number} deaths of the instance that calls @returns {Peer} */
  #stub(name, deaths) {
    const call = (/** @type {keyof Peer} */ method) => (/** @type {any[]} */ ...args) =>
      this.#call(name, deaths, method, args);
    return /** @type {Peer} */ (/** @type {unknown} */ (Object.fromEntries(
      METHODS.map((method) => [method, call(method)]),
    )));
  }

  /**
   * A call to another object: it may be lost on its way there or back, and with either end.
   *
   * @param {string} name
   * @param {number} deaths
   * @param {keyof Peer} method
   * @param {any[]} args
   */
  async #call(name, deaths, method, args) {
    const { sim } = this;
    const isMine = () => this.deaths === deaths;
    const forEver = new Promise(() => undefined);
    if (!isMine()) return forEver;
    const sent = structuredClone(args);
    await sim.sleep(sim.delayMs());
    if (sim.random.once(sim.network.lost)) return this.#reply(isMine, Promise.reject(new Lost("lost on its way")));
    const callee = sim.object(name);
    const before = callee.deaths;
    const target = /** @type {any} */ (callee.shard);
    const answer = await Promise.resolve()
      .then(() => target[method](...sent))
      .then(structuredClone)
      .then((value) => ({ value }), (error) => ({ error }));
    await sim.sleep(sim.delayMs());
    const isLost = callee.deaths !== before || sim.random.once(sim.network.lost);
    if (isLost) return this.#reply(isMine, Promise.reject(new Lost("lost on its way back")));
    return this.#reply(isMine, "error" in answer ? Promise.reject(answer.error) : Promise.resolve(answer.value));
  }

  /** @template T @param {() => boolean} isMine @param {Promise<T>} reply @returns {Promise<T>} */
  #reply(isMine, reply) {
    if (isMine()) return reply;
    reply.catch(() => undefined);
    return new Promise(() => undefined);
  }
}
