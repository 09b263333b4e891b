/** The outside of a service: tools, webhooks, and text extraction. */

import assert from "node:assert/strict";
import test from "node:test";

import { MemoryStorage } from "../npm/storage/memory.js";
import { ASSISTANT, Slow, Time, open, toolAt } from "./service.js";

/**
 * Creates an outside that records the requests to it.
 *
 * @param {(url: URL, init: RequestInit) => Response | Promise<Response>} answer
 */
function outside(answer) {
  /** @type {{ url: string, init: RequestInit & { headers: Headers } }[]} */
  const came = [];
  /** @type {any} */
  const fetch = async (/** @type {string} */ url, /** @type {any} */ init) => {
    came.push({ url, init });
    return answer(new URL(url), init);
  };
  return { came, fetch };
}

/**
 * Creates a function that calls a tool at an address.
 *
 * @param {Parameters<typeof open>[0]} options
 */
async function prober(options) {
  const client = await open({ ...options, config: { rate_limit: 0, ...options?.config } });
  return async (/** @type {string} */ endpoint, /** @type {object} */ more = {}) => {
    const made = await client.call("POST", "/user/tools", { ...toolAt(endpoint), ...more });
    assert.equal(made.status, 201, JSON.stringify(made.json));
    const got = await client.call("POST", `/user/tools/${made.json.data.id}/test`, {});
    await client.call("DELETE", `/user/tools/${made.json.data.id}`);
    return got;
  };
}

test("an endpoint gets the request, and its answer is shown", async () => {
  const { came, fetch } = outside(() => new Response('{"ok":true}', { status: 201 }));
  const probe = await prober({ fetch });
  const headers = [{ name: "X-Name", value: "Ană" }];
  const got = await probe("https://user:secret@tool.example/x?y=z", { headers });
  assert.deepEqual([got.status, got.json.status, got.json.body], [200, 201, '{"ok":true}']);
  const [{ url, init }] = came;
  assert.deepEqual([url, init.method, init.redirect], ["https://tool.example/x?y=z", "POST", "manual"]);
  assert.equal(init.headers.get("authorization"), `Basic ${btoa("user:secret")}`);
  assert.equal(init.headers.get("x-name"), "An\u00c4\u0083");
});

test("only what is open is asked", async () => {
  const { came, fetch } = outside(() => new Response("{}"));
  /** @type {Record<string, string[]>} */
  const names = { "good.example": ["93.184.216.34"], "mixed.example": ["93.184.216.34", "10.0.0.1"], "none.example": [] };
  const probe = await prober({ fetch, resolve: (name) => names[name] ?? [], config: { egress_allow: ["192.168.7.0/24"] } });
  for (const closed of [
    "http://10.0.0.1/",
    "http://0x7f.1/",
    "http://[::1]/",
    "http://[::ffff:10.0.0.1]/",
    "http://localhost/",
    "http://a.localhost./",
    "http://mixed.example/",
    "http://none.example/",
  ]) {
    assert.equal((await probe(closed)).status, 502, closed);
  }
  assert.deepEqual(came, []);
  for (const open of ["http://192.168.7.1/", "http://93.184.216.34/", "http://good.example/"]) {
    assert.equal((await probe(open)).status, 200, open);
  }
});

test("redirects stay with whom the request is meant for, and end", async () => {
  const to = (/** @type {number} */ status, /** @type {string} */ location) =>
    new Response(null, { status, headers: { location } });
  const { came, fetch } = outside((url) => {
    if (url.pathname === "/once") return to(307, "/ok");
    if (url.pathname === "/see") return to(303, "/ok");
    if (url.pathname === "/loop") return to(302, "/loop");
    if (url.pathname === "/elsewhere") return to(307, "https://other.example/");
    return new Response(url.pathname);
  });
  const probe = await prober({ fetch });
  for (const [path, status, methods] of /** @type {const} */ ([
    ["/once", 200, ["POST", "POST"]],
    ["/see", 200, ["POST", "GET"]],
    ["/loop", 302, ["POST", "POST", "POST", "POST"]],
    ["/elsewhere", 307, ["POST"]],
  ])) {
    came.length = 0;
    const got = await probe(`https://tool.example${path}`);
    assert.deepEqual([got.json.status, came.map(({ init }) => init.method)], [status, methods], path);
  }
});

