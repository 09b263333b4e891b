/**
 * {@link Egress}: outgoing requests for Node and Deno that reach only checked addresses.
 *
 * The service checks the addresses that `resolve` returns for a name which a user chose. A plain `fetch` resolves the
 * name once more, and its owner may then answer differently (DNS rebinding): with it the egress filter blocks addresses
 * and honest names, no more. This `fetch` connects to the very addresses that were checked, over a connection of its
 * own, so the filter holds. It does all that the service needs of a `fetch`: no redirects followed, no cookies, no
 * compression.
 *
 * @typedef {{ address: string, family: number }} Address
 */

import { lookup as lookUp } from "node:dns/promises";
import { request as requestHttp } from "node:http";
import { request as requestHttps } from "node:https";
import { Readable } from "node:stream";

/** How long a checked name keeps its addresses, milliseconds: longer than the time between check and connection. */
const KEPT_MS = 10_000;
/** Names cached at once; further ones are not resolved. */
const NAMES_MAX = 4_096;
/** Statuses whose answers have no body (Fetch Standard). */
const WITHOUT_BODY = [204, 205, 304];

export class Egress {
  /** Addresses by name. An entry is immutable: all requests to a name see the same. @type {Map<string, Address[]>} */
  #kept = new Map();
  #lookUp;

  /** @param {(name: string, options: { all: true }) => Promise<Address[]>} [lookUpName] for tests */
  constructor(lookUpName = lookUp) {
    this.#lookUp = lookUpName;
  }

  /**
   * Resolves a name to the addresses to be checked.
   *
   * @param {string} name
   */
  resolve = async (name) => {
    if (this.#kept.size >= NAMES_MAX) throw new Error("too many names at once");
    const found = this.#kept.get(name) ?? await this.#lookUp(name, { all: true });
    if (!this.#kept.has(name)) {
      this.#kept.set(name, found);
      setTimeout(() => this.#kept.delete(name), KEPT_MS).unref();
    }
    return (this.#kept.get(name) ?? found).map(({ address }) => address);
  };

  /**
   * Sends a request to the checked addresses of its name; names that the operator chose are not checked, and are
   * resolved here.
   *
   * @param {string} target
   * @param {{ method: string, headers: Headers, body?: Uint8Array, signal: AbortSignal }} init
   * @returns {Promise<Response>}
   */
  fetch = (target, { method, headers, body, signal }) =>
    new Promise((resolve, reject) => {
      const url = new URL(target);
      const send = url.protocol === "https:" ? requestHttps : requestHttp;
      const kept = this.#kept.get(url.hostname);
      const asked = { ...Object.fromEntries(headers), "accept-encoding": "identity" };
      const options = { method, headers: asked, signal, agent: false };
      const request = send(url, kept === undefined ? options : { ...options, lookup: fixed(kept) }, (incoming) => {
        try {
          resolve(responseOf(incoming));
        } catch (error) {
          incoming.destroy();
          reject(error);
        }
      });
      request.on("error", reject).end(body);
    });
}

/**
 * Returns a lookup function with a fixed result.
 *
 * @param {Address[]} addresses
 * @returns {typeof import("node:dns").lookup}
 */
function fixed(addresses) {
  /** @param {string} _ @param {{ all?: boolean }} options @param {Function} done */
  const answer = (_, { all }, done) =>
    all ? done(null, addresses) : done(null, addresses[0].address, addresses[0].family);
  return /** @type {any} */ (answer);
}

/** @param {import("node:http").IncomingMessage} incoming */
function responseOf(incoming) {
  const status = incoming.statusCode ?? 0;
  const headers = new Headers();
  for (const [name, values = []] of Object.entries(incoming.headersDistinct)) {
    values.forEach((value) => headers.append(name, value));
  }
  if (!WITHOUT_BODY.includes(status)) {
    return new Response(/** @type {ReadableStream} */ (Readable.toWeb(incoming)), { status, headers });
  }
  incoming.resume();
  return new Response(null, { status, headers });
}
