/**
 * {@link Host}: everything that a running service consists of. It answers requests, does durable work when it is
 * due, and holds nothing that it could not lose: what counts is in the store.
 *
 * @import { Change, Storage } from "../storage/storage.d.ts"
 * @import { Body, Decided, Reply, Send, Work } from "./types.d.ts"
 * @import { Clock } from "./clock.js"
 * @import { Core } from "./core.js"
 * @import { Input } from "./exchange.js"
 * @import { Outside } from "./outside.js"
 * @import { Answered } from "./reply.js"
 * @typedef {object} Asked a request, whatever brought it
 * @property {string} method
 * @property {string} target path and query as sent
 * @property {[name: string, value: string][]} headers names in lower case; a character is a byte
 * @property {ReadableStream<Uint8Array> | null} body
 * @property {string} [peer] the IP address at the other end
 * @property {AbortSignal} [signal] aborted when nobody wants the answer any longer
 */

import { Coming, largeBodies } from "./body.js";
import { Carrier } from "./carry.js";
import { Exchange } from "./exchange.js";
import { Broken, Busy, Gone, Stopped } from "./faults.js";
import { News } from "./news.js";
import { filled } from "./pages.js";
import { Plan } from "./plan.js";
import { SERVER_ERROR, UNAVAILABLE, answered } from "./reply.js";
import { Events } from "./stream.js";
import { Used } from "./used.js";

/** Streams at once. */
const STREAMS_MAX = 4096;
/** A tick that failed is tried again a little later, microseconds. */
const AGAIN_MICROS = 1_000_000;

export class Host {
  #core;
  #storage;
  #clock;
  #outside;
  #carrier;
  #news;
  #plan;
  #report;
  #waitUntil;
  #pollMs;
  #used = new Used();
  #large = largeBodies();
  #streams = 0;
  #isClosed = false;
  /** @type {Set<Promise<void>>} */
  #background = new Set();
  /** @type {Promise<number | null> | null} */
  #ticking = null;

