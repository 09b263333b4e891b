/** Random choices from a seed: the same seed gives the same choices on every runtime. */

export class Random {
  #state;

  /** @param {number} seed */
  constructor(seed) {
    this.#state = seed >>> 0;
  }

  /** Returns the next 32 bits (splitmix32). */
  bits() {
    this.#state = (this.#state + 0x9e3779b9) >>> 0;
    let bits = this.#state;
    bits = Math.imul(bits ^ (bits >>> 16), 0x21f0aaad);
    bits = Math.imul(bits ^ (bits >>> 15), 0x735a2d97);
    return (bits ^ (bits >>> 15)) >>> 0;
  }

  /**
   * Returns a number from 0 to `end`, exclusive.
   *
   * @param {number} end
   */
  below(end) {
    return Math.floor((this.bits() / 2 ** 32) * end);
  }

  /**
   * Returns true with a probability of one in `times`.
   *
   * @param {number} times
   */
  once(times) {
    return this.below(times) === 0;
  }

  /**
   * @template T
   * @param {readonly T[]} list
   * @returns {T}
   */
  pick(list) {
    return list[this.below(list.length)];
  }

  /**
   * Returns bytes without repetition, so that a misplaced part shows.
   *
   * @param {number} length
   */
  bytes(length) {
    const bytes = new Uint8Array(length);
    for (let at = 0; at < length; at += 4) {
      const bits = this.bits();
      for (let part = 0; part < 4 && at + part < length; part++) bytes[at + part] = bits >>> (8 * part);
    }
    return bytes;
  }
}
