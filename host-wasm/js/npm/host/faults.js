/** Reasons why an input failed. */

/** The store failed, or the outcome of a commit is unknown; `cause` is what it threw. */
export class StoreFailed extends Error {}

/** A step panicked: a bug; `cause` is what WebAssembly threw. */
export class Broken extends Error {}

/** Too many others are waiting already. */
export class Busy extends Error {}

/** Its instance was dropped at a point from which the exchange cannot be replayed. */
export class Lost extends Error {}

/** The client has gone. */
export class Gone extends Error {}

/** The step stopped; `reply` is the answer for the caller. */
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
