/**
 * {@link Jobs}: what a host does without being asked: durable work when it is due, what that work asks to be sent,
 * and a word of the keys that were used.
 *
 * @import { Credential, Decided, Own, Send } from "./types.d.ts"
 * @import { Clock } from "./clock.js"
 * @import { Outside } from "./outside.js"
 * @typedef {object} Means
 * @property {Clock} clock
 * @property {Outside} outside
 * @property {(input: Own, isCareful: boolean) => Promise<Decided>} decide carries an input out
 * @property {(atMs: number | null) => void} schedule is told when to come back
 * @property {(error: unknown) => void} report is told of what went wrong
 * @property {(work: Promise<unknown>) => void} waitUntil is given what goes on in the background
 */

import { Broken } from "./faults.js";
import { Plan } from "./plan.js";
import { Used } from "./used.js";

/** Ticks that begin one task at a time, after the start and after a panic: as many tasks as one tick takes. */
const CAREFUL_TICKS = 64;
/** A tick that failed is tried again a little later, microseconds. */
const AGAIN_MICROS = 1_000_000;

export class Jobs {
  #means;
  #plan;
  #used = new Used();
  #isClosed = false;
  #careful = 0;
  /** @type {Set<Promise<void>>} */
  #background = new Set();
  /** @type {Promise<number | null> | null} */
  #ticking = null;

  /** @param {Means} means */
  constructor(means) {
    this.#means = means;
    this.#plan = new Plan(means.clock, (atMs) => {
      if (!this.#isClosed) means.schedule(atMs);
    });
  }

  /** Whether what may come to no end is marked before it is begun. */
  get isCareful() {
    return this.#careful > 0;
  }

  /** After a panic nobody knows which of the things that a step did it was. */
  takeCare() {
    this.#careful = CAREFUL_TICKS;
  }

  /** Comes back for what was due while nothing ran. The process before may have ended by what comes first. */
  start() {
    this.takeCare();
    this.#plan.now();
  }

  /**
   * Something was committed that is due then, microseconds.
   *
   * @param {number | undefined} due
   */
  noted(due) {
    this.#plan.noLaterThan(due);
  }

  /**
   * A key was used.
   *
   * @param {Credential} credential
   */
  used(credential) {
    this.#used.note(credential, this.#means.clock.now());
    this.#plan.noLaterThan(this.#used.at);
  }

  /**
   * Does some of what is due; says when to come back, milliseconds since 1970.
   *
   * @returns {Promise<number | null>}
   */
  tick() {
    this.#ticking ??= this.#tick().finally(() => {
      this.#ticking = null;
    });
    return this.#ticking;
  }

  /** Begins nothing more, waits for what is under way, and writes down what is left. */
  async close() {
    this.#isClosed = true;
    await this.#ticking;
    await Promise.allSettled(this.#background);
    await this.#writeUsed();
  }

  async #tick() {
    const { clock, report } = this.#means;
    this.#plan.begin();
    try {
      if (this.#used.at !== null && this.#used.at <= clock.now()) await this.#writeUsed();
      await this.#do(this.isCareful);
    } catch (error) {
      report(error);
      if (error instanceof Broken) this.takeCare();
      this.#plan.noLaterThan(clock.now() + AGAIN_MICROS);
    }
    this.#plan.noLaterThan(this.#used.at);
    this.#plan.end();
    return this.#plan.atMs;
  }

  /** @param {boolean} isCareful */
  async #do(isCareful) {
    const decided = await this.#means.decide({ tick: true }, isCareful);
    if (!isCareful) return this.#after(decided);
    this.#careful -= 1;
    this.#after({ ...decided, sends: [] });
    // What was begun comes to its end, or panics, before something else is begun.
    for (const send of decided.sends) await this.#carry(send).catch(this.#means.report);
  }

  /** @param {Decided} decided */
  #after({ wake, sends }) {
    this.#plan.noLaterThan(wake);
    for (const send of sends) {
      const carried = this.#carry(send).catch(this.#means.report);
      this.#background.add(carried);
      this.#means.waitUntil(carried);
      carried.finally(() => this.#background.delete(carried));
    }
  }

  /**
   * Does what a job asked for, and tells the job. A host that stops tells it nothing: its lease lapses.
   *
   * @param {Send} send
   */
  async #carry({ ticket, work }) {
    if (ticket === undefined || this.#isClosed) return;
    const answer = await this.#means.outside.perform(work);
    if (this.#isClosed) return;
    this.#after(await this.#means.decide({ answered: { ticket, answer } }, false));
  }

  async #writeUsed() {
    const used = this.#used.take();
    if (used.length > 0) await this.#means.decide({ used }, false).catch(this.#means.report);
  }
}
