/**
 * {@link Jobs}: a host's background work: durable work when it is due, the sends of that work, and recording when keys
 * were last used.
 *
 * @import { Credential, Decided, Own, Send } from "./types.d.ts"
 * @import { Clock } from "./clock.js"
 * @import { Outside } from "./outside.js"
 * @typedef {object} Means
 * @property {Clock} clock
 * @property {Outside} outside
 * @property {(input: Own, isCareful: boolean) => Promise<Decided>} decide executes an input
 * @property {(atMs: number | null) => void} schedule called with the time of the next tick
 * @property {(error: unknown) => void} report called with each unexpected error
 * @property {(work: Promise<unknown>) => void} waitUntil called with the promise of each background task
 */

import { Broken } from "./faults.js";
import { Plan } from "./plan.js";
import { Used } from "./used.js";

/** Ticks that begin one task at a time, after a start and after a panic: as many as one tick takes tasks. */
const CAREFUL_TICKS = 64;
/** Delay before a failed tick is retried, microseconds. */
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

  /** Whether tasks that may never finish are marked in a commit before they begin. */
  get isCareful() {
    return this.#careful > 0;
  }

  /** Switches to careful ticks after a panic: it is unknown which task of the step caused it. */
  takeCare() {
    this.#careful = CAREFUL_TICKS;
  }

  /**
   * Schedules a tick for work that fell due while the service was not running. The last process may have died from the
   * first task.
   */
  start() {
    this.takeCare();
    this.#plan.now();
  }

  /**
   * Notes that a commit has work due at `due`, microseconds.
   *
   * @param {number | undefined} due
   */
  noted(due) {
    this.#plan.noLaterThan(due);
  }

  /**
   * Notes that a key was used.
   *
   * @param {Credential} credential
   */
  used(credential) {
    this.#used.note(credential, this.#means.clock.now());
    this.#plan.noLaterThan(this.#used.at);
  }

  /**
   * Runs a batch of due work; returns when to call again, milliseconds since 1970.
   *
   * @returns {Promise<number | null>}
   */
  tick() {
    this.#ticking ??= this.#tick().finally(() => {
      this.#ticking = null;
    });
    return this.#ticking;
  }

  /** Starts nothing more, waits for running sends, and commits what is left. */
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
    // A begun task completes, or panics, before the next begins.
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
   * Performs a job's send and reports the answer to the job. A stopping host reports nothing: the lease lapses.
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
