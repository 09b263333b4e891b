/**
 * {@link Plan}: when this host comes back for durable work, and for what else waits.
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
   * @param {(atMs: number | null) => void} schedule is told when to come back, whenever that changes
   */
  constructor(clock, schedule) {
    this.#clock = clock;
    this.#schedule = schedule;
  }

  /** When to come back, milliseconds since 1970 of the platform's clock: its alarms go by that. */
  get atMs() {
    return this.#at === null ? null : this.#clock.platformMs(this.#at);
  }

  /**
   * Comes back no later than then; nothing leaves the plan as it is.
   *
   * @param {number | null | undefined} at microseconds
   */
  noLaterThan(at) {
    if (at === null || at === undefined || (this.#at !== null && this.#at <= at)) return;
    this.#at = at;
    if (!this.#isBusy) this.#schedule(this.atMs);
  }

  /** Comes back at once. */
  now() {
    this.noLaterThan(this.#clock.now());
  }

  /** It came back: what is next is said anew. */
  begin() {
    this.#at = null;
    this.#isBusy = true;
  }

  /** It is done. An alarm that went off meanwhile did nothing, so that it is set in any case. */
  end() {
    this.#isBusy = false;
    this.#schedule(this.atMs);
  }
}
