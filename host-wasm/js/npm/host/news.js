/**
 * Subscriptions: parked requests and streams are woken by the commit that concerns them.
 *
 * @import { Clock } from "./clock.js"
 * @typedef {"news" | "elapsed" | "closed" | "gone"} Came
 */

export class News {
  #clock;
  #closed = false;
  /** @type {Map<string, Set<Waiting>>} */
  #topics = new Map();

  /** @param {Clock} clock */
  constructor(clock) {
    this.#clock = clock;
  }

  /**
   * Subscribes to a topic: commits from here on are news.
   *
   * @param {string} topic
   */
  subscribe(topic) {
    const all = this.#topics.get(topic) ?? new Set();
    this.#topics.set(topic, all);
    const waiting = new Waiting(this.#clock, () => {
      all.delete(waiting);
      if (all.size === 0 && this.#topics.get(topic) === all) this.#topics.delete(topic);
    });
    all.add(waiting);
    if (this.#closed) waiting.tell("closed");
    return waiting;
  }

  /**
   * Wakes those who wait for a topic, after a commit to it.
   *
   * @param {string} topic
   */
  publish(topic) {
    this.#topics.get(topic)?.forEach((waiting) => waiting.tell("news"));
  }

  /** Wakes everyone for the last time: the service stops. */
  close() {
    this.#closed = true;
    for (const all of this.#topics.values()) all.forEach((waiting) => waiting.tell("closed"));
  }
}

/** One subscription to a topic. */
class Waiting {
  #clock;
  #forget;
  /** @type {Came | null} what came while no one was waiting */
  #came = null;
  /** @type {((came: Came) => void) | null} */
  #resolve = null;

  /**
   * @param {Clock} clock
   * @param {() => void} forget
   */
  constructor(clock, forget) {
    this.#clock = clock;
    this.#forget = forget;
  }

  /** @param {Came} came */
  tell(came) {
    if (came === "closed" || (this.#resolve === null && this.#came === null)) this.#came = came;
    this.#resolve?.(came);
  }

  /**
   * Waits for news, at most `ms` milliseconds.
   *
   * @param {number} ms
   * @param {AbortSignal} [signal] of the client that waits
   * @returns {Promise<Came>}
   */
  async news(ms, signal) {
    if (signal?.aborted) return "gone";
    if (this.#came !== null) return this.#take(this.#came);
    const gone = () => this.#resolve?.("gone");
    /** @type {() => void} */
    let cancel = () => {};
    try {
      return await new Promise((resolve) => {
        this.#resolve = resolve;
        signal?.addEventListener("abort", gone);
        cancel = this.#clock.after(ms, () => resolve("elapsed"));
      });
    } finally {
      this.#resolve = null;
      cancel();
      signal?.removeEventListener("abort", gone);
    }
  }

  /** Ends the subscription and wakes its waiter. */
  close() {
    this.tell("closed");
    this.#forget();
  }

  /** @param {Came} came */
  #take(came) {
    if (came !== "closed") this.#came = null;
    return came;
  }
}
