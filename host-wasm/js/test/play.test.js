/** One script on several stores: the same answers and the same rows. */

import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

import { loadModule } from "../npm/index.js";
import { MemoryStorage } from "../npm/storage/memory.js";
import { SqliteStorage } from "../npm/storage/sqlite.js";
import { play } from "./play.js";
import { playKilled } from "./play-killed.js";
import { ASSISTANT, toolAt } from "./service.js";

const module = await loadModule();

/** Builds a script, one second per line. */
class Script {
  #lines = [JSON.stringify({ config: { rate_limit: 0, llm: { url: "https://llm.example/v1", model: "m" } } })];

  /** @param {object} act */
  add(act) {
    const count = this.#lines.length;
    const line = { now: 1_790_000_000_000_001 + count * 1_000_003, seed: count.toString(16).padStart(64, "0"), ...act };
    this.#lines.push(JSON.stringify(line));
    return this;
  }

  /**
   * @param {string} token
   * @param {string} method
   * @param {string} target
   * @param {unknown} [json]
   * @param {[string, string][]} [more]
   */
  http(token, method, target, json, more = []) {
    const headers = [["host", "api.test"], ["authorization", `Bearer ${token}`], ...more];
    const body = json === undefined ? null : btoa(JSON.stringify(json));
    if (body !== null) headers.push(["content-type", "application/json"]);
    return this.add({ http: { method, target, headers, body, peer: "192.0.2.1" } });
  }

  text() {
    return this.#lines.join("\n");
  }
}

/** @param {string} line of a transcript */
const bodyOf = (line) => JSON.parse(atob(JSON.parse(line).body));

/** @param {string} apiKey @param {string} adminToken */
function script(apiKey, adminToken) {
  const webhook = { webhook_url: "https://hook.example/missing", send_webhook_only_on_completed: false };
  const whole = new Script().add({ first: true });
  whole.http(apiKey, "GET", "/user/me").http("nobody", "GET", "/user/me").http(apiKey, "HEAD", "/user/tools");
  whole.http(apiKey, "POST", "/user/assistant", { ...ASSISTANT, ...webhook, is_webhook_active: true });
  whole.http(apiKey, "POST", "/user/tools", toolAt("https://tool.example/refuse"));
  whole.http(apiKey, "POST", "/user/tools/1/test", {}).http(adminToken, "POST", "/admin/engine-tokens", { name: "e" });
  whole.http("nobody", "POST", "/user/login", { email: "owner@localhost", password: "wrong" });
  whole.http(apiKey, "POST", "/user/make_call", { assistant_id: 1, phone_number: "+40700000001" });
  whole.http(apiKey, "POST", "/user/calls/1/hangup").http(apiKey, "GET", "/user/events");
  whole.http(apiKey, "GET", "/user/events", undefined, [["accept", "text/event-stream"]]);
  for (let turns = 0; turns < 6; turns++) whole.add({ tick: true }).add({ answer: true });
  return whole.http(apiKey, "GET", "/user/webhook-deliveries").text();
}

test("a script comes to the same on every store, and with hosts that are killed", async () => {
  const folder = await mkdtemp(join(tmpdir(), "play-"));
  try {
    const [first] = await play(new Script().add({ first: true }).text(), new MemoryStorage(), module);
    const { api_key: apiKey, admin_token: adminToken } = bodyOf(first);
    const whole = script(apiKey, adminToken);
    const transcript = await play(whole, new MemoryStorage(), module);
    const file = new SqliteStorage(join(folder, "store"));
    assert.deepEqual(await play(whole, file, module), transcript);
    file.close();
    assert.deepEqual(await playKilled(whole, join(folder, "killed"), 9), transcript);
    const statuses = transcript.map((line) => JSON.parse(line).status);
    assert.deepEqual(statuses.slice(1, 13), [200, 401, 200, 201, 201, 502, 201, 401, 200, 200, 200, 200]);
    const deliveries = bodyOf(transcript[transcript.length - 2]);
    assert.equal(deliveries.data[0].attempts[0].status ?? deliveries.data[0].attempts[0].status_code, 404);
  } finally {
    await rm(folder, { recursive: true });
  }
});
