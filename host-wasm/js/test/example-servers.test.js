/** The example servers of Node and Deno as a user runs them: started, used, stopped, started again. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { hostname, tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { createInterface } from "node:readline";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { Egress } from "../examples/node/egress.js";
import { ASSISTANT } from "../examples/page/playground/samples.js";

const DENO_FLAGS = ["--allow-net", "--allow-read", "--allow-write", "--allow-env", "--unstable-no-legacy-abort"];
const EXAMPLES = {
  node: [process.execPath],
  deno: ["deno", "run", ...DENO_FLAGS],
};

/** A running server and its output. */
class Server {
  /** @type {string[]} */
  printed = [];
  url = "";

  /** @param {import("node:child_process").ChildProcess} process */
  constructor(process) {
    this.process = process;
    this.closed = once(process, "close");
  }

  /** @param {keyof typeof EXAMPLES} name @param {string} file */
  static async start(name, file) {
    const [command, ...flags] = EXAMPLES[name];
    const script = fileURLToPath(new URL(`../examples/${name}/server.js`, import.meta.url));
    const server = new Server(spawn(command, [...flags, script, file, "0"], { stdio: ["ignore", "pipe", "inherit"] }));
    for await (const line of createInterface({ input: /** @type {any} */ (server.process.stdout) })) {
      server.printed.push(line);
      server.url = /^listening on (.+)$/.exec(line)?.[1] ?? "";
      if (server.url !== "") return server;
    }
    throw new Error(`the server ended: ${server.printed.join("\n")}`);
  }

  get apiKey() {
    return this.#secret("API key");
  }

  get adminToken() {
    return this.#secret("operator token") ?? "";
  }

  /** @param {string} name */
  #secret(name) {
    return this.printed.map((line) => line.split(name)[1]?.trim()).find((secret) => secret !== undefined);
  }

  /**
   * @param {string} path
   * @param {string} token
   * @param {RequestInit} [init]
   */
  ask(path, token, init) {
    return fetch(this.url + path, { ...init, headers: { authorization: `Bearer ${token}`, ...init?.headers } });
  }

  async stop() {
    this.process.kill("SIGTERM");
    const [code] = await this.closed;
    assert.equal(code, 0);
  }
}

/** @param {unknown} json @returns {RequestInit} */
const posted = (json) => ({
  method: "POST",
  headers: { "content-type": "application/json" },
  body: JSON.stringify(json),
});
/** The tool's endpoint is this machine's own name, which resolves to it or to its network. */
const TOOL = { name: "probe", description: "Tries.", method: "POST", timeout: 2, endpoint: `http://${hostname()}:9/` };

/** @param {Server} server @param {string} key */
async function answersRequests(server, key) {
  assert.equal((await server.ask("/user/me", "nobody")).status, 401);
  const me = await server.ask("/user/me", key);
  assert.deepEqual([me.status, (await me.json()).email], [200, "owner@localhost"]);
  assert.equal((await server.ask("/user/tools", key, posted(TOOL))).status, 201);
  const large = await server.ask("/user/tools", key, { ...posted({}), body: new Uint8Array(3_000_000) });
  assert.equal(large.status, 413);
  assert.match((await large.json()).message, /larger than 1048576 bytes/);
  const [{ id }] = await toolsOf(server, key);
  const tried = await server.ask(`/user/tools/${id}/test`, key, posted({}));
  assert.equal(tried.status, 502, "what users choose must not reach this machine");
  assert.match((await tried.json()).message, /may not be reached/);
}

/** Checks that a call is not claimed for a client that has gone. @param {Server} server @param {string} key */
async function forgetsTheGone(server, key) {
  const assistant = await server.ask("/user/assistant", key, posted(ASSISTANT));
  const { token } = await (await server.ask("/admin/engine-tokens", server.adminToken, posted({ name: "e" }))).json();
  const gone = new AbortController();
  const waits = server.ask("/engine/claim", token, { ...posted({ engine: "e", wait: 30 }), signal: gone.signal });
  const failed = assert.rejects(waits);
  // The claim has arrived once a later request is answered.
  await server.ask("/user/me", key);
  gone.abort();
  await failed;
  await server.ask("/user/me", key);
  const call = { assistant_id: (await assistant.json()).data.id, phone_number: "+40700000001" };
  assert.equal((await server.ask("/user/make_call", key, posted(call))).status, 200);
  const claimed = await server.ask("/engine/claim", token, posted({ engine: "e" }));
  assert.equal((await claimed.json()).calls.length, 1);
}

/** @param {Server} server @param {string} key @returns {Promise<{ id: number, name: string }[]>} */
async function toolsOf(server, key) {
  const json = await (await server.ask("/user/tools", key)).json();
  return json.data ?? json;
}

/** Opens a stream and reads its start. @param {Server} server @param {string} key @param {AbortSignal} [signal] */
async function stream(server, key, signal) {
  const response = await server.ask("/user/events", key, { headers: { accept: "text/event-stream" }, signal });
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  assert.equal((await reader.read()).done, false);
  return reader;
}

for (const name of /** @type {const} */ (["node", "deno"])) {
  test(`${name}: a server answers, streams, stops, and finds everything again`, { timeout: 60_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), "switchboard-"));
    /** @type {Server[]} */
    const servers = [];
    try {
      const first = await Server.start(name, join(folder, "store"));
      servers.push(first);
      const key = first.apiKey ?? "";
      await answersRequests(first, key);
      await forgetsTheGone(first, key);
      const gone = new AbortController();
      await stream(first, key, gone.signal);
      gone.abort();
      const open = await stream(first, key);
      await first.stop();
      assert.equal((await open.read()).done, true, "a stop ends streams in order");
      const second = await Server.start(name, join(folder, "store"));
      servers.push(second);
      assert.equal(second.apiKey, undefined, "secrets are shown once");
      assert.deepEqual((await toolsOf(second, key)).map((tool) => tool.name), ["probe"]);
      await second.stop();
    } finally {
      servers.forEach((server) => server.process.kill("SIGKILL"));
      await rm(folder, { recursive: true });
    }
  });
}

test("a request reaches the addresses that were judged, whatever its name leads to by then", async () => {
  const server = createServer((request, response) =>
    response.writeHead(302, { location: "/x" }).end(request.headers.host)
  );
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = /** @type {import("node:net").AddressInfo} */ (server.address());
  const answers = [[{ address: "127.0.0.1", family: 4 }], [{ address: "192.0.2.1", family: 4 }]];
  const { resolve, fetch } = new Egress(() => Promise.resolve(answers.shift() ?? []));
  try {
    assert.deepEqual(await resolve("rebinds.example"), ["127.0.0.1"]);
    assert.deepEqual(await resolve("rebinds.example"), ["127.0.0.1"]);
    assert.equal(answers.length, 1, "it is looked up once");
    const signal = AbortSignal.timeout(5_000);
    const init = { method: "POST", headers: new Headers(), body: new Uint8Array([1]), signal };
    const response = await fetch(`http://rebinds.example:${port}/`, init);
    assert.deepEqual([response.status, response.headers.get("location")], [302, "/x"]);
    assert.equal(await response.text(), `rebinds.example:${port}`);
    await assert.rejects(fetch(`http://rebinds.example:${port}/`, { ...init, signal: AbortSignal.abort() }));
  } finally {
    server.close();
  }
});
