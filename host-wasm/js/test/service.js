/**
 * A service for tests, and its client.
 *
 * @import { Secrets, Service, ServiceOptions } from "../npm/index.d.ts"
 * @import { Change, Read } from "../npm/storage/storage.d.ts"
 */

import { createService, loadModule } from "../npm/index.js";
import { MemoryStorage } from "../npm/storage/memory.js";

const module = await loadModule();

/** An assistant on which every operation works. */
export const ASSISTANT = {
  name: "Anna",
  voice_id: 1,
  language_id: 1,
  type: "outbound",
  mode: "pipeline",
  timezone: "Europe/Bucharest",
  llm_model_id: 1,
  initial_message: "Hello, this is Anna.",
  system_prompt: "You confirm appointments.",
};

/** @param {string} endpoint */
export const toolAt = (endpoint) => ({ name: "probe", description: "Tries.", method: "POST", timeout: 1, endpoint });

/** A storage that answers asynchronously. */
export class Slow {
  #storage;

  /** @param {MemoryStorage} storage */
  constructor(storage) {
    this.#storage = storage;
  }

  /** @param {Read[]} reads @param {any} [picture] */
  async read(reads, picture) {
    await new Promise((resolve) => setTimeout(resolve, 0));
    return this.#storage.read(reads, picture);
  }

  /** @param {Change[]} changes @param {any} picture */
  async commit(changes, picture) {
    await new Promise((resolve) => setTimeout(resolve, 0));
    return this.#storage.commit(changes, picture);
  }
}

/** A clock that the test moves. */
export class Time {
  ms = 1_790_000_000_000;
  now = () => this.ms;
}

/** A timer that never fires, for a service that is driven by the test. @returns {() => void} */
const idle = () => () => {};

/**
 * Opens a service over a new store. Its reports are recorded; its timers are the test's.
 *
 * @param {Partial<ServiceOptions>} [options]
 */
export async function open(options) {
  /** @type {unknown[]} */
  const reported = [];
  /** @type {Secrets | undefined} */
  let secrets;
  const platform = new Platform();
  const service = await createService({
    storage: new MemoryStorage(),
    wasm: module,
    report: (error) => reported.push(error),
    onFirstStart: (told) => {
      secrets = told;
    },
    schedule: (atMs) => {
      platform.atMs = atMs;
    },
    waitUntil: (work) => platform.background.push(work),
    timer: idle,
    ...options,
  });
  return new Client(service, /** @type {Secrets} */ (secrets), reported, platform);
}

/** Records what a service tells its platform. */
class Platform {
  /** @type {number | null} */
  atMs = null;
  /** @type {Promise<unknown>[]} */
  background = [];
}

export class Client {
  /**
   * @param {Service} service
   * @param {Secrets} secrets
   * @param {unknown[]} reported
   * @param {Platform} platform
   */
  constructor(service, secrets, reported, platform) {
    this.platform = platform;
    this.service = service;
    this.secrets = secrets;
    this.reported = reported;
  }

  /**
   * Sends a request; the body of its answer is not read yet.
   *
   * @param {string} method
   * @param {string} path
   * @param {RequestInit & { json?: unknown, token?: string | null }} [options]
   */
  send(method, path, { json, token = this.secrets?.apiKey, headers, ...rest } = {}) {
    const all = new Headers(headers);
    if (token !== null) all.set("authorization", `Bearer ${token}`);
    if (json !== undefined) all.set("content-type", "application/json");
    const body = json === undefined ? rest.body : JSON.stringify(json);
    return this.service(new Request(`http://host.test${path}`, { ...rest, method, headers: all, body }));
  }

  /**
   * Sends a request; returns status and JSON of its answer.
   *
   * @param {string} method
   * @param {string} path
   * @param {unknown} [json]
   * @param {string | null} [token]
   * @returns {Promise<{ status: number, json: any, headers: Headers }>}
   */
  async call(method, path, json, token) {
    const response = await this.send(method, path, { json, token });
    const text = await response.text();
    return { status: response.status, headers: response.headers, json: text === "" ? null : JSON.parse(text) };
  }

  /** Creates an engine token. */
  async engine() {
    const made = await this.call("POST", "/admin/engine-tokens", { name: "engine" }, this.secrets.adminToken);
    return /** @type {string} */ (made.json.token ?? made.json.data?.token);
  }

  /** Ticks until nothing is due; returns when more work will be. @param {Time} time */
  async settle(time) {
    for (let turns = 0; turns < 100; turns++) {
      const { atMs, background } = this.platform;
      if (atMs === null || atMs > time.ms) return atMs;
      await this.service.tick();
      while (background.length > 0) await background.pop();
    }
    throw new Error("there is always more to do");
  }
}
