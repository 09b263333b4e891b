/**
 * The one place that asks for the time, for chance and for timers.
 *
 * @typedef {() => void} Cancel
 * @typedef {(ms: number, act: () => void) => Cancel} Timer
 */

/** What `setTimeout` can wait, milliseconds. */
const WAIT_MS_MAX = 2 ** 31 - 1;

export class Clock {
  /** The last time given, microseconds since 1970. */
  #last = 0;
  /** How far that is ahead of the platform's clock, microseconds. */
  #ahead = 0;
  /** When it was given, by the monotonic clock, milliseconds. */
  #lastMonotonic = 0;
  #now;
  #monotonic;
  #random;
  #timer;

  /**
   * @param {object} means
   * @param {() => number} means.now milliseconds since 1970, fractions count
   * @param {() => number} means.monotonic milliseconds that only go on, whoever sets the clock
   * @param {(bytes: Uint8Array<ArrayBuffer>) => unknown} means.random fills an array
   * @param {Timer} means.timer
   */
  constructor({ now, monotonic, random, timer }) {
    this.#now = now;
    this.#monotonic = monotonic;
    this.#random = random;
    this.#timer = timer;
  }

  /**
   * Microseconds since 1970. Where the clock was set back, time goes on at half speed until the clock has caught up.
   */
  now() {
    const [monotonic, now] = [this.#monotonic(), this.#now() * 1000];
    const slowed = this.#last + (monotonic - this.#lastMonotonic) * 500;
    this.#last = Math.max(this.#last, slowed, now);
    this.#ahead = this.#last - now;
    this.#lastMonotonic = monotonic;
    return Math.round(this.#last);
  }

  /** The randomness of one input. */
  seed() {
    const seed = new Uint8Array(32);
    this.#random(seed);
    return seed;
  }

  /**
   * Milliseconds until then, none where that is past. While this clock is ahead of the platform's it takes twice as
   * long.
   *
   * @param {number} at microseconds
   */
  untilMs(at) {
    const wait = Math.max(0, at - this.now());
    return Math.ceil((wait + Math.min(wait, this.#ahead)) / 1000);
  }

  /**
   * What the platform's clock shows then, milliseconds since 1970.
   *
   * @param {number} at microseconds
   */
  platformMs(at) {
    const wait = Math.max(0, at - this.now());
    return Math.ceil((at - this.#ahead + Math.min(wait, this.#ahead)) / 1000);
  }

  /**
   * Acts later.
   *
   * @param {number} ms
   * @param {() => void} act
   */
  after(ms, act) {
    return this.#timer(Math.min(ms, WAIT_MS_MAX), act);
  }
}

/**
 * A timer of the platform.
 *
 * @type {Timer}
 */
export function timer(ms, act) {
  const handle = setTimeout(act, ms);
  return () => clearTimeout(handle);
}
