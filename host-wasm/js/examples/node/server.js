/**
 * Switchboard as a server of Node (22.13 or later) over one SQLite file:
 *
 *     node server.js [FILE] [PORT]     # by default switchboard.sqlite and 8080, on 127.0.0.1
 *
 * The first start prints an API key, once: `curl -H "Authorization: Bearer …" http://127.0.0.1:8080/user/me`. HOST in
 * the environment sets another address to listen on; on the public internet put a proxy with TLS in front, named in
 * `config.trust_proxy`. SIGINT and SIGTERM stop it: running requests are answered, streams end, then it exits. A body
 * is read only as far as the service needs it, and a client that disconnects cancels its request.
 *
 * In a project of your own the first two imports are "switchboard" and "switchboard/storage/sqlite".
 */

import { createService } from "../../npm/index.js";
import { SqliteStorage } from "../../npm/storage/sqlite.js";
import { once } from "node:events";
import { createServer } from "node:http";
import process from "node:process";
import { Egress } from "./egress.js";
import { requestOf, sendResponse } from "./messages.js";

/** Grace period for open connections after a stop, milliseconds; then they are cut. */
const STOP_MS = 5_000;
const SWEEP_MS = 50;

const [file = "switchboard.sqlite", port = "8080"] = process.argv.slice(2);
const { resolve, fetch } = new Egress();
const service = await createService({ storage: new SqliteStorage(file), resolve, fetch: /** @type {any} */ (fetch) });

const server = createServer(async (incoming, outgoing) => {
  try {
    const request = requestOf(incoming, outgoing);
    if (request === null) {
      outgoing.writeHead(400, { "content-type": "application/json" }).end('{"message":"Bad Request"}');
    } else await sendResponse(await service(request, { peer: incoming.socket.remoteAddress }), outgoing);
  } catch (error) {
    // A client that disconnected during an answer is not an error.
    if (!outgoing.destroyed) console.error(error);
    outgoing.destroy();
  }
});
server.listen(Number(port), process.env.HOST ?? "127.0.0.1");
await once(server, "listening");
const bound = /** @type {import("node:net").AddressInfo} */ (server.address());
console.log(`listening on http://${bound.family === "IPv6" ? `[${bound.address}]` : bound.address}:${bound.port}`);

async function stop() {
  const closed = once(server, "close");
  server.close();
  setTimeout(() => server.closeAllConnections(), STOP_MS).unref();
  await service.close();
  // A connection whose last answer ends from here on would be kept open for a next request.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  await closed;
  clearInterval(sweep);
}
/** A second signal has its default effect: it ends the process at once. */
const stopped = Promise.race(["SIGINT", "SIGTERM"].map((signal) => once(process, signal)));
await stopped.then(stop);
