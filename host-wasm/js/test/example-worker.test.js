/** The Worker example as a user runs it: under workerd (on the path), over HTTP, with its own configuration. */

import assert from "node:assert/strict";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { ASSISTANT } from "./service.js";
import { startWorkerd } from "./workerd-process.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const CONFIGURATION = join(ROOT, "examples/worker/config.capnp");

/** The example over a folder, with a client. */
class Example {
  /** @param {string} objects @param {Record<string, string>} [env] */
  static async start(objects, env) {
    const flags = ["--socket-addr=http=127.0.0.1:0", `--directory-path=objects=${objects}`];
    return new Example(await startWorkerd(CONFIGURATION, { flags, env }));
  }

  /** @param {Awaited<ReturnType<typeof startWorkerd>>} workerd */
  constructor(workerd) {
    this.workerd = workerd;
  }

  /**
   * @param {string} token
   * @param {string} method
   * @param {string} path
   * @param {unknown} [json]
   * @param {RequestInit} [init]
   */
  send(token, method, path, json, init) {
    const headers = { authorization: `Bearer ${token}`, "content-type": "application/json", ...init?.headers };
    const body = json === undefined ? undefined : JSON.stringify(json);
    return fetch(`${this.workerd.url}${path}`, { ...init, method, headers, body });
  }

  /**
   * @param {string} token
   * @param {string} method
   * @param {string} path
   * @param {unknown} [json]
   */
  async call(token, method, path, json) {
    const response = await this.send(token, method, path, json);
    const text = await response.text();
    return { status: response.status, json: text === "" ? null : JSON.parse(text) };
  }

  /** Returns a credential that the first start printed. @param {string} name */
  secret(name) {
    return new RegExp(`${name} +(\\S+)`).exec(this.workerd.log())?.[1] ?? "";
  }
}

/** @param {(objects: string) => Promise<void>} act */
async function withFolder(act) {
  const folder = await mkdtemp(join(tmpdir(), "example-"));
  await act(folder).finally(() => rm(folder, { recursive: true, maxRetries: 5 }));
}

