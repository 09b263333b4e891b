/** Failing stores, stores that others keep changing, and steps that panic. */

import assert from "node:assert/strict";
import test from "node:test";

import { MemoryStorage } from "../npm/storage/memory.js";
import { ASSISTANT, open, toolAt } from "./service.js";

/**
 * @import { Change, Read } from "../npm/storage/storage.d.ts"
 */

/** A storage whose calls a test can intercept. */
class Faulty extends MemoryStorage {
  /** @type {((reads: Read[], picture: number | undefined) => any) | null} */
  onRead = null;
  /** @type {((changes: Change[]) => any) | null} */
  onCommit = null;
  commits = 0;

  /** @override @param {Read[]} reads @param {number} [picture] @returns {any} */
  read(reads, picture) {
    return this.onRead?.(reads, picture) ?? super.read(reads, picture);
  }

  /** @override @param {Change[]} changes @param {number | undefined} picture @returns {any} */
  commit(changes, picture) {
    this.commits += 1;
    return this.onCommit?.(changes) ?? super.commit(changes, picture);
  }
}

const fails = () => {
  throw new Error("the disk is gone");
};
const rejects = () => Promise.reject(new Error("the disk is gone"));

for (const [name, fail] of /** @type {const} */ ([
  ["throws", fails],
  ["rejects", rejects],
])) {
  test(`a store that ${name} is 503, and nothing was done`, async () => {
    const storage = new Faulty();
    const client = await open({ storage });
    storage.onRead = fail;
    const read = await client.call("GET", "/user/me");
    assert.deepEqual([read.status, read.headers.get("retry-after")], [503, "1"]);
    assert.match(/** @type {string} */ (read.headers.get("x-request-id")), /^[0-9a-f]{16}$/);
    assert.equal((await client.call("GET", "/readyz")).status, 503);
    assert.equal((await client.call("GET", "/healthz")).status, 200);
    storage.onRead = null;
    storage.onCommit = fail;
    assert.equal((await client.call("POST", "/user/tools", toolAt("https://x.example/"))).status, 503);
    storage.onCommit = null;
    assert.deepEqual((await client.call("GET", "/user/tools")).json, []);
    assert.equal((await client.call("POST", "/user/tools", toolAt("https://x.example/"))).status, 201);
    assert.deepEqual(client.reported.map((error) => /** @type {any} */ (error).cause.message), [
      "the disk is gone",
      "the disk is gone",
    ]);
  });
}

test("what changed meanwhile is looked at again, but not for ever", async () => {
  const storage = new Faulty();
  const client = await open({ storage });
  let refused = 3;
  storage.onCommit = () => (refused-- > 0 ? false : null);
  assert.equal((await client.call("POST", "/user/tools", toolAt("https://x.example/"))).status, 201);
  storage.commits = 0;
  storage.onCommit = () => false;
  const got = await client.call("POST", "/user/assistant", ASSISTANT);
  assert.deepEqual([got.status, got.headers.get("retry-after"), storage.commits], [503, "1", 17]);
  storage.onCommit = null;
  storage.onRead = () => Promise.resolve(null);
  assert.equal((await client.call("GET", "/user/me")).status, 503);
});

test("writers do not starve a reader", async () => {
  const storage = new Faulty();
  const client = await open({ storage, config: { rate_limit: 0 } });
  await client.call("POST", "/user/tools", toolAt("https://x.example/"));
  /** @type {Promise<{ status: number }>[]} */
  const writes = [];
  let isWriting = false;
  storage.onRead = (reads, picture) => {
    if (isWriting || picture === undefined) return null;
    // Between any two reads of the reader another client writes, if that is possible.
    isWriting = true;
    const write = client.call("POST", "/user/tools", { ...toolAt("https://x.example/"), name: `t${"x".repeat(writes.length)}` });
    writes.push(write);
    const soon = new Promise((resolve) => setTimeout(resolve, 20));
    return Promise.race([write, soon]).then(() => {
      isWriting = false;
      return MemoryStorage.prototype.read.call(storage, reads, picture) ?? Promise.resolve(null);
    });
  };
  const got = await client.call("GET", "/user/tools");
  storage.onRead = null;
  assert.equal(got.status, 200);
  assert.ok(writes.length > 3, "it was overtaken three times");
  assert.deepEqual((await Promise.all(writes)).map(({ status }) => status), writes.map(() => 201));
});

test("a queue has an end", async () => {
  const storage = new Faulty();
  const client = await open({ storage, config: { rate_limit: 0 } });
  /** @type {(done: null) => void} */
  let release = () => {};
  const gate = new Promise((resolve) => {
    release = resolve;
  });
  storage.onCommit = () => gate.then(() => false);
  const writes = Array.from({ length: 1_100 }, () => client.call("POST", "/user/webhook-secrets/rotate"));
  await new Promise((resolve) => setTimeout(resolve, 20));
  assert.equal((await client.call("GET", "/user/me")).status, 200, "reads go on beside it");
  storage.onCommit = null;
  release(null);
  const statuses = (await Promise.all(writes)).map(({ status }) => status);
  const full = statuses.filter((status) => status === 503).length;
  assert.equal(full, 1_100 - 1_024 - 1);
});

