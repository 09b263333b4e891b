/**
 * {@link Alarm}: schedules ticks for durable work by a timer, where the platform has nothing better.
 *
 * @import { ServiceOptions } from "../index.d.ts"
 */

import { timer } from "./clock.js";

/** Longest time between two ticks, milliseconds: another process may have planned work in the same store. */
const LOOK_MS = 60_000;

export class Alarm {
  #now;
  #timer;
  #tick;
  #cancel = () => {};
  #isStopped = false;

  /**
   * @param {ServiceOptions} options
   * @param {() => unknown} tick
   */
  constructor(options, tick) {
    this.#now = options.now ?? Date.now;
    this.#timer = options.timer ?? timer;
    this.#tick = tick;
  }

  /** @param {number | null} atMs */
  set(atMs) {
    this.#cancel();
    if (this.#isStopped) return;
    const ms = atMs === null ? LOOK_MS : Math.max(0, atMs - this.#now());
    this.#cancel = this.#timer(Math.min(ms, LOOK_MS), this.#tick);
  }

  stop() {
    this.#cancel();
    this.#isStopped = true;
  }
}
