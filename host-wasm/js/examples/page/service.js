/**
 * The service of the page: over IndexedDB, with a list in the page as its outside.
 *
 * @typedef {{ apiKey: string, adminToken: string, engineToken?: string, email: string, password: string }} Tokens
 * @typedef {{ method: string, url: string, body: string }} Sent
 */

import { createService } from "./switchboard/index.js";
import { IndexedDbStorage } from "./switchboard/storage/indexeddb.js";

const DATABASE = "switchboard playground";
/** Where the page keeps the credentials of the first start, which the service does not show again. */
const TOKENS = "switchboard playground tokens";
/** Polling interval for changes of another tab, milliseconds. */
const POLL_MS = 1_000;

/**
 * Opens or creates the store of this browser.
 *
 * @param {(sent: Sent) => void} sent called with each request that would have been sent
 */
export async function start(sent) {
  const [wasm, storage] = await Promise.all([
    unpacked(new URL("core.wasm.gz", import.meta.url)),
    IndexedDbStorage.open(DATABASE),
  ]);
  /** @param {string} url @param {{ method: string, body?: Uint8Array }} init */
  const outside = async (url, { method, body }) => {
    sent({ method, url, body: new TextDecoder().decode(body) });
    return new Response('{"ok":true}', { headers: { "content-type": "application/json" } });
  };
  const options = { storage, wasm, fetch: /** @type {any} */ (outside), pollMs: POLL_MS, onFirstStart: keepTokens };
  // When two tabs open a new store, one creates the owner and the other finds the credentials.
  return navigator.locks.request(DATABASE, () => createService(options));
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

/** @returns {Tokens | null} */
export function tokens() {
  return JSON.parse(localStorage.getItem(TOKENS) ?? "null");
}

/** @param {Partial<Tokens>} more */
export function keepTokens(more) {
  localStorage.setItem(TOKENS, JSON.stringify({ ...tokens(), ...more }));
}

/** Deletes the store and the saved tokens. */
export async function forget() {
  await new Promise((resolve, reject) => {
    const request = indexedDB.deleteDatabase(DATABASE);
    request.onsuccess = resolve;
    request.onerror = () => reject(request.error);
  });
  localStorage.removeItem(TOKENS);
}
