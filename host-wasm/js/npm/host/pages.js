/**
 * The pages that only a host can render.
 *
 * @import { Storage } from "../storage/storage.d.ts"
 * @import { Reply } from "./types.d.ts"
 */

import { jsonReply } from "./reply.js";

/** The page at `/`: this host has no console, nor an API explorer to link to. */
const HOME = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Switchboard</title>
<h1>Switchboard</h1>
<p>This is the API of a voice assistant management service: <a href="/openapi.json">its OpenAPI document</a>.</p>
</html>
`;

/** The key read to check that the store answers: the ledger of the root, which always exists. */
const LEDGER = new Uint8Array([0, 0, 0, 0, 0, 1]);

/** Messages for the pages that this host does not have. */
const MISSING = {
  metrics: "This host has no metrics: those of its platform count its requests.",
  docs: "This host has no API explorer; the OpenAPI document is at /openapi.json.",
  backup: "This host makes no backups: copy its store with what the platform has for that.",
  store: "This host does not know the size of its store: its platform does.",
  nodes: "This host has no nodes: its platform says where it runs.",
  "drain-node": "This host has no nodes: its platform says where it runs.",
};

/**
 * @param {Reply} reply that asks for a page
 * @param {Storage<any>} storage
 * @returns {Promise<Reply>}
 */
export async function filled(reply, storage) {
  const page = await body(reply.page, storage);
  return { ...page, headers: reply.headers };
}

/**
 * @param {Reply["page"]} page
 * @param {Storage<any>} storage
 */
async function body(page, storage) {
  if (page === "ready") {
    return (await isReady(storage))
      ? jsonReply(200, { status: "ready" })
      : jsonReply(503, { message: "The store does not answer." });
  }
  if (page === "home") {
    return { status: 200, headers: "", media: "text/html; charset=utf-8", body: new TextEncoder().encode(HOME) };
  }
  if (page === "console") return jsonReply(404, { message: "This host has no console." });
  if (page === "widget") return jsonReply(404, { message: "This host has no widget: serve widget.js with your page." });
  return jsonReply(501, { message: page === undefined ? "This host has no such page." : MISSING[page] });
}

/** @param {Storage<any>} storage */
async function isReady(storage) {
  try {
    await storage.read([{ get: LEDGER }]);
    return true;
  } catch {
    return false;
  }
}
