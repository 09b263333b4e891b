/**
 * Switchboard as a Cloudflare Worker: the whole service on Durable Objects with SQLite, one object for each account
 * and one, the root, for what belongs to none: logins, operators, engines, and durable work.
 *
 * @import { Config, Service, ServiceOptions } from "../../npm/index.d.ts"
 * @import { Peer } from "../../npm/storage/durable-object.d.ts"
 * @typedef {Peer & { fetch(request: Request): Promise<Response> }} Stub
 * @typedef {{ equals(other: unknown): boolean, name?: string }} Id
 * @typedef {object} Environment
 * @property {{ get(id: Id): Stub, idFromName(name: string): Id }} SPACES
 * @property {Config} [SETTINGS] what an operator sets, except secrets
 * @property {string} [LLM_KEY] `llm.key` of the settings
 * @property {string} [TWILIO_AUTH_TOKEN] `twilio.auth_token` of the settings
 * @property {string} [FIRST_START_TOKEN] who knows it makes the first account; without it the first request does
 * @property {string} [PEER_HEADER] the header in which the platform, and nobody else, says who asks
 */

// @ts-expect-error: the module is part of the runtime.
import { DurableObject } from "cloudflare:workers";

// @ts-expect-error: the runtime makes a `WebAssembly.Module` of it.
import wasm from "../../npm/wasm/core.wasm";
import { accountReader, createHost, createService } from "../../npm/index.js";
import { Shard } from "../../npm/storage/durable-object.js";

/** How long an account's object collects which keys were used before that is written down. */
const USED_MS = 61_000;

/** @type {ReturnType<typeof accountReader> | undefined} */
let reader;

export default {
  /**
   * Hands a request to the object that it concerns.
   *
   * @param {Request} request
   * @param {Environment} environment
   */
  async fetch(request, environment) {
    const accountOf = await (reader ??= accountReader(wasm));
    const account = accountOf(request.headers.get("authorization"));
    return stub(environment, account === null ? "root" : `account-${account}`).fetch(request);
  },
};

/** The object of a space; its name is the space's. */
export class SpaceObject extends DurableObject {
  /** @type {Shard | undefined} */
  #opened;
  /** @type {Promise<Service> | undefined} */
  #starting;
  /** @type {Service | undefined} */
  #service;
  #isWriteDownPlanned = false;

  /**
   * @param {{ id: Id, storage: any, waitUntil(work: Promise<unknown>): void }} context
   * @param {Environment} environment
   */
  constructor(context, environment) {
    super(context, environment);
    this.context = context;
    this.environment = environment;
    this.isRoot = context.id.equals(environment.SPACES.idFromName("root"));
  }

  /** @param {Request} request */
  async fetch(request) {
    // Who makes a token up may name any account. Of one that is not there nothing is kept: the root refuses.
    if (!this.isRoot && !this.#isKept) return stub(this.environment, "root").fetch(request);
    if (this.isRoot && isFirstStart(request, this.environment)) return this.#firstStart();
    const service = await this.#start();
    if (!this.isRoot) this.#planWriteDown();
    return service(request, { peer: peerOf(request, this.environment) });
  }

  async alarm() {
    if (!(await this.#shard.alarm())) return;
    const service = await this.#start();
    if (!this.isRoot) {
      this.#isWriteDownPlanned = false;
      this.#shard.wakeAt(null);
    }
    await service.tick();
  }

  /** @type {Peer["read"]} */
  read(ask) {
    if (this.#isKept) return this.#shard.read(ask);
    return { found: ask.reads.map((read) => ("get" in read ? null : [])), cut: false, commits: 0 };
  }

  /** @type {Peer["prepare"]} */
  prepare(claim) {
    return this.#shard.prepare(claim);
  }

  /** @type {Peer["finish"]} */
  finish(id, committed) {
    return this.#shard.finish(id, committed);
  }

  /** @type {Peer["decision"]} */
  decision(id, participant) {
    return this.#shard.decision(id, participant);
  }

  /** @type {Peer["dump"]} */
  dump(after) {
    return this.#shard.dump(after);
  }

  get #shard() {
    return (this.#opened ??= new Shard(this.context.storage, this.context.id.name, {
      peer: (space) => stub(this.environment, space),
      onCommit: (changes) => this.#committed(changes),
    }));
  }

  /** Whether anything was ever kept here. */
  get #isKept() {
    if (this.isRoot || this.#opened !== undefined) return true;
    const tables = this.context.storage.sql.exec("SELECT 1 FROM sqlite_master WHERE name = 'state'");
    return [...tables].length > 0;
  }

  /** The service over this object's store; where it cannot start, whoever comes next tries again. */
  #start() {
    this.#starting ??= createService(this.#options()).then(
      (service) => (this.#service = service),
      (error) => {
        this.#starting = undefined;
        throw error;
      },
    );
    return this.#starting;
  }

  /** @returns {ServiceOptions} */
  #options() {
    return {
      storage: this.#shard.storage,
      config: configOf(this.environment),
      wasm,
      // With the token the first start is asked for; without it the secrets are logged, once.
      firstStart: this.isRoot && !this.environment.FIRST_START_TOKEN,
      // Durable work is the root's: every commit that plans some changes a row there.
      schedule: (atMs) => this.isRoot && this.#shard.wakeAt(atMs),
      waitUntil: (work) => this.context.waitUntil(work),
    };
  }

  /**
   * Wakes who waits for these changes. A root whose service does not run yet is woken in any case, within the turn
   * of the commit: the alarm is then as durable as the work that it is for.
   *
   * @param {import("../../npm/storage/storage.d.ts").Change[]} changes
   */
  #committed(changes) {
    if (this.#service) this.#service.committed(changes);
    else if (this.isRoot) this.#shard.wakeAt(Date.now());
  }

  /** The word of used keys is written down by a tick, a while after the first of them. */
  #planWriteDown() {
    if (this.#isWriteDownPlanned) return;
    this.#isWriteDownPlanned = true;
    this.#shard.wakeAt(Date.now() + USED_MS);
  }

  /** Makes the first account and shows its secrets to who asked, once. */
  async #firstStart() {
    const host = await createHost(this.#options());
    const reply = await host.firstStart();
    if (reply?.body === undefined) return Response.json({ message: "This store has its owner." }, { status: 409 });
    const headers = { "content-type": "application/json", "cache-control": "no-store" };
    return new Response(/** @type {Uint8Array<ArrayBuffer>} */ (reply.body), { status: 201, headers });
  }
}

/** @param {Environment} environment @param {string} space */
function stub({ SPACES }, space) {
  return SPACES.get(SPACES.idFromName(space));
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

/** Whether somebody who knows the token asks for the first start. @param {Request} request @param {Environment} environment */
function isFirstStart(request, { FIRST_START_TOKEN }) {
  if (!FIRST_START_TOKEN || request.method !== "POST" || new URL(request.url).pathname !== "/first-start") return false;
  const encoder = new TextEncoder();
  const [given, known] = [request.headers.get("authorization") ?? "", `Bearer ${FIRST_START_TOKEN}`].map((text) => encoder.encode(text));
  // @ts-expect-error: an extension of the runtime. Its length is no secret.
  return given.length === known.length && crypto.subtle.timingSafeEqual(given, known);
}
