/**
 * Converts a `Request` of the Fetch Standard for the host.
 *
 * @import { Asked } from "./types.d.ts"
 */

/**
 * @param {Request} request
 * @param {string} [peer] IP address of the other end
 * @returns {Asked}
 */
export function asked(request, peer) {
  const { method, url, signal } = request;
  const authority = url.indexOf("//") + 2;
  const begin = url.indexOf("/", authority);
  const target = url.slice(begin).split("#", 1)[0];
  /** @type {[string, string][]} */
  const headers = [...request.headers];
  // Not every platform shows the `Host` header; it is restored from the URL.
  if (!request.headers.has("host")) headers.push(["host", url.slice(authority, begin)]);
  return { method, target, headers, body: bodyOf(request), peer, signal };
}

/**
 * @param {Request} request
 * @returns {ReadableStream<Uint8Array> | null}
 */
function bodyOf(request) {
  // Some browsers do not expose the body of a request that they made themselves.
  if (request.body !== undefined || request.method === "GET" || request.method === "HEAD") return request.body ?? null;
  return new ReadableStream({
    async start(controller) {
      const bytes = new Uint8Array(await request.arrayBuffer());
      if (bytes.length > 0) controller.enqueue(bytes);
      controller.close();
    },
  });
}
