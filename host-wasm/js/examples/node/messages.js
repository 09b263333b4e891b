/** Between the messages of `node:http` and the `Request` and `Response` of the Fetch Standard; bodies are streamed. */

import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";

/**
 * The request, cancelled when its client goes away; `null` where it has no place in the Fetch Standard (a method
 * such as TRACE, a host that is none).
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
 * A body as far as somebody reads it. What nobody wants is thrown away as it comes: the answer arrives all the same,
 * and the connection stays. Node ends a request that takes too long.
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
