/** The service as its users see it. */

import assert from "node:assert/strict";
import test from "node:test";

import { createService } from "../npm/index.js";
import { MemoryStorage } from "../npm/storage/memory.js";
import { ASSISTANT, Time, open, toolAt } from "./service.js";

test("what is made is found, listed, changed and deleted", async () => {
  const client = await open();
  const made = await client.call("POST", "/api/user/assistant", ASSISTANT);
  assert.equal(made.status, 201, JSON.stringify(made.json));
  const path = `/api/user/assistant/${made.json.data.id}`;
  assert.equal((await client.call("GET", path)).json.name, "Anna");
  assert.equal((await client.call("GET", "/api/user/assistants")).json.length, 1);
  assert.equal((await client.call("PATCH", path, { name: "Bea" })).status, 200);
  assert.equal((await client.call("GET", "/api/user/assistants/get?per_page=10")).json.data[0].name, "Bea");
  assert.equal((await client.call("DELETE", path)).status, 200);
  assert.equal((await client.call("GET", path)).status, 404);
  assert.deepEqual(client.reported, []);
});

test("what cannot be is refused in the words of every host", async () => {
  const client = await open();
  for (const [method, path, status, message] of /** @type {const} */ ([
    ["GET", "/nowhere", 404, "Not found."],
    ["DELETE", "/user/me", 405, "This method is not allowed here."],
    ["GET", `/${"x".repeat(9000)}`, 414, "The request target is too long."],
  ])) {
    const got = await client.call(method, path);
    assert.deepEqual([got.status, got.json.message], [status, message]);
  }
  const nobody = await client.call("GET", "/user/me", undefined, null);
  assert.deepEqual([nobody.status, nobody.headers.get("www-authenticate")], [401, "Bearer"]);
  const wrong = await client.call("POST", "/user/tools", { name: "Not a name" });
  assert.equal(wrong.status, 422);
  assert.deepEqual(Object.keys(wrong.json.errors), ["name", "description", "endpoint", "method"]);
});

test("HEAD, 204 and 304 have no bodies", async () => {
  const client = await open();
  const me = await client.send("GET", "/user/me");
  const length = (await me.arrayBuffer()).byteLength;
  assert.equal(me.headers.get("x-content-type-options"), "nosniff");
  const head = await client.send("HEAD", "/user/me");
  assert.deepEqual([head.status, head.headers.get("content-length"), head.body], [200, String(length), null]);
  const health = await client.send("HEAD", "/healthz");
  assert.deepEqual([health.headers.get("content-length"), health.body], ["15", null]);
  const etag = /** @type {string} */ (me.headers.get("etag"));
  const same = await client.send("GET", "/user/me", { headers: { "if-none-match": etag } });
  assert.deepEqual([same.status, same.body, same.headers.get("content-length")], [304, null, null]);
  const options = await client.send("OPTIONS", "/user/me");
  assert.deepEqual([options.status, options.body, options.headers.get("allow")], [204, null, "GET, HEAD, PUT, OPTIONS"]);
});

test("a body is read when it is wanted, and no further than it may go", async () => {
  const client = await open();
  let pulled = 0;
  const endless = () =>
    new ReadableStream({
      pull(controller) {
        pulled += 1;
        controller.enqueue(new Uint8Array(64 << 10));
      },
    });
  /** @param {RequestInit & { token?: null }} options */
  const post = (options) => client.send("POST", "/user/tools", /** @type {any} */ ({ duplex: "half", ...options }));
  const nobody = await post({ token: null, body: endless() });
  assert.deepEqual([nobody.status, pulled < 3], [401, true]);
  const long = await post({ body: endless() });
  assert.equal(long.status, 413);
  assert.ok(pulled < 32, `${pulled} chunks of 64 kB were read`);
  const typed = await post({ headers: { "content-type": "text/plain" }, body: "{}" });
  assert.equal(typed.status, 415);
  const broken = new ReadableStream({
    start(controller) {
      controller.enqueue(new TextEncoder().encode("{"));
      controller.error(new Error("the connection broke"));
    },
  });
  const cut = await post({ body: broken });
  assert.deepEqual([cut.status, await cut.json()], [400, { message: "The request body broke off." }]);
});

test("a body that does not come is not waited for", async (t) => {
  if (t.mock?.timers === undefined) return t.skip("this runtime has no timers of tests");
  const client = await open();
  t.mock.timers.enable({ apis: ["setTimeout"] });
  try {
    /** @type {any} */
    const request = { duplex: "half", body: new ReadableStream() };
    const got = client.send("POST", "/user/tools", request);
    await new Promise((resolve) => setImmediate(resolve));
    t.mock.timers.tick(15_000 + (1 << 20) / 32);
    assert.deepEqual(await (await got).json(), { message: "The request body broke off." });
  } finally {
    t.mock.timers.reset();
  }
});

test("a login compares the password and gives a token", async () => {
  const client = await open();
  const { email, password } = client.secrets;
  const wrong = await client.call("POST", "/user/login", { email, password: "wrong" }, null);
  assert.equal(wrong.status, 401);
  const right = await client.call("POST", "/user/login", { email, password }, null);
  assert.equal(right.status, 200);
  assert.equal((await client.call("GET", "/user/me", undefined, right.json.token)).json.email, email);
});

