/** {@link Slots}: a semaphore with a bounded queue. */

import { Busy } from "./faults.js";

export class Slots {
  #free;
  #waitingMax;
  /** @type {(() => void)[]} */
  #waiting = [];

  /**
   * @param {number} count
   * @param {number} waitingMax
   */
  constructor(count, waitingMax) {
    this.#free = count;
    this.#waitingMax = waitingMax;
  }

  /**
   * Takes a slot; returns `undefined` if that needs no wait. Throws {@link Busy} where too many wait.
   *
   * @returns {Promise<void> | undefined}
   */
  enter() {
    if (this.#free > 0) {
      this.#free -= 1;
      return undefined;
    }
    if (this.#waiting.length >= this.#waitingMax) throw new Busy();
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  leave() {
    const next = this.#waiting.shift();
    if (next === undefined) this.#free += 1;
    else next();
  }

  /**
   * Takes a slot, or throws {@link Busy} after `ms` milliseconds.
   *
   * @param {number} ms
   */
  async enterWithin(ms) {
    if (this.#free > 0 || this.#waiting.length >= this.#waitingMax) return this.enter();
    return new Promise((resolve, reject) => {
      const enter = () => {
        clearTimeout(deadline);
        resolve(undefined);
      };
      const deadline = setTimeout(() => {
        this.#waiting = this.#waiting.filter((waiting) => waiting !== enter);
        reject(new Busy());
      }, ms);
      this.#waiting.push(enter);
    });
  }
}

/** One input's hold on a slot. */
export class Turn {
  #slots;
  #held = false;

  /** @param {Slots} slots */
  constructor(slots) {
    this.#slots = slots;
  }

  /** @returns {Promise<void> | undefined} */
  enter() {
    if (this.#held) return undefined;
    const wait = this.#slots.enter();
    if (wait === undefined) {
      this.#held = true;
      return undefined;
    }
    return wait.then(() => {
      this.#held = true;
    });
  }

  leave() {
    if (!this.#held) return;
    this.#held = false;
    this.#slots.leave();
  }
}