  /**
   * @param {object} means
   * @param {Core} means.core
   * @param {Storage<any>} means.storage
   * @param {Clock} means.clock
   * @param {Outside} means.outside
   * @param {(atMs: number | null) => void} means.schedule
   * @param {(error: unknown) => void} means.report is told of what went wrong
   * @param {(work: Promise<unknown>) => void} means.waitUntil is given what goes on in the background
   * @param {number} means.pollMs
   */
  constructor({ core, storage, clock, outside, schedule, report, waitUntil, pollMs }) {
    this.#core = core;
    this.#storage = storage;
    this.#clock = clock;
    this.#outside = outside;
    this.#report = report;
    this.#waitUntil = waitUntil;
    this.#pollMs = pollMs;
    this.#news = new News(clock);
    this.#plan = new Plan(clock, (atMs) => {
      if (!this.#isClosed) schedule(atMs);
    });
    this.#carrier = new Carrier({
      storage,
      clock,
      outside,
      pollMs,
      news: this.#news,
      noted: ({ topics, due }) => this.#noted(topics, due),
    });
  }

  /**
   * Answers a request.
   *
   * @param {Asked} asked
   * @returns {Promise<Answered>}
   */
  async answer(asked) {
    const { bindings } = this.#core.instance();
    const body = bindings.isWrite(asked.method) ? asked.body : null;
    const coming = new Coming(this.#large, body, this.#announced(asked));
    const exchange = new Exchange(this.#core, this.#clock, { request: this.#request(asked, body) });
    let streams = false;
    try {
      const reply = await this.#reply(exchange, {
        readBody: (bytesMax) => coming.read(bytesMax),
        signal: asked.signal,
      });
      if (reply.stream !== undefined && asked.method !== "HEAD") {
        streams = this.#streams < STREAMS_MAX;
        return streams ? this.#stream(exchange, reply, asked) : answered(this.#unavailable(exchange), asked.method);
      }
      return answered(reply.page === undefined ? reply : await filled(reply, this.#storage), asked.method);
    } finally {
      coming.close();
      if (!streams) exchange.free();
    }
  }

  /**
   * Carries out an input that is no request; what it asks to be sent is left to the caller.
   *
   * @param {Exclude<Input, { request: any }>} input
   * @returns {Promise<Decided>}
   */
  async decide(input) {
    const exchange = new Exchange(this.#core, this.#clock, input);
    try {
      return await this.#carrier.carry(exchange);
    } finally {
      exchange.free();
    }
  }

  /**
   * Does what a step asked for.
   *
   * @param {Work} work
   */
  perform(work) {
    return this.#outside.perform(work);
  }

  /**
   * Makes the owner of an empty store; gives the JSON that shows their secrets once.
   *
   * @returns {Promise<Reply | undefined>}
   */
  async firstStart() {
    return (await this.decide({ firstStart: true })).reply;
  }

  /** Comes back for what was due while nothing ran. */
  start() {
    this.#plan.now();
  }

  /**
   * Does some of what is due; says when to come back, milliseconds since 1970.
   *
   * @returns {Promise<number | null>}
   */
  tick() {
    this.#ticking ??= this.#tick().finally(() => {
      this.#ticking = null;
    });
    return this.#ticking;
  }

  /**
   * These changes were committed by somebody else.
   *
   * @param {Iterable<Change>} changes
   */
  committed(changes) {
    const { bindings } = this.#core.instance();
    for (const change of changes) {
      if (!("put" in change)) continue;
      const topic = bindings.topicOf(change.put);
      this.#noted(topic === undefined ? [] : [topic], bindings.dueOf(change.put));
    }
  }

  /** Ends what waits and what is under way, writes down what is left, and lets go of the store. */
  async close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#news.close();
    this.#outside.close();
    await this.#ticking;
    await Promise.allSettled(this.#background);
    await this.#writeUsed();
    await this.#storage.close?.();
  }

  /**
   * The reply to a request, whatever becomes of it.
   *
   * @param {Exchange} exchange
   * @param {import("./carry.js").Caller} caller
   * @returns {Promise<Reply>}
   */
  async #reply(exchange, caller) {
    if (this.#isClosed) return this.#unavailable(exchange);
    try {
      const { reply, used } = await this.#carrier.carry(exchange, caller);
      if (used !== undefined) this.#note(used);
      return reply ?? this.#broken(exchange);
    } catch (error) {
      if (!(error instanceof Gone || error instanceof Busy)) this.#report(error);
      if (error instanceof Stopped && error.reply !== undefined) return error.reply;
      return error instanceof Broken ? this.#broken(exchange) : this.#unavailable(exchange);
    }
  }

  /** @param {Exchange} exchange */
  #unavailable(exchange) {
    try {
      return exchange.unavailable() ?? UNAVAILABLE;
    } catch {
      return UNAVAILABLE;
    }
  }

  /** @param {Exchange} exchange */
  #broken(exchange) {
    try {
      return exchange.broken() ?? SERVER_ERROR;
    } catch {
      return SERVER_ERROR;
    }
  }

  /**
   * @param {Asked} asked
   * @param {Asked["body"]} body
   */
  #request({ method, target, headers, peer }, body) {
    let head = "";
    for (const [name, value] of headers) {
      if (this.#core.headerNames.has(name)) head += `${name}: ${value}\n`;
    }
    return { method, target, headers: head, peer, body: /** @type {Body} */ (body === null ? null : "pending") };
  }

  /** @param {Asked} asked */
  #announced({ headers }) {
    for (const [name, value] of headers) if (name === "content-length") return Number.parseInt(value, 10);
    return NaN;
  }

  /**
   * @param {Exchange} first
   * @param {Reply} reply
   * @param {Asked} asked
   */
  #stream(first, reply, asked) {
    this.#streams += 1;
    let exchange = first;
    const events = new Events(
      {
        reply,
        signal: asked.signal,
        follow: async (last) => {
          const next = exchange.follow(last);
          exchange.free();
          exchange = next;
          return this.#isClosed ? undefined : (await this.#carrier.carry(next)).reply;
        },
        ended: () => {
          this.#streams -= 1;
          exchange.free();
        },
      },
      { news: this.#news, clock: this.#clock, pollMs: this.#pollMs },
    );
    return answered(reply, asked.method, events.stream());
  }

  async #tick() {
    this.#plan.begin();
    try {
      if (this.#used.at !== null && this.#used.at <= this.#clock.now()) await this.#writeUsed();
      this.#after(await this.decide({ tick: true }));
    } catch (error) {
      this.#report(error);
      this.#plan.noLaterThan(this.#clock.now() + AGAIN_MICROS);
    }
    this.#plan.noLaterThan(this.#used.at);
    this.#plan.end();
    return this.#plan.atMs;
  }

  /** @param {Decided} decided */
  #after({ wake, sends }) {
    this.#plan.noLaterThan(wake);
    for (const send of sends) {
      const carried = this.#carry(send).catch(this.#report);
      this.#background.add(carried);
      this.#waitUntil(carried);
      carried.finally(() => this.#background.delete(carried));
    }
  }

  /**
   * Does what a job asked for, and tells the job. A host that stops tells it nothing: its lease lapses.
   *
   * @param {Send} send
   */
  async #carry({ ticket, work }) {
    if (ticket === undefined || this.#isClosed) return;
    const answer = await this.#outside.perform(work);
    if (this.#isClosed) return;
    this.#after(await this.decide({ answered: { ticket, answer } }));
  }

  /**
   * @param {string[]} topics
   * @param {number | undefined} due
   */
  #noted(topics, due) {
    for (const topic of topics) this.#news.publish(topic);
    this.#plan.noLaterThan(due);
  }

  /** @param {import("./types.d.ts").Credential} credential */
  #note(credential) {
    this.#used.note(credential, this.#clock.now());
    this.#plan.noLaterThan(this.#used.at);
  }

  async #writeUsed() {
    const used = this.#used.take();
    if (used.length === 0) return;
    await this.decide({ used }).catch(this.#report);
  }
}
