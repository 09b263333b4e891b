/** Why an input came to nothing. */

/** The store failed, or its answer is not known; `cause` is what it threw. */
export class StoreFailed extends Error {}

/** A step panicked: a bug; `cause` is what WebAssembly threw. */
export class Broken extends Error {}

/** Too many others wait already. */
export class Busy extends Error {}

/** Its instance was given up at a point from which it cannot be told again. */
export class Lost extends Error {}

/** Nobody wants its answer any longer. */
export class Gone extends Error {}

/** Its step stopped; `reply` says so to a caller. */
export class Stopped extends Error {
  /**
   * @param {string} why
   * @param {import("./types.d.ts").Reply | undefined} reply
   */
  constructor(why, reply) {
    super(why);
    this.reply = reply;
  }
}
