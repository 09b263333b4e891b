/** A minimal static server: no compression, no caching, and a log of the requested paths. */

import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { createServer } from "node:http";
import { extname, join, normalize } from "node:path";

/** @type {Record<string, string>} */
const TYPES = {
  ".html": "text/html",
  ".js": "text/javascript",
  ".css": "text/css",
  ".svg": "image/svg+xml",
  ".wasm": "application/wasm",
  ".gz": "application/gzip",
};

export class Static {
  #folder;
  #server = createServer((request, response) => void this.#answer(request, response));
  url = "";
  /** Requested paths, in order. @type {string[]} */
  asked = [];
  /** Bytes that were sent, by path. @type {Map<string, number>} */
  sent = new Map();

  /** @param {string} folder */
  constructor(folder) {
    this.#folder = folder;
  }

  /** @param {string} folder */
  static async serve(folder) {
    const site = new Static(folder);
    site.#server.listen(0, "127.0.0.1");
    await once(site.#server, "listening");
    const { port } = /** @type {import("node:net").AddressInfo} */ (site.#server.address());
    site.url = `http://127.0.0.1:${port}/`;
    return site;
  }

  close() {
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /**
   * @param {import("node:http").IncomingMessage} request
   * @param {import("node:http").ServerResponse} response
   */
  async #answer(request, response) {
    const { pathname } = new URL(request.url ?? "/", this.url);
    this.asked.push(pathname);
    const name = pathname.endsWith("/") ? `${pathname}index.html` : pathname;
    const bytes = await readFile(join(this.#folder, normalize(name))).catch(() => undefined);
    this.sent.set(pathname, (this.sent.get(pathname) ?? 0) + (bytes?.length ?? 0));
    response.writeHead(bytes ? 200 : 404, { "content-type": TYPES[extname(name)] ?? "text/plain" }).end(bytes);
  }
}
