/**
 * {@link Host}: a running service. It answers requests, does durable work when it is due, and holds no state that it
 * cannot lose: what counts is in the store.
 *
 * @import { Change, Storage } from "../storage/storage.d.ts"
 * @import { Answered, Asked, Body, Commit, Decided, Own, Reply, Work } from "./types.d.ts"
 * @import { Caller } from "./carry.js"
 * @import { Clock } from "./clock.js"
 * @import { Core } from "./core.js"
 * @import { Outside } from "./outside.js"
 */

import { Coming, largeBodies } from "./body.js";
import { Carrier } from "./carry.js";
import { Exchange } from "./exchange.js";
import { Broken, Busy, Gone, Stopped } from "./faults.js";
import { Jobs } from "./jobs.js";
import { News } from "./news.js";
import { filled } from "./pages.js";
import { SERVER_ERROR, UNAVAILABLE, answered } from "./reply.js";
import { Events } from "./stream.js";

/** Event streams open at once. */
const STREAMS_MAX = 4096;
/** How long a stop waits for running requests, milliseconds. */
const STOP_MS = 10_000;

export class Host {
  #core;
  #storage;
  #clock;
  #outside;
  #carrier;
  #news;
  #jobs;
  #report;
  #pollMs;
  #large = largeBodies();
  #streams = 0;
  #answering = 0;
  #isClosed = false;
  /** Called when the last running request was answered. */
  #whenIdle = () => {};

  /**
   * @param {object} means
   * @param {Core} means.core
   * @param {Storage<any>} means.storage
   * @param {Clock} means.clock
   * @param {Outside} means.outside
   * @param {(atMs: number | null) => void} means.schedule
   * @param {(error: unknown) => void} means.report
   * @param {(work: Promise<unknown>) => void} means.waitUntil
   * @param {number} means.pollMs polling interval of those who wait, without news
   */
  constructor({ core, storage, clock, outside, schedule, report, waitUntil, pollMs }) {
    this.#core = core;
    this.#storage = storage;
    this.#clock = clock;
    this.#outside = outside;
    this.#report = report;
    this.#pollMs = pollMs;
    this.#news = new News(clock);
    const decide = (/** @type {Own} */ input, /** @type {boolean} */ isCareful) => this.decide(input, isCareful);
    this.#jobs = new Jobs({ clock, outside, decide, schedule, report, waitUntil });
    const noted = (/** @type {Pick<Commit, "topics" | "due">} */ commit) => this.#noted(commit);
    this.#carrier = new Carrier({ storage, clock, outside, pollMs, noted, news: this.#news });
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
    const input = { request: this.#request(asked, body) };
    const exchange = new Exchange(this.#core, this.#clock, input, this.#jobs.isCareful);
    const readBody = (/** @type {number} */ bytesMax) => coming.read(bytesMax);
    let streams = false;
    this.#answering += 1;
    try {
      const reply = await this.#reply(exchange, { readBody, signal: asked.signal });
      if (reply.stream !== undefined && asked.method !== "HEAD") {
        streams = this.#streams < STREAMS_MAX;
        return streams ? this.#stream(exchange, reply, asked) : answered(this.#unavailable(exchange), asked.method);
      }
      return answered(reply.page === undefined ? reply : await filled(reply, this.#storage), asked.method);
    } finally {
      coming.close();
      if (!streams) exchange.free();
      this.#answering -= 1;
      if (this.#answering === 0) this.#whenIdle();
    }
  }

  /**
   * Executes an input that is not a request; its sends are left to the caller.
   *
   * @param {Own} input
   * @param {boolean} [isCareful] whether tasks that may never finish are marked in a commit before they begin
   * @returns {Promise<Decided>}
   */
  async decide(input, isCareful = false) {
    const exchange = new Exchange(this.#core, this.#clock, input, isCareful);
    try {
      return await this.#carrier.carry(exchange);
    } finally {
      exchange.free();
    }
  }

  /**
   * Performs the work of a send.
   *
   * @param {Work} work
   */
  perform(work) {
    return this.#outside.perform(work);
  }

  /**
   * Creates the owner of an empty store; returns the JSON with their credentials, once.
   *
   * @returns {Promise<Reply | undefined>}
   */
  async firstStart() {
    return (await this.decide({ firstStart: true })).reply;
  }

  /** Schedules a tick for work that fell due while the service was not running. */
  start() {
    this.#jobs.start();
  }

  /** Runs a batch of due work; returns when to call again, milliseconds since 1970. */
  tick() {
    return this.#jobs.tick();
  }

  /**
   * Reports changes that another process committed to the store.
   *
   * @param {Iterable<Change>} changes
   */
  committed(changes) {
    const { bindings } = this.#core.instance();
    for (const change of changes) {
      if (!("put" in change)) continue;
      const topic = bindings.topicOf(change.put);
      this.#noted({ topics: topic === undefined ? [] : [topic], due: bindings.dueOf(change.put) });
    }
  }

  /** Ends waiting and running requests, commits what is left, and closes the storage. */
  async close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#news.close();
    this.#outside.close();
    await this.#jobs.close();
    await this.#idle();
    await this.#storage.close?.();
  }

  /** Waits until all requests are answered, at most `STOP_MS`. */
  async #idle() {
    if (this.#answering === 0) return;
    await new Promise((resolve) => {
      const deadline = setTimeout(resolve, STOP_MS);
      this.#whenIdle = () => {
        clearTimeout(deadline);
        resolve(undefined);
      };
    });
  }

  /**
   * Returns the reply to a request, also when it fails.
   *
   * @param {Exchange} exchange
   * @param {Caller} caller
   * @returns {Promise<Reply>}
   */
  async #reply(exchange, caller) {
    if (this.#isClosed) return this.#unavailable(exchange);
    try {
      const { reply, used } = await this.#carrier.carry(exchange, caller);
      if (used !== undefined) this.#jobs.used(used);
      return reply ?? this.#broken(exchange);
    } catch (error) {
      if (!(error instanceof Gone || error instanceof Busy)) this.#report(error);
      if (error instanceof Broken) this.#jobs.takeCare();
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
      // A value must stay on one line of the head, whatever the request was built from.
      if (this.#core.headerNames.has(name)) head += `${name}: ${value.replace(/[\r\n]/g, " ")}\n`;
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

  /** @param {Pick<Commit, "topics" | "due">} commit */
  #noted({ topics, due }) {
    for (const topic of topics) this.#news.publish(topic);
    this.#jobs.noted(due);
  }
}
