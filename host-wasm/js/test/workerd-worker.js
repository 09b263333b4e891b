/**
 * The worker of the tests under workerd: the objects as an application would have them, the suite over several
 * of them, and writers that are going to be killed. An object's name is a world and a space: each case has a
 * world of its own.
 *
 * @import { Change, Found, Read, Storage } from "../npm/storage/storage.d.ts"
 */

// @ts-expect-error: the module is part of the runtime.
import { DurableObject } from "cloudflare:workers";

import { Shard } from "../npm/storage/durable-object.js";
import { bench } from "./storage-bench.js";
import { exchange } from "./storage-contention.js";
import { cases } from "./storage-suite.js";
import { check, everything, key } from "./world.js";

/** @typedef {{ SPACES: { get(id: unknown): any, idFromName(name: string): unknown } }} Environment */

const SPACES = ["root", "account-1", "account-2"];
/** The spaces that always change together, and the key under which each counts. */
export const GROUPS = [[0, 1], [1, 2], [0, 2], [0, 1, 2]];
const GROUP = 9;

export class SpaceObject extends DurableObject {
  /** @param {{ id: { name?: string }, storage: any }} context @param {Environment} environment */
  constructor(context, environment) {
    super(context, environment);
    const [world, space] = context.id.name?.split("/") ?? [];
    if (world !== undefined) context.storage.kv.put("world", world);
    const peer = (/** @type {string} */ name) => stub(environment, context.storage.kv.get("world"), name);
    this.shard = new Shard(context.storage, space, { peer });
  }

  /** @param {Parameters<Shard["read"]>} args */
  read(...args) {
    return this.shard.read(...args);
  }

  /** @param {Parameters<Shard["prepare"]>} args */
  prepare(...args) {
    return this.shard.prepare(...args);
  }

  /** @param {Parameters<Shard["finish"]>} args */
  finish(...args) {
    return this.shard.finish(...args);
  }

  /** @param {Parameters<Shard["decision"]>} args */
  decision(...args) {
    return this.shard.decision(...args);
  }

  /** @param {Parameters<Shard["dump"]>} args */
  dump(...args) {
    return this.shard.dump(...args);
  }

  async alarm() {
    await this.shard.alarm();
  }

  /** The storage of this object's runs, for the suite. @param {Read[]} reads @param {any} picture */
  storageRead(reads, picture) {
    return this.shard.storage.read(reads, picture);
  }

  /** @param {Change[]} changes @param {any} picture */
  storageCommit(changes, picture) {
    return this.shard.storage.commit(changes, picture);
  }

  /** Raises the count of a group in all its spaces, and says to what. @param {number} group */
  async raise(group) {
    let raised = 0;
    const keys = GROUPS[group].map((account) => key(account, GROUP, group));
    await exchange(this.shard.storage, async (see) => {
      const counts = (await see(keys.map((get) => ({ get })))).map(countOf);
      check(new Set(counts).size === 1, `group ${group} has the counts ${counts}`);
      raised = counts[0] + 1;
      return keys.map((put) => ({ put, value: new Uint8Array(new Uint32Array([raised]).buffer) }));
    });
    return raised;
  }

  /** The counts of all groups, each space's. */
  async counts() {
    const reading = await this.shard.storage.read(SPACES.map((_, account) => everything(account)));
    const maps = reading?.found.map((rows) =>
      new Map(/** @type {[Uint8Array, Uint8Array][]} */ (rows).map(([at, value]) => [at[6], countOf(value)]))
    );
    return GROUPS.map((accounts, group) => accounts.map((account) => maps?.[account].get(group) ?? 0));
  }

