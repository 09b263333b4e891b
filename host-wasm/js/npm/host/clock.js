/**
 * The one place that asks for the time, for chance and for timers.
 *
 * @typedef {() => void} Cancel
 * @typedef {(ms: number, act: () => void) => Cancel} Timer
 */

/** What `setTimeout` can wait, milliseconds. */
const WAIT_MS_MAX = 2 ** 31 - 1;

export class Clock {
  #last = 0;
  #now;
  #random;
  #timer;

  /**
   * @param {object} means
   * @param {() => number} means.now milliseconds since 1970, fractions count
   * @param {(bytes: Uint8Array<ArrayBuffer>) => unknown} means.random fills an array
   * @param {Timer} means.timer
   */
  constructor({ now, random, timer }) {
    this.#now = now;
    this.#random = random;
    this.#timer = timer;
  }

  /** Microseconds since 1970; the last one told where the clock was set back. */
  now() {
    this.#last = Math.max(this.#last, Math.round(this.#now() * 1000));
    return this.#last;
  }

  /** The randomness of one input. */
  seed() {
    const seed = new Uint8Array(32);
    this.#random(seed);
    return seed;
  }

  /**
   * Milliseconds until then, none where that is past.
   *
   * @param {number} at microseconds
   */
  untilMs(at) {
    return Math.max(0, Math.ceil((at - this.now()) / 1000));
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
