/** A script under workerd, killed in between, gives the same transcript as in memory. */

import assert from "node:assert/strict";
import test from "node:test";

import { MemoryStorage } from "../npm/storage/memory.js";
import { play } from "./play.js";
import { playUnderWorkerd } from "./play-workerd.js";
import { ASSISTANT } from "./service.js";

const HOOK = { webhook_url: "https://hook.example/missing", is_webhook_active: true, send_webhook_only_on_completed: false };

/** @param {object[]} acts */
function scriptOf(acts) {
  const config = { rate_limit: 60, llm: { url: "https://llm.example/v1", model: "m" } };
  // Time stands still at first, so that buckets do not refill, and advances at the end.
  const now = (/** @type {number} */ at) => 1_790_000_000_000_001 + Math.max(0, at - 20) * 1_000_003;
  const lines = acts.map((act, at) => ({ now: now(at), seed: at.toString(16).padStart(64, "0"), ...act }));
  return [{ config }, ...lines].map((line) => JSON.stringify(line)).join("\n");
}

/** @param {string} token @param {string} method @param {string} target @param {unknown} [json] */
function http(token, method, target, json) {
  const headers = [["host", "api.test"], ["authorization", `Bearer ${token}`], ["content-type", "application/json"]];
  return { http: { method, target, headers, body: json === undefined ? null : btoa(JSON.stringify(json)), peer: "192.0.2.1" } };
}

/** @param {string} line of a transcript */
const bodyOf = (line) => JSON.parse(atob(JSON.parse(line).body));

test("a script survives the deaths of workerd", { timeout: 120_000 }, async () => {
  const [first] = await play(scriptOf([{ first: true }]), new MemoryStorage());
  const { api_key: apiKey, admin_token: operator } = bodyOf(first);
  const wrong = http("", "POST", "/user/login", { email: "owner@localhost", password: "wrong" });
  const script = scriptOf([
    { first: true },
    http(operator, "POST", "/admin/accounts", { email: "two@example.com" }),
    http(apiKey, "POST", "/user/assistant", { ...ASSISTANT, ...HOOK }),
    ...Array(7).fill(wrong),
    ...Array(12).fill(http(apiKey, "GET", "/user/me")),
    http(apiKey, "POST", "/user/make_call", { assistant_id: 1, phone_number: "+40700000001" }),
    ...Array(11).fill({ tick: true }),
    http(apiKey, "POST", "/user/calls/1/hangup"),
    ...Array(4).fill([{ tick: true }, { answer: true }]).flat(),
    http(apiKey, "GET", "/user/webhook-deliveries"),
  ]);
  const expected = await play(script, new MemoryStorage());
  const statuses = expected.map((line) => JSON.parse(line).status);
  assert.equal(statuses.filter((status) => status === 429).length, 4, `tries are limited: ${statuses}`);
  assert.ok(bodyOf(expected[expected.length - 2]).data.length > 0, "a webhook was sent");
  const { transcript, kills } = await playUnderWorkerd(script, 12);
  assert.equal(kills, 12);
  assert.deepEqual(transcript, expected);
});