test("an endpoint that misbehaves gets a clear answer", async () => {
  const { fetch } = outside((url) => {
    if (url.pathname === "/hang") return new Promise(() => {});
    if (url.pathname === "/reset") throw new TypeError("fetch failed");
    const endless = new ReadableStream({
      pull(controller) {
        if (url.pathname === "/broken") controller.error(new Error("it broke"));
        else controller.enqueue(new Uint8Array(100_000).fill(120));
      },
    });
    return new Response(endless);
  });
  const probe = await prober({ fetch });
  assert.equal((await probe("https://tool.example/hang")).status, 504);
  assert.equal((await probe("https://tool.example/reset")).status, 502);
  assert.equal((await probe("https://tool.example/broken")).status, 502);
  const large = await probe("https://tool.example/large");
  assert.deepEqual([large.status, large.json.body.length], [200, 1 << 20]);
});

test("a webhook is delivered in the background, and tried again", async () => {
  const time = new Time();
  let status = 500;
  const { came, fetch } = outside(() => new Response("{}", { status }));
  const storage = new MemoryStorage();
  const client = await open({ fetch, now: time.now, storage });
  const made = await client.call("POST", "/user/assistant", {
    ...ASSISTANT,
    webhook_url: "https://hook.example/",
    is_webhook_active: true,
    send_webhook_only_on_completed: false,
  });
  assert.equal(made.status, 201, JSON.stringify(made.json));
  await client.engine();
  const call = { assistant_id: made.json.data.id, phone_number: "+40700000001" };
  assert.equal((await client.call("POST", "/user/make_call", call)).status, 200);
  time.ms += 700_000;
  const next = /** @type {number} */ (await client.settle(time));
  assert.equal(came.length, 1, "the call that nobody took has failed, which is told");
  assert.equal(came[0].url, "https://hook.example/");
  assert.ok(came[0].init.headers.has("webhook-signature"));
  assert.ok(next > time.ms, "it is tried again");
  status = 200;
  // Another host takes over: it learns from the store what is due.
  const heir = await open({ fetch, now: time.now, storage });
  assert.equal(await heir.settle(time), next);
  time.ms = next;
  await heir.settle(time);
  assert.equal(came.length, 2);
  const { json } = await client.call("GET", "/user/webhook-deliveries");
  assert.equal(json.data[0].status, "delivered", JSON.stringify(json));
  assert.deepEqual(client.reported, []);
});

test("what is due is done by itself", async () => {
  /** @type {(read: number) => void} */
  let tell = () => {};
  const all = new Promise((resolve) => {
    tell = (read) => read === 6 && resolve(read);
  });
  let read = 0;
  const extract = () => {
    tell(++read);
    return { text: "We open at nine." };
  };
  // An undefined option counts as absent: the platform's timers are used.
  const client = await open({ extract, schedule: undefined, timer: undefined, storage: new Slow(new MemoryStorage()) });
  await client.call("POST", "/user/knowledgebases", { name: "Hours" });
  for (let count = 0; count < 6; count++) {
    const form = new FormData();
    form.append("name", `Hours ${count}`);
    form.append("type", "txt");
    form.append("file", new Blob(["."]), "hours.txt");
    const added = await client.send("POST", "/user/knowledgebases/1/documents", { body: form });
    assert.equal(added.status, 201, await added.text());
  }
  assert.equal(await all, 6);
  await client.service.close();
  assert.deepEqual(client.reported, []);
});

test("files are read by whoever was given for it", async () => {
  const upload = async (/** @type {Parameters<typeof open>[0]} */ options, /** @type {string} */ type) => {
    const time = new Time();
    const client = await open({ ...options, now: time.now });
    await client.call("POST", "/user/knowledgebases", { name: "Hours" });
    const form = new FormData();
    form.append("name", "Hours");
    form.append("type", type);
    form.append("file", new Blob(["We open at nine."]), `hours.${type}`);
    const added = await client.send("POST", "/user/knowledgebases/1/documents", { body: form });
    assert.equal(added.status, 201, await added.text());
    await client.settle(time);
    const hits = await client.call("POST", "/user/knowledgebases/1/search", { query: "when do you open?" });
    return { hits: hits.json.data, document: (await client.call("GET", "/user/knowledgebases/1/documents/1")).json.data };
  };
  const read = await upload({ extract: (_, bytes) => ({ text: new TextDecoder().decode(bytes) }) }, "txt");
  assert.match(JSON.stringify(read.hits), /We open at nine/);
  const refuses = () => {
    throw new Error("This file is damaged.");
  };
  assert.match(JSON.stringify((await upload({ extract: refuses }, "txt")).document), /This file is damaged\./);
  assert.match(JSON.stringify((await upload({}, "txt")).document), /This host reads no text files\./);
});
