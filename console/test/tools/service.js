// A service for a test: the real binary with the simulated engine in a folder of its own, the console in front of it,
// and an endpoint that tools, webhooks and websites reach.

import { spawn } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { files } from "./files.js";
import { serve, widget } from "./serve.js";

const ROOT = fileURLToPath(new URL("../../../", import.meta.url));
const HERE = join(ROOT, "console/");
/** Flags by which a service trusts the front of its console; it is none that browsers reach by itself then. */
export const FRONT = ["--trust-proxy", "127.0.0.1/32"];
/** How long a service may take to answer first, milliseconds. */
const START_MS = 60_000;

/** `cut` breaks every connection of the browser; `from` is the address that its requests are passed on for, where the
 * service trusts its front (`FRONT`). Without one each login is another address's: the service takes five of one a minute.
 * @typedef {{ url: string, service: string, secrets: { admin_token: string, api_key: string, email: string, password: string, console_url?: string }, endpoint: Endpoint, embedded: boolean, from?: string | null, cut: () => void, stop: () => Promise<void> }} Service */
/** @typedef {{ url: string, asked: { method: string, path: string, headers: any, body: string }[], answer: (path: string, reply: { status?: number, body?: string, type?: string }) => void, close: () => void }} Endpoint */

/** The binary that is tested: `SWITCHBOARD_BIN`, or the one that this tree built. */
function binary() {
  const found = [
    process.env.SWITCHBOARD_BIN,
    join(ROOT, "target/debug/switchboard"),
    join(ROOT, "target/release/switchboard"),
  ].find((path) => path && existsSync(path));
  if (!found) throw new Error("No switchboard binary: build one with `cargo build`, or name one in SWITCHBOARD_BIN.");
  return found;
}

/** @param {string[]} [flags] further flags of `switchboard dev` @param {string} [data] a folder with a store; an empty one
 * of its own if not given @returns {Promise<Service>} */
export async function start(flags = [], data) {
  const folder = mkdtempSync(join(tmpdir(), "console-test-"));
  const ready = join(folder, "ready.json");
  const program = spawn(
    binary(),
    [
      "dev",
      "--listen",
      "127.0.0.1:0",
      "--data",
      data ?? join(folder, "data"),
      "--ready-file",
      ready,
      "--engine",
      "simulated",
      ...flags,
    ],
    { stdio: ["ignore", "ignore", "pipe"] },
  );
  let log = "";
  program.stderr.on("data", (/** @type {Buffer} */ data) => (log = (log + data).slice(-20_000)));
  const until = Date.now() + START_MS;
  while (!existsSync(ready) || !readFileSync(ready, "utf8").endsWith("}")) {
    if (program.exitCode !== null || Date.now() > until) throw new Error(`The service did not start:\n${log}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  const secrets = JSON.parse(readFileSync(ready, "utf8"));
  const endpoint = await listen();
  const embedded = await isEmbedded(secrets.url);
  let logins = 0;
  const login = () => `203.0.113.${(logins = (logins % 250) + 1)}`;
  const from = (/** @type {string} */ path) => own.from ?? (path === "/api/user/login" ? login() : null);
  const front = await serve(0, secrets.url, { folder: !embedded, from });
  const url = `http://127.0.0.1:${/** @type {import("node:net").AddressInfo} */ (front.address()).port}`;
  /** @type {Service} */
  const own = {
    url,
    service: secrets.url,
    secrets,
    endpoint,
    embedded,
    from: null,
    cut: () => front.closeAllConnections(),
    async stop() {
      endpoint.close();
      front.closeAllConnections();
      front.close();
      program.kill("SIGTERM");
      await new Promise((resolve) => (program.exitCode !== null ? resolve(0) : program.once("exit", resolve)));
      rmSync(folder, { recursive: true, force: true });
    },
  };
  return own;
}

/** Whether the binary serves this very console and widget: then they are tested as they are served. @param {string} url */
async function isEmbedded(url) {
  const script = await fetch(new URL("/widget.js", url));
  if (!script.ok || (await script.text()) !== widget()) return false;
  for (const path of files(HERE)) {
    const told = await fetch(new URL(`/console/${path.slice(HERE.length)}`, url));
    if (!told.ok || !Buffer.from(await told.arrayBuffer()).equals(readFileSync(path))) return false;
  }
  return true;
}

/** @returns {Promise<Endpoint>} */
async function listen() {
  /** @type {Map<string, { status?: number, body?: string, type?: string }>} */
  const replies = new Map();
  /** @type {Endpoint["asked"]} */
  const asked = [];
  const server = createServer(async (request, response) => {
    let body = "";
    for await (const part of request) body += part;
    const path = (request.url ?? "/").split("?")[0];
    asked.push({ method: request.method ?? "", path, headers: request.headers, body });
    const { status = 200, body: told = '{"ok":true}', type = "application/json" } = replies.get(path) ?? {};
    response.writeHead(status, { "content-type": type }).end(told);
  });
  await new Promise((resolve) => server.listen(0, "127.0.0.1", () => resolve(0)));
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  return {
    url: `http://127.0.0.1:${port}`,
    asked,
    answer: (path, reply) => replies.set(path, reply),
    close: () => (server.closeAllConnections(), server.close()),
  };
}

/** A client of the API for what a test needs to be there. @param {string} url @param {string} token */
export function client(url, token) {
  /** @param {string} method @param {string} path @param {any} [body] @param {Record<string, string>} [headers] @returns {Promise<any>} */
  return async (method, path, body, headers = {}) => {
    const raw = typeof body === "string" || body instanceof FormData || body instanceof Uint8Array;
    const response = await fetch(url + path, {
      method,
      headers: {
        authorization: `Bearer ${token}`,
        ...(body && !raw ? { "content-type": "application/json" } : {}),
        ...headers,
      },
      body: raw ? /** @type {any} */ (body) : body && JSON.stringify(body),
    });
    const told = await response.text();
    if (!response.ok) throw new Error(`${method} ${path}: ${response.status} ${told.slice(0, 500)}`);
    try {
      return JSON.parse(told);
    } catch {
      return told;
    }
  };
}
