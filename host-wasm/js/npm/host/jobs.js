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
 * @property {(input: Own) => Promise<Decided>} decide carries an input out
 * @property {(atMs: number | null) => void} schedule is told when to come back
 * @property {(error: unknown) => void} report is told of what went wrong
 * @property {(work: Promise<unknown>) => void} waitUntil is given what goes on in the background
 */

import { Plan } from "./plan.js";
import { Used } from "./used.js";

/** A tick that failed is tried again a little later, microseconds. */
const AGAIN_MICROS = 1_000_000;

export class Jobs {
  #means;
  #plan;
  #used = new Used();
  #isClosed = false;
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

  /** Comes back for what was due while nothing ran. */
  start() {
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
    const { clock, decide, report } = this.#means;
    this.#plan.begin();
    try {
      if (this.#used.at !== null && this.#used.at <= clock.now()) await this.#writeUsed();
      this.#after(await decide({ tick: true }));
    } catch (error) {
      report(error);
      this.#plan.noLaterThan(clock.now() + AGAIN_MICROS);
    }
    this.#plan.noLaterThan(this.#used.at);
    this.#plan.end();
    return this.#plan.atMs;
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
    this.#after(await this.#means.decide({ answered: { ticket, answer } }));
  }

  async #writeUsed() {
    const used = this.#used.take();
    if (used.length > 0) await this.#means.decide({ used }).catch(this.#means.report);
  }
}
