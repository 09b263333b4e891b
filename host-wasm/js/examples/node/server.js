/**
 * Switchboard as a server of Node (22.13 or later) over one SQLite file:
 *
 *     node server.js [FILE] [PORT]     # by default switchboard.sqlite and 8080, on 127.0.0.1
 *
 * The first start prints an API key, once: `curl -H "Authorization: Bearer …" http://127.0.0.1:8080/user/me`. HOST
 * in the environment is another address to listen on; in front of the world belongs a proxy that speaks TLS, named
 * in `config.trust_proxy`. SIGINT and SIGTERM stop it: what is under way is answered, streams end, then it exits. A
 * body is read as far as the service wants it, and a client that goes away cancels its request.
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

/** Connections that are still open so long after a stop are cut. */
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
    // Whoever went away in the middle of an answer is no fault.
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
  // A connection whose last answer ends from here on would be kept for a next request.
  const sweep = setInterval(() => server.closeIdleConnections(), SWEEP_MS);
  await closed;
  clearInterval(sweep);
}
/** The second one is left to the system: it ends the process at once. */
const stopped = Promise.race(["SIGINT", "SIGTERM"].map((signal) => once(process, signal)));
await stopped.then(stop);
