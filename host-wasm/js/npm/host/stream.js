/**
 * {@link Events}: live streams (WHATWG HTML, Server-sent events). A stream is the same request asked again with
 * `Last-Event-ID` whenever there is news of its topic; it holds no state but where it is.
 *
 * @import { Reply } from "./types.d.ts"
 * @import { Clock } from "./clock.js"
 * @import { News } from "./news.js"
 * @typedef {object} Source
 * @property {Reply} reply the first answer
 * @property {(last: number) => Promise<Reply | undefined>} follow asks again; what is no stream is the end
 * @property {() => void} ended called when nobody reads it any longer, or there is nothing more to read
 * @property {AbortSignal} [signal] aborted when nobody reads it any longer
 */

/** How often a stream without news says that it lives, milliseconds. */
const HEARTBEAT_MS = 15_000;
/** A stream ends after this long, microseconds; its reader comes back with `Last-Event-ID`. */
const LONGEST_MICROS = 3_600_000_000;

const HEARTBEAT = new TextEncoder().encode(":\n\n");

export class Events {
  #source;
  #clock;
  #pollMs;
  #waiting;
  #end;
  #last;
  #hasBegun = false;
  #hasEnded = false;

  /**
   * @param {Source} source
   * @param {object} means
   * @param {News} means.news
   * @param {Clock} means.clock
   * @param {number} means.pollMs how often it looks without news
   */
  constructor(source, { news, clock, pollMs }) {
    this.#source = source;
    this.#clock = clock;
    this.#pollMs = pollMs;
    this.#waiting = news.subscribe(/** @type {string} */ (source.reply.stream));
    this.#end = clock.now() + LONGEST_MICROS;
    this.#last = source.reply.last ?? 0;
  }

  /** The body of the answer: a reader that is slow is waited for. */
  stream() {
    return new ReadableStream({
      pull: async (controller) => {
        const bytes = await this.#next();
        if (this.#hasEnded) return;
        if (bytes !== null) return controller.enqueue(bytes);
        this.#close();
        controller.close();
      },
      cancel: () => this.#close(),
    });
  }

  /** The next bytes; none at the end. */
  async #next() {
    if (!this.#hasBegun) {
      // The first bytes tell the reader that there is a stream.
      this.#hasBegun = true;
      return bytesOf(this.#source.reply) ?? HEARTBEAT;
    }
    // What did not fit into the last answer is there already, and so is what came before somebody listened.
    for (let beatMs = HEARTBEAT_MS; beatMs > 0; ) {
      const reply = await this.#source.follow(this.#last).catch(() => undefined);
      if (reply?.stream === undefined) return null;
      this.#last = reply.last ?? this.#last;
      const bytes = bytesOf(reply);
      if (bytes !== null) return bytes;
      const waitMs = Math.min(beatMs, this.#pollMs);
      const came = await this.#waiting.news(waitMs, this.#source.signal);
      if (came === "closed" || came === "gone" || this.#clock.now() >= this.#end) return null;
      if (came === "elapsed") beatMs -= waitMs;
    }
    return HEARTBEAT;
  }

  #close() {
    if (this.#hasEnded) return;
    this.#hasEnded = true;
    this.#waiting.close();
    this.#source.ended();
  }
}

/** @param {Reply} reply */
function bytesOf({ body }) {
  return body !== undefined && body.length > 0 ? body : null;
}
