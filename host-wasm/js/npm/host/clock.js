/**
 * The only source of time, randomness and timers.
 *
 * @typedef {() => void} Cancel
 * @typedef {(ms: number, act: () => void) => Cancel} Timer
 */

/** Longest delay that `setTimeout` accepts, milliseconds. */
const WAIT_MS_MAX = 2 ** 31 - 1;

export class Clock {
  /** The last time returned, microseconds since 1970. */
  #last = 0;
  /** How far the last time is ahead of the platform's clock, microseconds. */
  #ahead = 0;
  /** Reading of the monotonic clock at the last time, milliseconds. */
  #lastMonotonic = 0;
  #now;
  #monotonic;
  #random;
  #timer;

  /**
   * @param {object} means
   * @param {() => number} means.now milliseconds since 1970, fractions count
   * @param {() => number} means.monotonic milliseconds, never set back
   * @param {(bytes: Uint8Array<ArrayBuffer>) => unknown} means.random fills an array with random bytes
   * @param {Timer} means.timer
   */
  constructor({ now, monotonic, random, timer }) {
    this.#now = now;
    this.#monotonic = monotonic;
    this.#random = random;
    this.#timer = timer;
  }

  /**
   * Returns microseconds since 1970. After the platform's clock was set back, time runs at half speed until it has
   * caught up.
   */
  now() {
    const [monotonic, now] = [this.#monotonic(), this.#now() * 1000];
    const slowed = this.#last + (monotonic - this.#lastMonotonic) * 500;
    this.#last = Math.max(this.#last, slowed, now);
    this.#ahead = this.#last - now;
    this.#lastMonotonic = monotonic;
    return Math.round(this.#last);
  }

  /** Draws the random seed of one input, 32 bytes. */
  seed() {
    const seed = new Uint8Array(32);
    this.#random(seed);
    return seed;
  }

  /**
   * Returns the milliseconds until `at`, 0 where it is past. While this clock is ahead of the platform's, waiting takes
   * twice as long.
   *
   * @param {number} at microseconds
   */
  untilMs(at) {
    const wait = Math.max(0, at - this.now());
    return Math.ceil((wait + Math.min(wait, this.#ahead)) / 1000);
  }

  /**
   * Returns what the platform's clock will show at `at`, milliseconds since 1970.
   *
   * @param {number} at microseconds
   */
  platformMs(at) {
    const wait = Math.max(0, at - this.now());
    return Math.ceil((at - this.#ahead + Math.min(wait, this.#ahead)) / 1000);
  }

  /**
   * Calls `act` after `ms` milliseconds, or after the longest delay of a timer.
   *
   * @param {number} ms
   * @param {() => void} act
   */
  after(ms, act) {
    return this.#timer(Math.min(ms, WAIT_MS_MAX), act);
  }
}

/**
 * A timer by `setTimeout`.
 *
 * @type {Timer}
 */
export function timer(ms, act) {
  const handle = setTimeout(act, ms);
  return () => clearTimeout(handle);
}
