/**
 * Converts between messages of `node:http` and the `Request` and `Response` of the Fetch Standard; bodies are streamed.
 */

import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/**
 * Converts a request, which is aborted when its client disconnects; `null` where the Fetch Standard does not allow it
 * (a method such as TRACE, an invalid host).
 *
 * @param {import("node:http").IncomingMessage} incoming
 * @param {import("node:http").ServerResponse} outgoing
 * @returns {Request | null}
 */
export function requestOf(incoming, outgoing) {
  const { method = "GET", url = "/", headers, rawHeaders } = incoming;
  const gone = new AbortController();
  outgoing.on("close", () => gone.abort());
  /** @type {[string, string][]} */
  const pairs = [];
  for (let at = 0; at < rawHeaders.length; at += 2) pairs.push([rawHeaders[at], rawHeaders[at + 1]]);
  const hasBody = "content-length" in headers || "transfer-encoding" in headers;
  const body = hasBody && method !== "GET" && method !== "HEAD" ? bodyOf(incoming) : null;
  const target = url.startsWith("/") ? `http://${headers.host ?? "localhost"}${url}` : url;
  const init = { method, headers: pairs, body, signal: gone.signal, duplex: "half" };
  try {
    return new Request(target, /** @type {RequestInit} */ (init));
  } catch {
    return null;
  }
}

/**
 * Streams a body only as far as it is read. The rest is discarded as it arrives: the client still gets the answer, and
 * the connection stays open. Node ends a request that takes too long.
 *
 * @param {import("node:http").IncomingMessage} incoming
 * @returns {ReadableStream<Uint8Array>}
 */
function bodyOf(incoming) {
  const chunks = incoming.iterator({ destroyOnReturn: false });
  return new ReadableStream({
    async pull(controller) {
      const { done, value } = await chunks.next();
      if (done) controller.close();
      else controller.enqueue(value);
    },
    async cancel() {
      await chunks.return?.();
      incoming.resume();
    },
  }, { highWaterMark: 0 });
}

/**
 * @param {Response} response
 * @param {import("node:http").ServerResponse} outgoing
 */
export async function sendResponse({ status, headers, body }, outgoing) {
  outgoing.writeHead(status, [...headers].flat());
  if (body === null) outgoing.end();
  else await pipeline(Readable.fromWeb(/** @type {any} */ (body)), outgoing);
}
