/**
 * A `Request` of the Fetch Standard, as a host takes it.
 *
 * @import { Asked } from "./types.d.ts"
 */

/**
 * @param {Request} request
 * @param {string} [peer] the IP address at the other end
 * @returns {Asked}
 */
export function asked(request, peer) {
  const { method, url, signal } = request;
  const authority = url.indexOf("//") + 2;
  const begin = url.indexOf("/", authority);
  const target = url.slice(begin).split("#", 1)[0];
  /** @type {[string, string][]} */
  const headers = [...request.headers];
  // Not every platform shows the header that the URL was made of.
  if (!request.headers.has("host")) headers.push(["host", url.slice(authority, begin)]);
  return { method, target, headers, body: bodyOf(request), peer, signal };
}

/**
 * @param {Request} request
 * @returns {ReadableStream<Uint8Array> | null}
 */
function bodyOf(request) {
  // Some browsers show no body of a request that they made themselves.
  if (request.body !== undefined || request.method === "GET" || request.method === "HEAD") return request.body ?? null;
  return new ReadableStream({
    async start(controller) {
      const bytes = new Uint8Array(await request.arrayBuffer());
      if (bytes.length > 0) controller.enqueue(bytes);
      controller.close();
    },
  });
}
