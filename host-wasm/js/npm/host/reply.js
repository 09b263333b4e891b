/**
 * Replies with all their headers, as the native host sends them.
 *
 * @import { Answered, Reply } from "./types.d.ts"
 */

import { byteString } from "./text.js";

/** The answer when even the core cannot report an error. @type {Reply} */
export const SERVER_ERROR = jsonReply(500, { message: "Server Error", request_id: "" });
/** The answer when the core cannot report that it is unavailable. @type {Reply} */
export const UNAVAILABLE = {
  ...jsonReply(503, { message: "The service is not available right now." }),
  headers: "retry-after: 1\n",
};

/**
 * Creates a JSON reply of the host's own.
 *
 * @param {number} status
 * @param {object} body
 * @returns {Reply}
 */
export function jsonReply(status, body) {
  return { status, headers: "", media: "application/json", body: new TextEncoder().encode(JSON.stringify(body)) };
}

/**
 * Frames a reply for sending: `HEAD` announces the length its body would have, 204 and 304 have no body (RFC 9110
 * section 8.6).
 *
 * @param {Reply} reply
 * @param {string} method of the request
 * @param {ReadableStream<Uint8Array>} [stream] the body of an event stream
 * @returns {Answered}
 */
export function answered(reply, method, stream) {
  const { status, body } = reply;
  const goesOn = reply.stream !== undefined;
  const media = goesOn ? "text/event-stream" : reply.media;
  const headers = new Map();
  if (media !== undefined) headers.set("content-type", media);
  headers.set("x-content-type-options", "nosniff");
  for (const line of reply.headers.split("\n")) {
    const at = line.indexOf(": ");
    if (at > 0) headers.set(line.slice(0, at), byteString(line.slice(at + 2)));
  }
  const isEmpty = status === 204 || status === 304;
  if (!goesOn && !isEmpty && !headers.has("content-length")) {
    headers.set("content-length", String(body?.length ?? 0));
  }
  const shown = isEmpty || method === "HEAD" ? null : (stream ?? body ?? null);
  return { status, headers: [...headers], body: shown };
}

/**
 * @param {Answered} answer
 * @returns {Response}
 */
export function responseOf({ status, headers, body }) {
  return new Response(/** @type {BodyInit | null} */ (body), { status, headers });
}
