/**
 * {@link Plan}: when this host ticks next, for durable work and for whatever else is due.
 *
 * @import { Clock } from "./clock.js"
 */

export class Plan {
  #clock;
  #schedule;
  /** @type {number | null} microseconds */
  #at = null;
  #isBusy = false;

  /**
   * @param {Clock} clock
   * @param {(atMs: number | null) => void} schedule called with the time of the next tick, whenever it changes
   */
  constructor(clock, schedule) {
    this.#clock = clock;
    this.#schedule = schedule;
  }

  /** Time of the next tick, milliseconds since 1970 of the platform's clock, which its alarms use. */
  get atMs() {
    return this.#at === null ? null : this.#clock.platformMs(this.#at);
  }

  /**
   * Ticks at `at` or earlier; `null` and `undefined` change nothing.
   *
   * @param {number | null | undefined} at microseconds
   */
  noLaterThan(at) {
    if (at === null || at === undefined || (this.#at !== null && this.#at <= at)) return;
    this.#at = at;
    if (!this.#isBusy) this.#schedule(this.atMs);
  }

  /** Ticks as soon as possible. */
  now() {
    this.noLaterThan(this.#clock.now());
  }

  /** Begins a tick: the plan is cleared and made anew. */
  begin() {
    this.#at = null;
    this.#isBusy = true;
  }

  /** Ends a tick. An alarm that fired meanwhile did nothing, so it is always set again. */
  end() {
    this.#isBusy = false;
    this.#schedule(this.atMs);
  }
}
