// The one client of the service: every request of the console goes through `request`. It knows tokens, the service's
// error bodies and what to do when a session is over, and nothing of any resource.

import { credentials, expire } from "./session.js";
import { text } from "./text.js";

/** @typedef {Record<string, string | number | boolean | null | undefined | (string | number)[]>} Query */
/** @typedef {{ query?: Query, body?: unknown, headers?: Record<string, string>, signal?: AbortSignal, accept?: string }} Options */

/** Where the service is: beside the folder that this file is in. */
export const ROOT = new URL("..", import.meta.url);

/** An answer other than 2xx, or none. `status` 0: the service could not be reached. */
export class ApiError extends Error {
  /** @param {number} status @param {any} body @param {string | null} [wait] seconds of `Retry-After` */
  constructor(status, body, wait = null) {
    const told = body?.message ?? body?.error;
    super(typeof told === "string" && told ? told : text.errors.status(status));
    this.status = status;
    /** Sentences by dotted field name. @type {Record<string, string[]>} */
    this.errors = body?.errors && typeof body.errors === "object" ? body.errors : {};
    this.wait = wait === null ? null : Number(wait);
  }
}

/** @param {string} path @param {Query} [query] */
export function address(path, query) {
  const url = new URL(
    path.replace(/^\//, ""),
    /^\/(user|conversations|automate)\b/.test(path) ? new URL("api/", ROOT) : ROOT,
  );
  for (const [name, value] of Object.entries(query ?? {})) {
    if (value === undefined || value === null || value === "") continue;
    for (const one of Array.isArray(value) ? value : [value]) url.searchParams.append(name, String(one));
  }
  return url;
}

/** Sends a request and gives the answer as it came, once it is a 2xx. A 401 asks the person to sign in again, and then
 * the request is sent once more; but not where the request says itself who asks.
 * @param {string} method @param {string} path @param {Options} [options] @returns {Promise<Response>} */
export async function send(method, path, options = {}) {
  const response = await once(method, path, options);
  if (response.status === 401 && path !== "/user/login" && !options.headers?.authorization) {
    const told = await read(response);
    if (await expire(path.startsWith("/admin") ? "operator" : "account")) {
      return checked(await once(method, path, options));
    }
    throw new ApiError(401, told);
  }
  return checked(response);
}

/** @param {string} method @param {string} path @param {Options} options */
async function once(method, path, { query, body, headers, signal, accept }) {
  const raw = body instanceof Blob || body instanceof FormData;
  /** @type {Record<string, string>} */
  const all = { accept: accept ?? "application/json", ...credentials(path, method), ...headers };
  if (body !== undefined && !raw) all["content-type"] = "application/json";
  try {
    return await fetch(address(path, query), {
      method,
      headers: all,
      body: body === undefined ? undefined : raw ? /** @type {any} */ (body) : JSON.stringify(body),
      signal,
      cache: "no-store",
    });
  } catch (cause) {
    if (signal?.aborted) throw cause;
    throw new ApiError(0, null);
  }
}

/** @param {Response} response */
async function checked(response) {
  if (response.ok) return response;
  throw new ApiError(response.status, await read(response), response.headers.get("retry-after"));
}

/** @param {Response} response @returns {Promise<any>} */
async function read(response) {
  const body = await response.text();
  try {
    return JSON.parse(body);
  } catch {
    return body;
  }
}

/** The body of the answer. @param {string} method @param {string} path @param {Options} [options] @returns {Promise<any>} */
export async function request(method, path, options) {
  return read(await send(method, path, options));
}

/** @param {string} path @param {Query} [query] @param {AbortSignal} [signal] */
export const get = (path, query, signal) => request("GET", path, { query, signal });
/** Rows of a page, and pages that a whole list may have; the service can tell nothing shorter of some of them. */
const PAGE_ROWS = 100;
const PAGES_MAX = 50;

/** All rows of a list that comes in pages, as one page. `cut` tells that there are even more.
 * @param {string} path @param {Query} [query] @param {AbortSignal} [signal] */
export async function whole(path, query, signal) {
  const page = (/** @type {number} */ at) => get(path, { ...query, per_page: PAGE_ROWS, page: at }, signal);
  const first = await page(1);
  const last = Math.min(first.last_page, PAGES_MAX);
  const rest = await Promise.all(Array.from({ length: Math.max(0, last - 1) }, (_, at) => page(at + 2)));
  return { data: [first, ...rest].flatMap(({ data }) => data), cut: first.last_page > PAGES_MAX };
}

/** @param {string} path @param {unknown} [body] @param {Options} [options] */
export const post = (path, body = {}, options = {}) => request("POST", path, { ...options, body });

/** Keys of what was to be made and not answered, by what was sent. @type {Map<string, string>} */
const unanswered = new Map();

/** Makes something, and makes it once: after an answer that got lost, the same path, query and body carry the key of the
 * first try, by which the service knows that it did this already. An answer ends that.
 * @param {string} path @param {unknown} [body] JSON or a file @param {Options} [options] */
export async function create(path, body = {}, options = {}) {
  const sent = body instanceof File ? [body.name, body.size, body.lastModified] : body;
  const tried = JSON.stringify([path, options.query, sent]);
  const key = unanswered.get(tried) ?? [...crypto.getRandomValues(new Uint32Array(4))].join("-");
  unanswered.set(tried, key);
  try {
    const answer = await post(path, body, { ...options, headers: { ...options.headers, "idempotency-key": key } });
    unanswered.delete(tried);
    return answer;
  } catch (error) {
    // 409: the first try still runs, or was carried out.
    const status = error instanceof ApiError ? error.status : 0;
    if (status >= 400 && status < 500 && status !== 409) unanswered.delete(tried);
    throw error;
  }
}

/** @param {string} path @param {unknown} body @param {Options} [options] */
export const put = (path, body, options = {}) => request("PUT", path, { ...options, body });
/** @param {string} path @param {unknown} body @param {Options} [options] */
export const patch = (path, body, options = {}) => request("PATCH", path, { ...options, body });
/** @param {string} path */
export const remove = (path) => request("DELETE", path);

/** Saves what a path answers as a file: the token goes in a header, which a plain link cannot carry.
 * @param {string} path @param {{ query?: Query, accept: string, name: string }} options */
export async function download(path, { query, accept, name }) {
  const response = await send("GET", path, { query, accept });
  save(await response.blob(), name);
}

/** Has the browser save a file. @param {Blob} file @param {string} name */
export function save(file, name) {
  const link = document.createElement("a");
  link.href = URL.createObjectURL(file);
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 60_000);
}
