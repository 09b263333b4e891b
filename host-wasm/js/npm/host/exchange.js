/**
 * {@link Exchange}: one input on its way, with all that a new instance of the core needs to go on with it. A step
 * runs from its start each time, so an instance that is given up takes nothing with it but what it was about to
 * say.
 *
 * @import { Answer, Bindings, Course, Event, Input, Next, Reply } from "./types.d.ts"
 * @import { Clock } from "./clock.js"
 * @import { Core, Instance } from "./core.js"
 */

import { Broken, Lost } from "./faults.js";

/** The longest body that is kept for another instance, bytes. */
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

  /** What the storage gave last in this run. @type {unknown} */
  picture = undefined;

  /**
   * @param {Core} core
   * @param {Clock} clock
   * @param {Input} input
   * @param {boolean} [isCareful] whether what may come to no end is marked before it is begun
   */
  constructor(core, clock, input, isCareful = false) {
    this.#core = core;
    this.#clock = clock;
    this.#input = input;
    this.#seed = clock.seed();
    this.#isCareful = isCareful;
  }

  /** Whether it is a request, rather than work of the service's own. */
  get isRequest() {
    return "request" in this.#input;
  }

  /**
   * Goes on after `event`.
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

  /** The answer to a request when the store fails, or too many wait. */
  unavailable() {
    return this.#reply((course) => course.unavailable());
  }

  /** The answer to a request when its step panicked. */
  broken() {
    return this.#reply((course) => course.broken());
  }

  /**
   * The same request, asked again for what of its stream came after event `last`.
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
      // What the rate limit said once stays said.
      const follow = (/** @type {Course} */ course) => course.follow(last, this.#clock.now(), next.#seed);
      next.#course = this.#guarded(instance, follow) ?? null;
      next.#instance = instance;
    }
    return next;
  }

  /** Nothing more is asked of it. */
  free() {
    // The memory of an instance that was given up goes as a whole.
    if (this.#core.holds(this.#instance)) this.#course?.free();
    this.#course = null;
  }

  /** @param {Event} event */
  #remember(event) {
    if (event === "elapsed") this.#answers.push({ kind: "elapsed" });
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
   * Whatever comes out of WebAssembly as an exception leaves the instance in an unknown state.
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
