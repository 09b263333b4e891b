/** Waiting requests: long polls, live streams, and several hosts over one store. */

import assert from "node:assert/strict";
import test from "node:test";

import { MemoryStorage } from "../npm/storage/memory.js";
import { ASSISTANT, Slow, Time, open, toolAt } from "./service.js";

/** Opens a service with an engine and an assistant. @param {Parameters<typeof open>[0]} [options] */
async function house(options) {
  const client = await open(options);
  const engine = await client.engine();
  const { json } = await client.call("POST", "/user/assistant", ASSISTANT);
  const place = () =>
    client.call("POST", "/user/make_call", { assistant_id: json.data.id, phone_number: "+40700000001" });
  return { client, engine, place };
}

/** A change which says that a call is waiting. */
const WAITING = { put: new Uint8Array([0, 0, 0, 0, 0, 36]), value: new Uint8Array() };

/** @param {number} wait */
const claim = (wait) => ({ engine: "test", modes: ["pipeline"], capacity: 1, wait });

/** A storage in which something happens between the scan for waiting calls and its result. */
class Overtaken extends MemoryStorage {
  /** @type {(() => Promise<void>) | null} */
  meanwhile = null;

  /** @override @param {import("../npm/storage/storage.d.ts").Read[]} reads @param {any} [picture] @returns {any} */
  read(reads, picture) {
    const reading = super.read(reads, picture);
    const isLook = reads.some((read) => "from" in read && read.from[5] === 36);
    if (this.meanwhile === null || !isLook) return reading;
    const happens = this.meanwhile;
    this.meanwhile = null;
    return happens().then(() => reading);
  }
}

/** Timers that fire when the test says so. */
class Timers {
  /** @type {Set<{ ms: number, act: () => void }>} */
  waiting = new Set();

  /** @param {number} ms @param {() => void} act */
  timer = (ms, act) => {
    const one = { ms, act };
    this.waiting.add(one);
    return () => this.waiting.delete(one);
  };

  /** Fires one timer; returns the delay it was set for. */
  async elapse() {
    const [first] = this.waiting;
    assert.ok(first !== undefined, "somebody waits");
    this.waiting.delete(first);
    first.act();
    await turns();
    return first.ms;
  }
}

/** Waits until pending work has run. */
const turns = () => new Promise((resolve) => setTimeout(resolve, 5));

test("a claim waits for a call and is woken by it", async () => {
  const { client, engine, place } = await house();
  let isAnswered = false;
  const claimed = client.call("POST", "/engine/claim", claim(30), engine).finally(() => {
    isAnswered = true;
  });
  await turns();
  assert.equal(isAnswered, false);
  const placed = await place();
  assert.equal(placed.status, 200, JSON.stringify(placed.json));
  assert.equal((await claimed).json.calls.length, 1);
  assert.deepEqual(client.reported, []);
});

test("a claim ends when its time is over", async () => {
  const timers = new Timers();
  const time = new Time();
  const { client, engine } = await house({ timer: timers.timer, now: time.now });
  const claimed = client.call("POST", "/engine/claim", claim(7), engine);
  await turns();
  assert.equal(await timers.elapse(), 7_000);
  assert.deepEqual((await claimed).json, { calls: [], commands: [], checks: [] });
});

test("whoever went away takes no call", async () => {
  const { client, engine, place } = await house();
  const gone = new AbortController();
  const lost = client.send("POST", "/engine/claim", { token: engine, json: claim(30), signal: gone.signal });
  await turns();
  gone.abort();
  assert.notEqual((await lost).status, 200);
  await place();
  assert.equal((await client.call("POST", "/engine/claim", claim(0), engine)).json.calls.length, 1);
});

test("what is committed before somebody listens is not missed", async () => {
  const storage = new Overtaken();
  const { engine, place } = await house({ storage });
  const other = await open({ storage });
  assert.deepEqual((await other.call("POST", "/engine/claim", claim(0), engine)).json, { calls: [], commands: [], checks: [] });
  storage.meanwhile = async () => {
    assert.equal((await place()).status, 200);
    other.service.committed([WAITING]);
  };
  const { json } = await other.call("POST", "/engine/claim", claim(30), engine);
  assert.equal(json.calls.length, 1);
});

