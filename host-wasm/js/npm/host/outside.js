/**
 * {@link Outside}: the work that steps ask for: HTTP requests, password hashes, and text extraction.
 *
 * @import { Answer, Extracted, Form, Password, Work } from "./types.d.ts"
 * @import { Clock } from "./clock.js"
 * @import { Core } from "./core.js"
 * @import { Resolve } from "./send.js"
 * @typedef {(form: Form, bytes: Uint8Array) => Promise<Extracted> | Extracted} Extract
 */

import { Busy } from "./faults.js";
import { Sender } from "./send.js";
import { Slots } from "./slots.js";

/** Requests in progress at once, and how many more may wait: more than the leases of a few accounts. */
const SENDS_MAX = 64;
const SENDS_WAITING_MAX = 4096;
/** Password hashes that may wait: each takes 1/20 s. */
const HASHES_WAITING_MAX = 256;
/** Files extracted at once, and how many more may wait. */
const FILES_MAX = 2;
const FILES_WAITING_MAX = 256;

/** @type {Record<Form, string>} */
const FORMS = { pdf: "PDF files", docx: "Word files", txt: "text files", html: "web pages" };

/** @type {Answer} */
const UNREACHABLE = { kind: "failed", error: "unreachable" };

export class Outside {
  #core;
  #sender;
  #extract;
  #sends = new Slots(SENDS_MAX, SENDS_WAITING_MAX);
  #hashes = new Slots(1, HASHES_WAITING_MAX);
  #files = new Slots(FILES_MAX, FILES_WAITING_MAX);

  /**
   * @param {object} means
   * @param {Core} means.core
   * @param {Clock} means.clock
   * @param {typeof globalThis.fetch} means.fetch
   * @param {Resolve} [means.resolve]
   * @param {Extract} [means.extract]
   */
  constructor({ core, clock, fetch, resolve, extract }) {
    this.#core = core;
    this.#sender = new Sender({ core, clock, fetch, resolve });
    this.#extract = extract;
  }

  /**
   * Performs one work and returns its answer; never rejects.
   *
   * @param {Work} work
   * @returns {Promise<Answer>}
   */
  async perform(work) {
    if (work.kind === "yield") return { kind: "yielded" };
    const [slots, act] = this.#plan(work);
    try {
      await slots.enter();
    } catch (error) {
      if (error instanceof Busy) return UNREACHABLE;
      throw error;
    }
    try {
      return await act();
    } finally {
      slots.leave();
    }
  }

  /** Aborts the requests in progress. */
  close() {
    this.#sender.close();
  }

  /**
   * @param {Exclude<Work, { kind: "yield" }>} work
   * @returns {[Slots, () => Promise<Answer>]}
   */
  #plan(work) {
    if (work.kind === "http") return [this.#sends, () => this.#sender.send(work)];
    if (work.kind === "extract") return [this.#files, () => this.#read(work.form, work.bytes)];
    return [this.#hashes, () => this.#hash(work)];
  }

  /**
   * @param {Password} work
   * @returns {Promise<Answer>}
   */
  async #hash(work) {
    // Yields between two hashes, so that other work gets its turn.
    await new Promise((resolve) => setTimeout(resolve, 0));
    const instance = this.#core.instance();
    try {
      return instance.bindings.perform(work) ?? UNREACHABLE;
    } catch {
      this.#core.drop(instance);
      return UNREACHABLE;
    }
  }

  /**
   * @param {Form} form
   * @param {Uint8Array} bytes
   * @returns {Promise<Answer>}
   */
  async #read(form, bytes) {
    if (this.#extract === undefined) return { kind: "unreadable", reason: `This host reads no ${FORMS[form]}.` };
    try {
      const { title = null, text, links = [], baseHref = null, noindex = false } = await this.#extract(form, bytes);
      if (typeof text !== "string") throw new Error();
      return { kind: "extracted", title, text, links, baseHref, noindex };
    } catch (error) {
      const reason = error instanceof Error ? error.message : "";
      return { kind: "unreadable", reason: reason || "This file could not be read." };
    }
  }
}