test("a conversation is held with the simulated model, and kept", async () => {
  /** @type {string[]} */
  const asked = [];
  /** @type {any} */
  const fetch = async (/** @type {string} */ url) => {
    asked.push(url);
    return new Response("sun");
  };
  const storage = new MemoryStorage();
  const client = await open({ fetch, storage });
  const tool = { ...toolAt("https://tool.example/weather"), name: "look_up_weather" };
  const tools = [(await client.call("POST", "/user/tools", tool)).json.data.id];
  const made = await client.call("POST", "/user/assistant", { ...ASSISTANT, tool_ids: tools });
  const begun = await client.call("POST", "/conversations", { assistant_id: made.json.data.id, type: "test" });
  assert.deepEqual(begun.json.history, [{ role: "assistant", content: "Hello, this is Anna." }]);
  const path = `/conversations/${begun.json.conversation_id}`;
  const said = await client.call("POST", `${path}/messages`, { message: "Hello" });
  assert.deepEqual([said.status, said.json.function_calls], [200, []]);
  assert.match(said.json.message, /^This is the simulated model of Anna/);
  const json = { message: "Look up the weather" };
  const followed = await client.send("POST", `${path}/messages`, { json, headers: { accept: "text/event-stream" } });
  assert.equal(followed.headers.get("content-type"), "text/event-stream");
  const frames = (await followed.text()).trimEnd().split("\n\n").map((frame) => {
    const [, event, data] = /** @type {RegExpMatchArray} */ (frame.match(/^event: (.*)\ndata: (.*)$/));
    return [event, JSON.parse(data)];
  });
  const calls = [{ name: "look_up_weather", arguments: {}, result: "sun" }];
  const message = "This is the simulated model of Anna; it reads no prompt. The function answered: sun";
  assert.deepEqual(frames, [
    ["tool", { name: "look_up_weather", status: "running" }],
    ["tool", { name: "look_up_weather", status: "done" }],
    ["delta", { text: message }],
    ["done", { status: true, message, function_calls: calls }],
  ]);
  assert.deepEqual(asked, ["https://tool.example/weather"]);
  // Another host over the same store goes on with it.
  const heir = await open({ storage });
  const kept = await heir.call("GET", path, undefined, client.secrets.apiKey);
  const texts = ["Hello, this is Anna.", "Hello", said.json.message, "Look up the weather", message];
  assert.deepEqual(kept.json.history.map((/** @type {any} */ one) => one.content), texts);
  assert.deepEqual(kept.json.history[4].function_calls, calls);
  assert.equal((await heir.call("GET", path, undefined, null)).status, 404, "a test is nobody else's");
  assert.deepEqual(client.reported, []);
});

test("a store gets its owner once, and other settings a clear sentence", async () => {
  const storage = new MemoryStorage();
  const { secrets } = await open({ storage });
  const again = await open({ storage });
  assert.equal(again.secrets, undefined);
  assert.equal((await again.call("GET", "/user/me", undefined, secrets.apiKey)).status, 200);
  const without = await open({ firstStart: false });
  assert.equal(without.secrets, undefined);
  await assert.rejects(createService({ storage, config: { public_url: "nowhere" } }), {
    message: "The public url field must be a valid URL.",
  });
});

test("pages of the host", async () => {
  const client = await open();
  const { adminToken } = client.secrets;
  assert.deepEqual((await client.call("GET", "/healthz", undefined, null)).json, { status: "ok" });
  assert.deepEqual((await client.call("GET", "/readyz", undefined, null)).json, { status: "ready" });
  assert.equal((await client.call("GET", "/metrics")).status, 401);
  for (const path of ["/metrics", "/docs", "/admin/backup", "/admin/store", "/admin/nodes"]) {
    const got = await client.call("GET", path, undefined, adminToken);
    assert.deepEqual([got.status, typeof got.json.message], [501, "string"], path);
  }
  for (const path of ["/console", "/console/calls/1", "/console/console.js"]) {
    const got = await client.call("GET", path, undefined, null);
    assert.deepEqual([got.status, got.json], [404, { message: "This host has no console." }], path);
  }
  assert.equal((await client.call("GET", "/")).json.name, "Switchboard");
  const page = await client.send("GET", "/", { headers: { accept: "text/html" }, token: null });
  assert.deepEqual([page.status, page.headers.get("content-type")], [200, "text/html; charset=utf-8"]);
  assert.match(await page.text(), /openapi\.json/);
  assert.equal((await client.call("GET", "/openapi.json")).json.openapi.startsWith("3."), true);
});

test("the rate limit holds, and a key's last use is written down once a minute", async () => {
  const time = new Time();
  const client = await open({ config: { rate_limit: 6 }, now: time.now });
  assert.equal((await client.call("GET", "/user/me")).status, 200);
  const limited = await client.call("GET", "/user/me");
  assert.deepEqual([limited.status, limited.headers.get("retry-after")], [429, "10"]);
  time.ms += 59_000;
  assert.equal(await client.service.tick(), 1_790_000_060_000, "it comes back for it");
  const before = await client.call("GET", "/user/api-keys");
  assert.equal(before.json.api_keys[0].last_used_at, null);
  time.ms += 20_000;
  await client.settle(time);
  const after = await client.call("GET", "/user/api-keys");
  assert.equal(typeof after.json.api_keys[0].last_used_at, "string");
});

test("the clock never runs backwards", async () => {
  const time = new Time();
  const client = await open({ now: time.now });
  const first = await client.call("POST", "/user/tools", toolAt("https://one.example/"));
  time.ms -= 3_600_000;
  const second = await client.call("POST", "/user/tools", toolAt("https://two.example/"));
  assert.equal(first.status, 201);
  assert.ok(second.json.data.created_at >= first.json.data.created_at, JSON.stringify(second.json));
});
