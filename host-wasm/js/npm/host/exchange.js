/**
 * {@link Exchange}: one input in progress, with everything that a new instance of the core needs to continue it. A step
 * is replayed from its start each time, so a dropped instance loses nothing but its unfinished output.
 *
 * @import { Answer, Bindings, Course, Event, Input, Next, Reply } from "./types.d.ts"
 * @import { Clock } from "./clock.js"
 * @import { Core, Instance } from "./core.js"
 */

import { Broken, Lost } from "./faults.js";

/** Largest body kept for replay on another instance, bytes. */
const KEPT_BODY_BYTES_MAX = 1 << 20;

export class Exchange {
  #core;
  #clock;
  #input;
  #seed;
  /** @type {Answer[]} */
  #answers = [];
  /** @type {Instance | null} */
  #instance = null;
  /** @type {Course | null} */
  #course = null;
  #canReopen = true;
  #isCareful;

  /** Latest picture of this run, from the storage. @type {unknown} */
  picture = undefined;

  /**
   * @param {Core} core
   * @param {Clock} clock
   * @param {Input} input
   * @param {boolean} [isCareful] whether tasks that may never finish are marked in a commit before they begin
   */
  constructor(core, clock, input, isCareful = false) {
    this.#core = core;
    this.#clock = clock;
    this.#input = input;
    this.#seed = clock.seed();
    this.#isCareful = isCareful;
  }

  /** Whether it is a request, rather than the service's own work. */
  get isRequest() {
    return "request" in this.#input;
  }

  /**
   * Continues after `event`.
   *
   * @param {Event} event
   * @returns {Next}
   */
  next(event) {
    this.#remember(event);
    const instance = this.#core.instance();
    if (this.#course === null || this.#instance !== instance) {
      if (event === "committed" || !this.#canReopen) throw new Lost("its instance was given up");
      this.#reopen(instance);
      event = "begin";
    }
    return this.#guarded(instance, (course) => course.next(instance.service, event, this.#clock.now()));
  }

  /** Returns the answer to a request when the store fails, or too many requests wait. */
  unavailable() {
    return this.#reply((course) => course.unavailable());
  }

  /** Returns the answer to a request when its step panicked. */
  broken() {
    return this.#reply((course) => course.broken());
  }

  /**
   * Creates an exchange that repeats the request for the part of its stream after event `last`.
   *
   * @param {number} last
   */
  follow(last) {
    if (!("request" in this.#input)) throw new TypeError("only a request has a stream");
    const { request } = this.#input;
    const kept = request.headers.split("\n").filter((line) => line !== "" && !line.startsWith("last-event-id:"));
    const headers = [...kept, `last-event-id: ${last}`, ""].join("\n");
    const next = new Exchange(this.#core, this.#clock, { request: { ...request, headers } });
    const instance = this.#instance;
    if (this.#course !== null && instance !== null && this.#core.holds(instance)) {
      // The rate limit was charged for the first request: its decision is reused.
      const follow = (/** @type {Course} */ course) => course.follow(last, this.#clock.now(), next.#seed);
      next.#course = this.#guarded(instance, follow) ?? null;
      next.#instance = instance;
    }
    return next;
  }

  /** Ends the exchange and frees its course. */
  free() {
    // The memory of a dropped instance is freed as a whole.
    if (this.#core.holds(this.#instance)) this.#course?.free();
    this.#course = null;
  }

  /** @param {Event} event */
  #remember(event) {
    if (event === "elapsed" || event === "yielded") this.#answers.push({ kind: event });
    if (typeof event === "string") {
      if (event !== "committed") this.picture = undefined;
    } else if ("answers" in event) {
      this.#answers.push(...event.answers);
      this.picture = undefined;
    } else if ("body" in event && "request" in this.#input) {
      const { body } = event;
      this.#canReopen = !(body instanceof Uint8Array) || body.length <= KEPT_BODY_BYTES_MAX;
      this.#input.request.body = this.#canReopen ? body : "cut";
    }
  }

  /** @param {Instance} instance */
  #reopen(instance) {
    this.picture = undefined;
    this.#instance = instance;
    this.#course = null;
    this.#course = this.#guarded(instance, () => this.#open(instance.bindings));
    if (this.#isCareful) this.#course.careful();
  }

  /**
   * @param {Bindings} bindings
   * @returns {Course}
   */
  #open({ Course }) {
    const input = this.#input;
    const [now, seed] = [this.#clock.now(), this.#seed];
    if ("request" in input) return Course.http(input.request, this.#answers, now, seed);
    if ("answered" in input) return Course.answered(input.answered.ticket, input.answered.answer, now, seed);
    if ("used" in input) return Course.used(input.used, now, seed);
    return "tick" in input ? Course.tick(now, seed) : Course.firstStart(this.#answers, now, seed);
  }

  /**
   * @param {(course: Course) => Reply | undefined} ask
   * @returns {Reply | undefined}
   */
  #reply(ask) {
    if (!this.isRequest) return undefined;
    const instance = this.#core.instance();
    if (this.#course === null || this.#instance !== instance) this.#reopen(instance);
    return this.#guarded(instance, ask);
  }

  /**
   * Runs `act`; an exception out of WebAssembly leaves the instance in an unknown state, so it is dropped.
   *
   * @template T
   * @param {Instance} instance
   * @param {(course: Course) => T} act
   * @returns {T}
   */
  #guarded(instance, act) {
    try {
      return act(/** @type {Course} */ (this.#course));
    } catch (cause) {
      this.#core.drop(instance);
      throw new Broken("a step panicked", { cause });
    }
  }
}
