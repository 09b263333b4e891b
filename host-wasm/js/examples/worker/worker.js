/**
 * Switchboard as a Cloudflare Worker: the whole installation in one Durable Object with SQLite.
 *
 * @import { Config, Service, ServiceOptions } from "../../npm/index.d.ts"
 * @typedef {{ fetch(request: Request): Promise<Response> }} Stub
 * @typedef {object} Environment
 * @property {{ get(id: unknown): Stub, idFromName(name: string): unknown }} INSTALLATION
 * @property {Config} [SETTINGS] the operator's settings, without secrets
 * @property {string} [LLM_KEY] `llm.key` of the settings
 * @property {string} [TWILIO_AUTH_TOKEN] `twilio.auth_token` of the settings
 * @property {string} [FIRST_START_TOKEN] required to create the first account; without it the first request does
 * @property {string} [PEER_HEADER] the header with the client's address, which only the platform can set
 */

// @ts-expect-error: the module is part of the runtime.
import { DurableObject } from "cloudflare:workers";

// @ts-expect-error: the runtime makes a `WebAssembly.Module` of it.
import wasm from "../../npm/wasm/core.wasm";
import { createHost, createService } from "../../npm/index.js";
import { DurableStorage } from "../../npm/storage/durable-object.js";

export default {
  /**
   * @param {Request} request
   * @param {Environment} environment
   */
  fetch(request, { INSTALLATION }) {
    return INSTALLATION.get(INSTALLATION.idFromName("main")).fetch(request);
  },
};

/** The object that holds and decides everything. */
export class Installation extends DurableObject {
  /** @type {Promise<Service> | undefined} */
  #starting;

  /**
   * @param {{ storage: any, waitUntil(work: Promise<unknown>): void }} context
   * @param {Environment} environment
   */
  constructor(context, environment) {
    super(context, environment);
    this.context = context;
    this.environment = environment;
    this.storage = new DurableStorage(context.storage);
  }

  /** @param {Request} request */
  async fetch(request) {
    if (isFirstStart(request, this.environment)) return this.#firstStart();
    const service = await this.#start();
    return service(request, { peer: peerOf(request, this.environment) });
  }

  /** Runs due work when the alarm fires. */
  async alarm() {
    const service = await this.#start();
    await service.tick();
  }

  /** Returns the service over this object's store; after a failed start the next caller retries. */
  #start() {
    this.#starting ??= createService(this.#options()).catch((error) => {
      this.#starting = undefined;
      throw error;
    });
    return this.#starting;
  }

  /** @returns {ServiceOptions} */
  #options() {
    return {
      storage: this.storage,
      config: configOf(this.environment),
      wasm,
      // With a token the first start must be requested; without it the credentials are logged, once.
      firstStart: !this.environment.FIRST_START_TOKEN,
      schedule: (atMs) => this.#wakeAt(atMs),
      waitUntil: (work) => this.context.waitUntil(work),
    };
  }

  /**
   * Sets the object's one alarm. It is called in the same turn as the commit that plans the work, so the alarm is as
   * durable as the commit.
   *
   * @param {number | null} atMs
   */
  #wakeAt(atMs) {
    const { storage } = this.context;
    void (atMs === null ? storage.deleteAlarm() : storage.setAlarm(atMs));
  }

  /** Creates the first account and shows its credentials to the caller, once. */
  async #firstStart() {
    // This host does not know what else is planned: the service checks at once.
    const host = await createHost({ ...this.#options(), schedule: () => this.#wakeAt(Date.now()) });
    const reply = await host.firstStart();
    if (reply?.body === undefined) return Response.json({ message: "This store has its owner." }, { status: 409 });
    const headers = { "content-type": "application/json", "cache-control": "no-store" };
    return new Response(/** @type {Uint8Array<ArrayBuffer>} */ (reply.body), { status: 201, headers });
  }
}

/** @param {Environment} environment @returns {Config} */
function configOf({ SETTINGS = {}, LLM_KEY, TWILIO_AUTH_TOKEN }) {
  const config = { ...SETTINGS };
  if (config.llm && LLM_KEY) config.llm = { ...config.llm, key: LLM_KEY };
  if (config.twilio && TWILIO_AUTH_TOKEN) config.twilio = { ...config.twilio, auth_token: TWILIO_AUTH_TOKEN };
  return config;
}

/** @param {Request} request @param {Environment} environment */
function peerOf(request, { PEER_HEADER }) {
  return (PEER_HEADER && request.headers.get(PEER_HEADER)) || undefined;
}

/** Whether this is a valid request for the first start. @param {Request} request @param {Environment} environment */
function isFirstStart(request, { FIRST_START_TOKEN }) {
  if (!FIRST_START_TOKEN || request.method !== "POST" || new URL(request.url).pathname !== "/first-start") return false;
  const encoder = new TextEncoder();
  const [given, known] = [request.headers.get("authorization") ?? "", `Bearer ${FIRST_START_TOKEN}`].map((text) => encoder.encode(text));
  // @ts-expect-error: an extension of the runtime. Its length is no secret.
  return given.length === known.length && crypto.subtle.timingSafeEqual(given, known);
}
