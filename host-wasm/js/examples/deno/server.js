/**
 * Switchboard as a server of Deno (2.9 or later) over one SQLite file:
 *
 *     deno run --allow-net --allow-read --allow-write --allow-env --unstable-no-legacy-abort \
 *       server.js [FILE] [PORT]     # by default switchboard.sqlite and 8080, on 127.0.0.1
 *
 * The first start prints an API key, once: `curl -H "Authorization: Bearer …" http://127.0.0.1:8080/user/me`. SIGINT
 * and SIGTERM stop it: running requests are answered, streams end, then it exits. `--allow-net` and `--deny-net` can
 * further narrow what the program may reach.
 *
 * In a project of your own the first two imports are "switchboard" and "switchboard/storage/sqlite".
 */

import { createService } from "../../npm/index.js";
import { SqliteStorage } from "../../npm/storage/sqlite.js";
import { Egress } from "../node/egress.js";

const [file = "switchboard.sqlite", port = "8080"] = Deno.args;
const { resolve, fetch } = new Egress();
const service = await createService({ storage: new SqliteStorage(file), resolve, fetch: /** @type {any} */ (fetch) });

const server = Deno.serve({
  hostname: "127.0.0.1",
  port: Number(port),
  onListen: ({ hostname, port }) => console.log(`listening on http://${hostname}:${port}`),
}, (request, { remoteAddr }) => service(request, { peer: remoteAddr.hostname }));

async function stop() {
  const shutDown = server.shutdown();
  await service.close();
  await shutDown;
  Deno.exit();
}
for (const signal of /** @type {const} */ (["SIGINT", "SIGTERM"])) Deno.addSignalListener(signal, stop);