/** Repeats `ask` until it succeeds. @template T @param {() => Promise<T | undefined>} ask @returns {Promise<T>} */
async function eventually(ask) {
  for (let tries = 0; tries < 100; tries++) {
    const came = await ask();
    if (came !== undefined) return came;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error("it never came");
}

/** @param {number} wait */
const claim = (wait) => ({ engine: "test", modes: ["pipeline"], capacity: 1, wait });

test(
  "accounts outlive workerd, and see their own only",
  { timeout: 120_000 },
  () =>
    withFolder(async (objects) => {
      let example = await Example.start(objects);
      try {
        assert.equal((await example.call("nobody", "GET", "/readyz")).status, 200);
        const [apiKey, operator] = [example.secret("API key"), example.secret("operator token")];
        const [email, password] = [example.secret("e-mail"), example.secret("password")];
        assert.equal(
          (await example.call(apiKey, "POST", "/user/do-not-call", { phone_number: "+40700000009" })).status,
          201,
        );
        const made = await example.call(operator, "POST", "/admin/accounts", { email: "two@example.com" });
        assert.equal(made.status, 201, JSON.stringify(made.json));

        for (let starts = 0; starts < 3; starts++) {
          const listed = await example.call(apiKey, "GET", "/user/do-not-call");
          assert.equal(listed.json.data[0].phone_number, "+40700000009");
          const others = await example.call(made.json.api_key, "GET", "/user/do-not-call");
          assert.deepEqual([others.status, others.json.data], [200, []], "an account sees its own only");
          const login = await example.call("", "POST", "/user/login", { email, password });
          assert.equal((await example.call(login.json.token, "GET", "/user/me")).json.email, email);
          const both = await example.call(operator, "GET", "/admin/accounts");
          assert.equal(both.json.data.length, 2, JSON.stringify(both.json));
          assert.equal(example.workerd.log().includes("operator token"), starts === 0, "secrets are shown once");
          await example.workerd.kill();
          example = await Example.start(objects);
        }
      } finally {
        await example.workerd.kill();
      }
    }),
);

test(
  "who waits is woken, and durable work is done",
  { timeout: 120_000 },
  () =>
    withFolder(async (objects) => {
      const example = await Example.start(objects);
      try {
        await example.call("nobody", "GET", "/readyz");
        const [apiKey, operator] = [example.secret("API key"), example.secret("operator token")];
        const engine = (await example.call(operator, "POST", "/admin/engine-tokens", { name: "engine" })).json;
        const token = engine.token ?? engine.data.token;
        const hook = {
          webhook_url: "https://hook.invalid/",
          is_webhook_active: true,
          send_webhook_only_on_completed: false,
        };
        const assistant = await example.call(apiKey, "POST", "/user/assistant", { ...ASSISTANT, ...hook });
        assert.equal(assistant.status, 201, JSON.stringify(assistant.json));

        const stream = await example.send(apiKey, "GET", "/user/events", undefined, {
          headers: { accept: "text/event-stream" },
          signal: AbortSignal.timeout(20_000),
        });
        const events = /** @type {ReadableStream<Uint8Array>} */ (stream.body).getReader();
        const claimed = example.call(token, "POST", "/engine/claim", claim(30));
        await new Promise((resolve) => setTimeout(resolve, 300));
        const place = () =>
          example.call(apiKey, "POST", "/user/make_call", {
            assistant_id: assistant.json.data.id,
            phone_number: "+40700000001",
          });
        assert.equal((await place()).status, 200);
        const { calls } = (await claimed).json;
        assert.equal(calls.length, 1, "the claim got the call");
        await place();
        assert.equal((await example.call(apiKey, "POST", "/user/calls/2/hangup")).status, 200);
        let seen = "";
        while (!seen.includes("data:")) {
          const { value, done } = await events.read();
          assert.ok(!done, seen);
          seen += new TextDecoder().decode(value);
        }
        await events.cancel();
        const attempt = await eventually(async () => {
          const { data } = (await example.call(apiKey, "GET", "/user/webhook-deliveries")).json;
          return data[0]?.attempts[0];
        });
        assert.ok(attempt, "the alarm sent the webhook, which nobody takes");
      } finally {
        await example.workerd.kill();
      }
    }),
);

test(
  "with a token the first start is asked for, and shows nothing to anybody else",
  { timeout: 60_000 },
  () =>
    withFolder(async (objects) => {
      const example = await Example.start(objects, { FIRST_START_TOKEN: "a long secret" });
      try {
        assert.equal((await example.call("nobody", "GET", "/readyz")).status, 200);
        assert.equal((await example.call("a wrong secret", "POST", "/first-start")).status, 404);
        assert.equal((await example.call("a long secret", "GET", "/first-start")).status, 404);
        const { status, json } = await example.call("a long secret", "POST", "/first-start");
        assert.equal(status, 201);
        assert.equal((await example.call(json.api_key, "GET", "/user/me")).status, 200);
        assert.equal((await example.call("a long secret", "POST", "/first-start")).status, 409);
        assert.ok(!example.workerd.log().includes(json.api_key), "it is not logged");
      } finally {
        await example.workerd.kill();
      }
    }),
);

test("the configuration names every module of the package that a Worker uses", async () => {
  const named = [...(await readFile(CONFIGURATION, "utf8")).matchAll(/embed "\.\.\/\.\.\/(.*)"/g)].map(([, name]) =>
    name
  );
  const folders = ["npm", "npm/host", "npm/storage", "npm/wasm"];
  const all = await Promise.all(
    folders.map(async (name) => (await readdir(join(ROOT, name))).map((file) => `${name}/${file}`)),
  );
  const isUsed = (/** @type {string} */ name) =>
    /\.(js|wasm)$/.test(name) && (!name.includes("/storage/") || /\/(bytes|durable-object|sql)\.js$/.test(name));
  assert.deepEqual(named.sort(), all.flat().filter(isUsed).sort());
});
