/**
 * The service of a page: over IndexedDB, with what the page makes of it as its outside.
 *
 * @typedef {{ apiKey: string, adminToken: string, engineToken?: string, email: string, password: string }} Tokens
 * @typedef {{ method: string, url: string, body: string }} Sent
 */

import { createService } from "./switchboard/index.js";
import { IndexedDbStorage } from "./switchboard/storage/indexeddb.js";

/** Polling interval for changes of another tab, milliseconds. */
const POLL_MS = 1_000;

/**
 * Opens or creates a store of this browser.
 *
 * @param {string} store its name
 * @param {(sent: Sent) => void} sent called with each request that would have been sent
 */
export async function start(store, sent) {
  const [wasm, storage] = await Promise.all([
    unpacked(new URL("core.wasm.gz", import.meta.url)),
    IndexedDbStorage.open(store),
  ]);
  /** @param {string} url @param {{ method: string, body?: Uint8Array }} init */
  const outside = async (url, { method, body }) => {
    sent({ method, url, body: new TextDecoder().decode(body) });
    return new Response('{"ok":true}', { headers: { "content-type": "application/json" } });
  };
  const options = {
    storage,
    wasm,
    fetch: /** @type {any} */ (outside),
    extract,
    pollMs: POLL_MS,
    onFirstStart: (/** @type {Tokens} */ shown) => keepTokens(store, shown),
  };
  // When two tabs open a new store, one creates the owner and the other finds the credentials.
  return navigator.locks.request(store, () => createService(options));
}

/**
 * Fetches a compressed file; some servers send it decompressed because of its name.
 *
 * @param {URL} url
 * @returns {Promise<ArrayBuffer>}
 */
async function unpacked(url) {
  const response = await fetch(url);
  if (!response.ok) throw new Error(`${url.pathname} answers ${response.status}`);
  const file = await response.blob();
  const [first, second] = new Uint8Array(await file.slice(0, 2).arrayBuffer());
  if (first !== 0x1f || second !== 0x8b) return file.arrayBuffer();
  return new Response(file.stream().pipeThrough(new DecompressionStream("gzip"))).arrayBuffer();
}

/** Reads text files, the only ones that need no parser. @param {string} form @param {Uint8Array} bytes */
function extract(form, bytes) {
  if (form !== "txt") throw new Error("A page reads text files alone.");
  return { text: new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
}

/** Where a page keeps the credentials of the first start, which the service does not show again. @param {string} store */
const place = (store) => `${store} tokens`;

/** @param {string} store @returns {Tokens | null} */
export function tokens(store) {
  return JSON.parse(localStorage.getItem(place(store)) ?? "null");
}

/** @param {string} store @param {Partial<Tokens>} more */
export function keepTokens(store, more) {
  localStorage.setItem(place(store), JSON.stringify({ ...tokens(store), ...more }));
}

/** Deletes a store and the saved tokens. @param {string} store */
export async function forget(store) {
  await new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase(store);
    request.onsuccess = resolve;
    request.onerror = () => reject(request.error);
  });
  localStorage.removeItem(place(store));
}