/** Creates an answer that throws inside a step when it is read. @returns {any} */
const poison = () => ({
  found: [
    {
      get length() {
        throw new Error("poison");
      },
    },
  ],
  picture: 1,
});

test("a step that panics is 500, and the next request goes on", async () => {
  const storage = new Faulty();
  const client = await open({ storage });
  storage.onRead = poison;
  const broken = await client.call("GET", "/user/me");
  storage.onRead = null;
  assert.deepEqual([broken.status, broken.json.message], [500, "Server Error"]);
  assert.equal(broken.json.request_id, broken.headers.get("x-request-id"));
  assert.match(String(client.reported[0]), /a step panicked/);
  assert.equal((await client.call("GET", "/user/me")).status, 200);
  assert.equal(client.reported.length, 1);
});

test("what was under way goes on after another's panic", async () => {
  const storage = new Faulty();
  let asked = 0;
  /** @type {(response: Response) => void} */
  let respond = () => {};
  const fetch = () => {
    asked += 1;
    return new Promise((resolve) => {
      respond = resolve;
    });
  };
  const client = await open({ storage, fetch: /** @type {any} */ (fetch) });
  await client.call("POST", "/user/tools", { ...toolAt("https://slow.example/"), name: "slow", timeout: 30 });
  const tested = client.call("POST", "/user/tools/1/test", {});
  const engine = await client.engine();
  const { json } = await client.call("POST", "/user/assistant", ASSISTANT);
  const claim = { engine: "test", modes: ["pipeline"], capacity: 1, wait: 30 };
  const claimed = client.call("POST", "/engine/claim", claim, engine);
  const stream = await client.send("GET", "/user/events", { headers: { accept: "text/event-stream" } });
  const reader = /** @type {ReadableStream<Uint8Array>} */ (stream.body).getReader();
  await reader.read();
  /** @type {ReadableStreamDefaultController} */
  let body = /** @type {any} */ (null);
  const posted = client.send(
    "POST",
    "/user/tools",
    /** @type {any} */ ({
      duplex: "half",
      headers: { "content-type": "application/json" },
      body: new ReadableStream({
        start(controller) {
          body = controller;
        },
      }),
    }),
  );
  await new Promise((resolve) => setTimeout(resolve, 5));

  storage.onRead = poison;
  assert.equal((await client.call("GET", "/user/me")).status, 500);
  storage.onRead = null;

  respond(new Response("slow"));
  assert.deepEqual([(await tested).json.body, asked], ["slow", 1]);
  body.enqueue(new TextEncoder().encode(JSON.stringify(toolAt("https://x.example/"))));
  body.close();
  assert.equal((await posted).status, 201);
  const next = reader.read();
  const call = { assistant_id: json.data.id, phone_number: "+40700000001" };
  assert.equal((await client.call("POST", "/user/make_call", call)).status, 200);
  assert.equal((await claimed).json.calls.length, 1);
  await client.service.close();
  assert.equal((await next).done, true);
});

test("a panic while another's commit is under way leaves that one unanswered, not done twice", async () => {
  const storage = new Faulty();
  const client = await open({ storage });
  /** @type {(done: unknown) => void} */
  let release = () => {};
  storage.onCommit = (changes) => {
    storage.onCommit = null;
    const gate = new Promise((resolve) => {
      release = resolve;
    });
    return gate.then(() => storage.commit(changes, undefined));
  };
  const made = client.call("POST", "/user/tools", toolAt("https://x.example/"));
  await new Promise((resolve) => setTimeout(resolve, 5));
  storage.onRead = poison;
  assert.equal((await client.call("GET", "/user/me")).status, 500);
  storage.onRead = null;
  release(null);
  assert.equal((await made).status, 503);
  assert.equal((await client.call("GET", "/user/tools")).json.length, 1);
});

test("a stop waits for what is under way", async () => {
  const storage = new Faulty();
  const client = await open({ storage });
  let isClosed = false;
  Reflect.set(storage, "close", () => {
    isClosed = true;
  });
  /** @type {(done: null) => void} */
  let release = () => {};
  storage.onCommit = (changes) => {
    storage.onCommit = null;
    return new Promise((resolve) => {
      release = resolve;
    }).then(() => storage.commit(changes, undefined));
  };
  const made = client.call("POST", "/user/tools", toolAt("https://x.example/"));
  await new Promise((resolve) => setTimeout(resolve, 5));
  const closed = client.service.close();
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(isClosed, false);
  release(null);
  assert.equal((await made).status, 201);
  await closed;
  assert.equal(isClosed, true);
  assert.deepEqual(client.reported, []);
});
