/**
 * What other objects may do to a space: read it, and prepare and finish a commit in it. Used by the Durable
 * Objects storage only.
 *
 * A commit that is prepared here locks the space for every other commit, and hides the rows that it changes,
 * until its coordinator has decided: it may have decided already, and a reader may have seen elsewhere what came
 * after it. So does the object's own commit over several spaces. A coordinator that stays silent is asked. Whoever
 * waits holds no lock that comes after this space's in the order of names, so nobody waits in a circle.
 *
 * @import { Bytes, Change } from "./storage.d.ts"
 * @import { Answer, Ask, Claim, Decision, Range } from "./durable-object.d.ts"
 * @import { Space } from "./durable-object-space.js"
 * @typedef {object} Surroundings
 * @property {() => number} now
 * @property {(ms: number) => Promise<unknown>} sleep
 * @property {(coordinator: string, id: string) => Promise<Decision>} ask
 * @property {(changes: Change[]) => void} committed is told what was changed
 * @property {() => void} schedule has the object woken when something is left to do
 */

import { rangesOf, touches } from "./durable-object-ranges.js";

/** How long a prepared commit stays undecided before its coordinator is asked. */
export const SILENCE_MS = 1_000;
/** How long a read or a commit waits for another one's decision. */
const WAIT_MS = 15_000;
/** Rows of one answer, bytes: a call between objects carries 32 MiB. */
const ANSWER_BYTES = 8 << 20;

export class Participant {
  #space;
  #around;
  /** @type {Bytes[] | null} the keys of this object's own commit that is under way, in order */
  #held = null;
  /** @type {Promise<void> | null} */
  #asking = null;
  #released = signal();

  /**
   * @param {Space} space
   * @param {Surroundings} around
   */
  constructor(space, around) {
    this.#space = space;
    this.#around = around;
  }

  /** @param {Ask} ask @returns {Promise<Answer | null>} */
  async read({ reads, picture, wait }) {
    const ranges = [...(picture?.ranges ?? []), ...reads.flatMap(rangesOf)];
    if (!wait && this.hides(ranges)) return null;
    return this.whenShown(ranges, () => {
      if (picture && !this.#space.holds(picture)) return null;
      return { ...this.#space.find(reads, ANSWER_BYTES), commits: this.#space.commits };
    });
  }

  /** False: the claim's picture does not hold any longer. @param {Claim} claim @returns {Promise<boolean>} */
  async prepare(claim) {
    if (claim.part !== "further") return this.whenUnlocked(() => this.#prepareFirst(claim));
    if (this.#space.prepared?.id !== claim.id) return false;
    this.#space.prepare(claim, this.#around.now());
    return true;
  }

  /**
   * What was decided of a commit; asked again it does nothing.
   *
   * @param {string} id
   * @param {boolean} committed
   */
  finish(id, committed) {
    if (this.#space.prepared?.id !== id) return;
    const changes = this.#space.settle(committed);
    this.#release();
    if (committed) this.#around.committed(changes);
  }

  /**
   * Locks the space for this object's own commit; the caller has waited until it is unlocked.
   *
   * @param {Bytes[]} keys in order
   */
  hold(keys) {
    this.#held = keys;
  }

  /** Ends {@link hold}. */
  letGo() {
    if (this.#held === null) return;
    this.#held = null;
    this.#release();
  }

  /** Whether an undecided commit changes something in the ranges. @param {Range[]} ranges */
  hides(ranges) {
    return this.isPrepared(ranges) || (this.#held !== null && touches(ranges, this.#held));
  }

  /** Whether it is one of another object. @param {Range[]} ranges */
  isPrepared(ranges) {
    return this.#space.prepared !== null && touches(ranges, this.#space.prepared.keys);
  }

  /** Whether no commit locks the space. */
  get isUnlocked() {
    return this.#space.prepared === null && this.#held === null;
  }

  /**
   * Acts as soon as no undecided commit hides something in the ranges.
   *
   * @template T
   * @param {Range[]} ranges
   * @param {() => T} act
   */
  whenShown(ranges, act) {
    return this.#when(() => !this.hides(ranges), act);
  }

  /**
   * Acts as soon as no commit locks the space.
   *
   * @template T
   * @param {() => T} act
   */
  whenUnlocked(act) {
    return this.#when(() => this.isUnlocked, act);
  }

  /** Asks for the decision of a commit whose coordinator is silent. */
  async settleSilent() {
    const { prepared } = this.#space;
    if (prepared === null || this.#around.now() - prepared.sinceMs < SILENCE_MS) return;
    this.#asking ??= this.#settle(prepared.id, prepared.coordinator).finally(() => (this.#asking = null));
    await this.#asking;
  }

  /**
   * @param {string} id
   * @param {string} coordinator
   */
  async #settle(id, coordinator) {
    // A coordinator that cannot be reached now is asked again later.
    const decision = await this.#around.ask(coordinator, id).catch(() => "running");
    if (decision !== "running") this.finish(id, decision === "committed");
  }

  /** @param {Claim} claim */
  #prepareFirst(claim) {
    if (claim.picture && !this.#space.holds(claim.picture)) return false;
    if (claim.part === "whole") {
      this.#space.commit(claim.changes);
      this.#around.committed(claim.changes);
    } else {
      this.#space.prepare(claim, this.#around.now());
      this.#around.schedule();
    }
    return true;
  }

  /**
   * Acts in the turn in which the condition is met; throws when that takes too long.
   *
   * @template T
   * @param {() => boolean} condition
   * @param {() => T} act
   */
  async #when(condition, act) {
    const endMs = this.#around.now() + WAIT_MS;
    while (!condition()) {
      if (this.#around.now() >= endMs) throw new Error("a commit over several spaces stays undecided");
      await this.settleSilent();
      if (!condition()) await Promise.race([this.#released.given, this.#around.sleep(SILENCE_MS)]);
    }
    return act();
  }

  #release() {
    this.#released.give();
    this.#released = signal();
  }
}

/** Something to wait for. */
function signal() {
  /** @type {() => void} */
  let give = () => undefined;
  /** @type {Promise<void>} */
  const given = new Promise((resolve) => {
    give = resolve;
  });
  return { give, given };
}