  /** A commit over two spaces that is larger than a call between them may be, and its rows read back. */
  async bulk() {
    const value = new Uint8Array(1_000).fill(7);
    const put = (/** @type {number} */ account, /** @type {number} */ at) => ({
      put: key(account, at >> 16, at >> 8, at),
      value,
    });
    const changes = Array.from({ length: 60_000 }, (_, at) => put(1 + (at % 3 === 0 ? 0 : 1), at));
    const { storage } = this.shard;
    const { picture } =
      /** @type {{ picture: any }} */ (await storage.read([1, 2].map((account) => ({ get: key(account) }))));
    check(await storage.commit(changes, picture), "the commit is made");
    for (const descending of [false, true]) {
      const reading = await storage.read([1, 2].map((account) => ({ ...everything(account), descending })));
      const [ones, twos] = /** @type {[Uint8Array, Uint8Array][][]} */ (reading?.found);
      check(ones.length === 20_000 && twos.length === 40_000, `${ones.length} and ${twos.length} rows`);
      const keys = twos.map(([at]) => at.slice(5).reduce((number, byte) => number * 256 + byte, 0));
      check(keys.every((at, n) => n === 0 || (descending ? at < keys[n - 1] : at > keys[n - 1])), "in order");
    }
    /** @type {Uint8Array | null | undefined} */
    let after;
    let rows = 0;
    do {
      /** @type {import("../npm/storage/durable-object.d.ts").Page} */
      const page = this.shard.dump(after ?? undefined);
      rows += page.rows.length;
      after = page.next;
    } while (after !== null);
    check(rows === 20_000, `a dump of ${rows} rows`);
    return "passed";
  }

  /** Figures of a run in its own object. */
  bench() {
    return bench(this.shard.storage);
  }
}

/** @param {Found} found */
function countOf(found) {
  return found instanceof Uint8Array ? new Uint32Array(new Uint8Array(found).buffer)[0] : 0;
}

/** @param {Environment} environment @param {string} world @param {string} space */
function stub(environment, world, space) {
  return environment.SPACES.get(environment.SPACES.idFromName(`${world}/${space}`));
}

/**
 * Storages of one map: the objects of three spaces.
 *
 * @param {Environment} environment
 * @param {string} world
 * @returns {Storage[]}
 */
function storesOf(environment, world) {
  return SPACES.map((space) => {
    const object = stub(environment, world, space);
    return {
      read: (reads, picture) => object.storageRead(reads, picture),
      commit: (changes, picture) => object.storageCommit(changes, picture),
    };
  });
}

/**
 * Raises counts in several objects at once, for ever; a line for each that was acknowledged.
 *
 * @param {Environment} environment
 * @param {string} world
 */
function writeForEver(environment, world) {
  const { readable, writable } = new TransformStream();
  const writer = writable.getWriter();
  const encoder = new TextEncoder();
  GROUPS.forEach((accounts, group) =>
    accounts.forEach(async (account) => {
      for (;;) {
        await writer.write(
          encoder.encode(`${group} ${await stub(environment, world, SPACES[account]).raise(group)}\n`),
        );
      }
    })
  );
  return new Response(readable);
}

/** @type {Record<string, (environment: Environment, query: URLSearchParams) => Promise<Response> | Response>} */
const acts = {
  "/titles": () => Response.json(Object.keys(cases)),
  "/case": async (environment, query) => {
    const title = String(query.get("title"));
    const seed = Number(query.get("seed"));
    // What is given to an object in one call is bounded here; the largest commits are tried in an object.
    const world = {
      stores: storesOf(environment, `${title} ${seed}`),
      seed,
      commitBytesMax: 20_000_000,
      isDivided: true,
    };
    return cases[title](world).then(
      () => new Response("passed"),
      (error) => new Response(String(error.stack ?? error)),
    );
  },
  "/bulk": async (environment) => new Response(await stub(environment, "bulk", "account-1").bulk()),
  "/bench": async (environment) => Response.json(await stub(environment, "bench", "account-1").bench()),
  "/write": (environment) => writeForEver(environment, "write"),
  "/counts": async (environment, query) =>
    Response.json(await stub(environment, "write", String(query.get("space"))).counts()),
};

export default {
  /** @param {Request} request @param {Environment} environment */
  fetch(request, environment) {
    const { pathname, searchParams } = new URL(request.url);
    return acts[pathname](environment, searchParams);
  },
};
