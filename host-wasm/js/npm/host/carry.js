/**
 * {@link Carrier}: the loop that drives a course over a storage. It reads, commits, performs and waits as the core
 * asks; nothing is answered before its commit. With a synchronous storage nothing is awaited.
 *
 * @import { Storage } from "../storage/storage.d.ts"
 * @import { Answer, Body, Commit, Decided, Event, Next, Park, Send } from "./types.d.ts"
 * @import { Clock } from "./clock.js"
 * @import { Exchange } from "./exchange.js"
 * @import { News } from "./news.js"
 * @import { Outside } from "./outside.js"
 */

import { Gone, Stopped, StoreFailed } from "./faults.js";
import { Slots, Turn } from "./slots.js";

/** Writes that may wait; further ones are refused instead of piling up. */
const WRITES_MAX = 1024;
/** Conflicts after which an input takes the writers' turn, so that no other write of this host can overtake it. */
const OVERTAKEN_MAX = 3;

/**
 * Who an input is executed for.
 *
 * @typedef {object} Caller
 * @property {(bytesMax: number) => Promise<Body>} readBody
 * @property {AbortSignal} [signal] aborted when the client has gone
 */

/** @type {Caller} */
const NOBODY = { readBody: () => Promise.resolve(null) };

export class Carrier {
  #storage;
  #clock;
  #news;
  #outside;
  #noted;
  #pollMs;
  #writes = new Slots(1, WRITES_MAX);

  /**
   * @param {object} means
   * @param {Storage<any>} means.storage
   * @param {Clock} means.clock
   * @param {News} means.news
   * @param {Outside} means.outside
   * @param {(commit: Pick<Commit, "topics" | "due">) => void} means.noted called after each commit
   * @param {number} means.pollMs polling interval of those who wait, without news
   */
  constructor({ storage, clock, news, outside, noted, pollMs }) {
    this.#storage = storage;
    this.#clock = clock;
    this.#news = news;
    this.#outside = outside;
    this.#noted = noted;
    this.#pollMs = pollMs;
  }

  /**
   * Executes an input, from its beginning to its end.
   *
   * @param {Exchange} exchange
   * @param {Caller} [caller]
   * @returns {Promise<Decided>}
   */
  async carry(exchange, caller = NOBODY) {
    /** @type {Run} */
    const run = { exchange, caller, turn: new Turn(this.#writes), parked: null };
    try {
      /** @type {Event} */
      let event = "begin";
      for (let overtaken = exchange.isRequest ? 0 : OVERTAKEN_MAX; ; ) {
        if (event === "changed") overtaken += 1;
        const wait = overtaken < OVERTAKEN_MAX ? undefined : run.turn.enter();
        if (wait !== undefined) await wait;
        const next = exchange.next(event);
        if ("done" in next) return next.done;
        const came = this.#act(next, run);
        event = isPromise(came) ? await came : came;
      }
    } finally {
      run.turn.leave();
      run.parked?.waiting.close();
    }
  }

  /**
   * @param {Exclude<Next, { done: Decided }>} next
   * @param {Run} run
   * @returns {Event | Promise<Event>}
   */
  #act(next, run) {
    if ("read" in next) return this.#read(next.read, run.exchange);
    if ("commit" in next) return this.#commit(next, run);
    if ("failed" in next) throw new Stopped(next.failed, next.reply);
    run.turn.leave();
    if ("readBody" in next) return this.#readBody(next.readBody, run);
    if ("perform" in next) return this.#perform(next.perform, run);
    if ("yield" in next) return this.#yield(run);
    return this.#park(next, run);
  }

  /**
   * @param {import("../storage/storage.d.ts").Read[]} reads
   * @param {Exchange} exchange
   * @returns {Event | Promise<Event>}
   */
  #read(reads, exchange) {
    return stored(() => this.#storage.read(reads, exchange.picture), (reading) => {
      if (reading === null) return "changed";
      exchange.picture = reading.picture;
      return { found: reading.found };
    });
  }

  /**
   * @param {Commit} commit
   * @param {Run} run
   * @returns {Event | Promise<Event>}
   */
  #commit(commit, run) {
    const wait = run.turn.enter();
    if (wait !== undefined) return wait.then(() => this.#commit(commit, run));
    return stored(() => this.#storage.commit(commit.commit, run.exchange.picture), (done) => {
      if (!done) return "changed";
      this.#noted(commit);
      return "committed";
    });
  }

  /**
   * @param {number} bytesMax
   * @param {Run} run
   * @returns {Promise<Event>}
   */
  async #readBody(bytesMax, run) {
    const body = await run.caller.readBody(bytesMax);
    await run.turn.enter();
    return { body };
  }

  /**
   * @param {Send[]} sends
   * @param {Run} run
   * @returns {Promise<Event>}
   */
  async #perform(sends, run) {
    /** @type {Answer[]} */
    const answers = [];
    for (const send of sends) answers.push(await this.#outside.perform(send.work));
    await run.turn.enter();
    return { answers };
  }

  /**
   * Lets others who wait to write go first.
   *
   * @param {Run} run
   * @returns {Promise<Event>}
   */
  async #yield(run) {
    await run.turn.enter();
    return "yielded";
  }

  /**
   * Waits for news or the deadline. A waiting input holds no writers' turn.
   *
   * @param {Park} next
   * @param {Run} run
   * @returns {Promise<Event>}
   */
  async #park(next, run) {
    if (run.parked === null) {
      run.parked = { waiting: this.#news.subscribe(next.park), until: next.until };
      // A commit made before the subscription counts as news as well.
      return "news";
    }
    const leftMs = this.#clock.untilMs(run.parked.until);
    const came = await run.parked.waiting.news(Math.min(leftMs, this.#pollMs), run.caller.signal);
    if (came === "gone") throw new Gone();
    const looksAgain = came === "news" || (came === "elapsed" && this.#pollMs < leftMs);
    return looksAgain ? "news" : "elapsed";
  }
}

/**
 * @typedef {object} Run
 * @property {Exchange} exchange
 * @property {Caller} caller
 * @property {Turn} turn
 * @property {{ waiting: ReturnType<News["subscribe"]>, until: number } | null} parked
 */

/**
 * @param {unknown} value
 * @returns {value is Promise<any>}
 */
function isPromise(value) {
  return typeof (/** @type {any} */ (value)?.then) === "function";
}

/**
 * Waits for the storage, if it returns a promise; an error it throws becomes a {@link StoreFailed}.
 *
 * @template T
 * @param {() => T | Promise<T>} ask
 * @param {(value: T) => Event} then
 * @returns {Event | Promise<Event>}
 */
function stored(ask, then) {
  /** @param {unknown} cause @returns {never} */
  const failed = (cause) => {
    throw new StoreFailed("the store failed", { cause });
  };
  let value;
  try {
    value = ask();
  } catch (cause) {
    return failed(cause);
  }
  return isPromise(value) ? value.then(then, failed) : then(value);
}