test("a stop ends what waits", async () => {
  const { client, engine } = await house();
  const claimed = client.call("POST", "/engine/claim", claim(30), engine);
  await turns();
  await client.service.close();
  assert.deepEqual((await claimed).json, { calls: [], commands: [], checks: [] });
  assert.equal((await client.call("GET", "/user/me")).status, 503);
});

test("a live stream shows what happens, and says that it lives", async () => {
  const timers = new Timers();
  const { client, engine, place } = await house({ timer: timers.timer });
  const call = (await place()).json.call_id ?? 1;
  const response = await client.send("GET", `/user/calls/${call}/events`, { headers: { accept: "text/event-stream" } });
  assert.equal(response.headers.get("content-type"), "text/event-stream");
  assert.equal(response.headers.get("content-length"), null);
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const text = async () => new TextDecoder().decode((await reader.read()).value);
  assert.match(await text(), /^id: 1\ndata: \{.*\}\n\n/);
  await turns();
  assert.equal(await timers.elapse(), 15_000);
  assert.equal(await text(), ":\n\n");
  await client.call("POST", "/engine/claim", claim(0), engine);
  const events = [{ seq: 1, type: "ringing", at: "2026-09-21T14:13:20Z" }];
  const told = await client.call("POST", `/engine/calls/${call}/events`, { engine: "test", events }, engine);
  assert.equal(told.status, 200, JSON.stringify(told.json));
  let seen = "";
  while (!seen.includes("ringing")) seen += await text();
  assert.match(seen, /^id: 2\ndata: \{[^\n]*"claimed"[^\n]*\}\n\nid: 3\ndata: \{[^\n]*"ringing"[^\n]*\}\n\n$/);
  await reader.cancel();
  await turns();
  assert.equal(timers.waiting.size, 0);
  assert.deepEqual(client.reported, []);
});

test("a stream pays the rate limit once, and ends with its key", async () => {
  const time = new Time();
  const { client, place } = await house({ config: { rate_limit: 12 }, now: time.now });
  time.ms += 60_000;
  const { api_key: key } = (await client.call("POST", "/user/api-keys", { name: "Reader" })).json;
  const token = key.key ?? key.token;
  const response = await client.send("GET", "/user/events", { headers: { accept: "text/event-stream" }, token });
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  await reader.read();
  await turns();
  // This limit admits two requests at once.
  assert.equal((await client.call("GET", "/user/me", undefined, token)).status, 200);
  assert.equal((await client.call("GET", "/user/me", undefined, token)).status, 429);
  assert.equal((await client.call("DELETE", `/user/api-keys/${key.id}`)).status, 200);
  time.ms += 60_000;
  const next = reader.read();
  const call = (await place()).json.call_id;
  assert.equal((await client.call("POST", `/user/calls/${call}/hangup`)).status, 200);
  assert.equal((await next).done, true, "the call is news, but not for a key that is gone");
  assert.deepEqual(client.reported, []);
});

test("what another host commits wakes when it is told, or looked for", async () => {
  const storage = new MemoryStorage();
  const timers = new Timers();
  const { client, engine, place } = await house({ storage });
  const told = await open({ storage });
  const polls = await open({ storage, pollMs: 1_000, timer: timers.timer });
  const one = told.call("POST", "/engine/claim", claim(30), engine);
  const other = polls.call("POST", "/engine/claim", claim(30), engine);
  await turns();
  await place();
  await turns();
  assert.equal(await timers.elapse(), 1_000);
  assert.equal((await other).json.calls.length, 1);
  await place();
  told.service.committed([WAITING]);
  assert.equal((await one).json.calls.length, 1);
  assert.deepEqual([client.reported, told.reported, polls.reported], [[], [], []]);
});

test("many writers at once make one row each", async () => {
  const storage = new MemoryStorage();
  const one = await open({ storage: new Slow(storage) });
  const other = await open({ storage: new Slow(storage) });
  const writes = Array.from({ length: 12 }, async (_, at) => {
    const made = await (at % 3 === 0 ? other : one).call(
      "POST",
      "/user/tools",
      { ...toolAt("https://x.example/"), name: `tool_${String.fromCharCode(97 + at)}` },
      one.secrets.apiKey,
    );
    return made.json.data?.id ?? made;
  });
  const ids = await Promise.all(writes);
  assert.equal(new Set(ids).size, 12, JSON.stringify(ids));
  assert.equal((await one.call("GET", "/user/tools")).json.length, 12);
  assert.deepEqual([one.reported, other.reported], [[], []]);
});
