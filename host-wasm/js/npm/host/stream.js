/**
 * {@link Events}: live streams (WHATWG HTML, Server-sent events). A stream repeats its request with `Last-Event-ID`
 * whenever there is news of its topic; its position is its only state.
 *
 * @import { Reply } from "./types.d.ts"
 * @import { Clock } from "./clock.js"
 * @import { News } from "./news.js"
 * @typedef {object} Source
 * @property {Reply} reply the first answer
 * @property {(last: number) => Promise<Reply | undefined>} follow repeats the request; a reply that is no stream ends
 * it
 * @property {() => void} ended called when the reader has gone, or the stream has ended
 * @property {AbortSignal} [signal] aborted when the reader has gone
 */

/** Heartbeat interval of a stream without news, milliseconds. */
const HEARTBEAT_MS = 15_000;
/** Longest life of a stream, microseconds; its reader reconnects with `Last-Event-ID`. */
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
   * @param {number} means.pollMs polling interval without news
   */
  constructor(source, { news, clock, pollMs }) {
    this.#source = source;
    this.#clock = clock;
    this.#pollMs = pollMs;
    this.#waiting = news.subscribe(/** @type {string} */ (source.reply.stream));
    this.#end = clock.now() + LONGEST_MICROS;
    this.#last = source.reply.last ?? 0;
  }

  /** Returns the body of the answer; a slow reader holds the stream back. */
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

  /** Returns the next bytes; `null` at the end. */
  async #next() {
    if (!this.#hasBegun) {
      // The first bytes tell the reader that the stream is open.
      this.#hasBegun = true;
      return bytesOf(this.#source.reply) ?? HEARTBEAT;
    }
    // Asks at once: the last answer may have been full, and events before the subscription make no news.
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
