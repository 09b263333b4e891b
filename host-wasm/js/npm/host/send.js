/**
 * {@link Sender}: outgoing HTTP requests, by `fetch`. URLs that users chose pass the core's filter before each hop; no
 * cookies and no credentials of this program are sent along.
 *
 * @import { Answer, Http, HttpAnswer } from "./types.d.ts"
 * @import { Clock } from "./clock.js"
 * @import { Core } from "./core.js"
 * @typedef {(name: string) => Promise<string[]> | string[]} Resolve the IP addresses of a host name
 */

import { readBytes } from "./body.js";
import { byteString } from "./text.js";

/** Redirects followed for one request. */
const REDIRECTS_MAX = 3;
/** A browser sends its cookies and its address unless told not to; some other platforms reject unknown options. */
const OPTIONS = Object.fromEntries(
  Object.entries({ credentials: "omit", referrerPolicy: "no-referrer" }).filter(([name]) => name in Request.prototype),
);
/** The address of a name that leads to this machine (RFC 6761, section 6.3). */
const LOOPBACK = "127.0.0.1";

/** The address must not be reached. */
class Refused extends Error {}

/** One hop of a request, the first or a redirect's. @typedef {{ url: URL, method: string, body: Uint8Array }} Hop */

export class Sender {
  #core;
  #clock;
  #fetch;
  #resolve;
  /** @type {Set<AbortController>} */
  #underWay = new Set();

  /**
   * @param {object} means
   * @param {Core} means.core
   * @param {Clock} means.clock
   * @param {typeof globalThis.fetch} means.fetch
   * @param {Resolve} [means.resolve]
   */
  constructor({ core, clock, fetch, resolve }) {
    this.#core = core;
    this.#clock = clock;
    this.#fetch = fetch;
    this.#resolve = resolve;
  }

  /**
   * Sends a request and reads its answer; never rejects.
   *
   * @param {Http} work
   * @returns {Promise<Answer>}
   */
  async send(work) {
    const stop = new AbortController();
    let late = false;
    const deadline = setTimeout(() => {
      late = true;
      stop.abort();
    }, work.timeoutMs);
    this.#underWay.add(stop);
    try {
      // A `fetch` that ignores its signal is not waited for any longer than one that heeds it.
      return await Promise.race([this.#exchange(work, stop.signal), aborted(stop.signal)]);
    } catch (error) {
      if (error instanceof Refused) return { kind: "failed", error: "refused" };
      return { kind: "failed", error: late ? "timed-out" : "unreachable" };
    } finally {
      this.#underWay.delete(stop);
      clearTimeout(deadline);
    }
  }

  /** Aborts the requests in progress. */
  close() {
    this.#underWay.forEach((stop) => stop.abort());
  }

  /**
   * @param {Http} work
   * @param {AbortSignal} signal
   * @returns {Promise<HttpAnswer>}
   */
  async #exchange(work, signal) {
    const began = this.#clock.now();
    /** @type {Hop} */
    let hop = { url: parsed(work.url), method: work.method, body: work.body };
    let response = await this.#one(work, hop, signal);
    for (let hops = 0; hops < REDIRECTS_MAX; hops++) {
      const next = followed(work, hop, response);
      if (next === null) break;
      response.body?.cancel().catch(() => {});
      hop = next;
      response = await this.#one(work, hop, signal);
    }
    const { bytes, cut } = await read(response, work.replyBytesMax);
    const durationMs = Math.floor((this.#clock.now() - began) / 1000);
    return { kind: "http", status: response.status, headers: headersOf(response), body: bytes, cut, durationMs };
  }

  /**
   * @param {Http} work
   * @param {Hop} hop
   * @param {AbortSignal} signal
   */
  async #one(work, { url, method, body }, signal) {
    if (work.egress === "user") await this.#judge(url);
    const headers = new Headers();
    for (const [name, value] of work.headers) headers.append(name, byteString(value));
    const target = bare(url, headers);
    const response = await this.#fetch.call(globalThis, target, {
      ...OPTIONS,
      method,
      headers,
      body: body.length > 0 ? /** @type {Uint8Array<ArrayBuffer>} */ (body) : undefined,
      redirect: "manual",
      signal,
    });
    // A browser hides redirects, so the rules for them cannot be applied.
    if (response.type === "opaqueredirect") throw new Error("a redirect that cannot be seen");
    return response;
  }

  /**
   * Throws unless the address, and every address of a name, may be reached. Without a resolver only names of this
   * machine are known to resolve.
   *
   * @param {URL} url
   */
  async #judge({ protocol, hostname }) {
    if (protocol !== "http:" && protocol !== "https:") throw new Refused();
    const name = hostname.replace(/^\[|\]$/g, "");
    const { service } = this.#core.instance();
    let open = service.allows(name);
    if (open === undefined) {
      const addresses = /(^|\.)localhost\.?$/.test(name) ? [LOOPBACK] : await this.#resolve?.(name);
      open = addresses === undefined || (addresses.length > 0 && addresses.every((one) => service.allows(one)));
    }
    if (!open) throw new Refused();
  }
}

/** @param {string} url */
function parsed(url) {
  try {
    return new URL(url);
  } catch {
    throw new Refused();
  }
}

/**
 * Returns the URL without its user name and password, which move to a header (RFC 7617).
 *
 * @param {URL} url
 * @param {Headers} headers
 */
function bare(url, headers) {
  if (url.username === "" && url.password === "") return url.href;
  const target = new URL(url);
  target.username = target.password = "";
  const [user, password] = [url.username, url.password].map((part) => byteString(decodeURIComponent(part)));
  if (!headers.has("authorization")) headers.set("authorization", `Basic ${btoa(`${user}:${password}`)}`);
  return target.href;
}

/**
 * Returns the next hop of a redirect, or `null` if the request does not follow it.
 *
 * @param {Http} work
 * @param {Hop} hop
 * @param {Response} response
 * @returns {Hop | null}
 */
function followed(work, { url, method, body }, response) {
  const location = response.headers.get("location");
  if (response.status < 300 || response.status > 399 || location === null || !URL.canParse(location, url)) return null;
  const next = new URL(location, url);
  const follows = {
    none: false,
    "same-origin": next.origin === url.origin,
    any: next.protocol === "http:" || next.protocol === "https:",
  };
  if (!follows[work.redirects]) return null;
  const asGet = response.status === 303 && method !== "HEAD";
  return asGet ? { url: next, method: "GET", body: new Uint8Array() } : { url: next, method, body };
}

/**
 * @param {Response} response
 * @param {number} bytesMax
 */
async function read(response, bytesMax) {
  if (response.body === null) return { bytes: new Uint8Array(), cut: false };
  return readBytes(response.body.getReader(), bytesMax);
}

/**
 * Returns names in lower case with their values, where these are text.
 *
 * @param {Response} response
 */
function headersOf(response) {
  /** @type {Map<string, string>} */
  const headers = new Map();
  for (const [name, value] of response.headers) {
    if (!/^[\x20-\x7e\t]*$/.test(value)) continue;
    const before = headers.get(name);
    headers.set(name, before === undefined ? value : `${before}, ${value}`);
  }
  return [...headers];
}

/**
 * @param {AbortSignal} signal
 * @returns {Promise<never>}
 */
function aborted(signal) {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason)));
}
