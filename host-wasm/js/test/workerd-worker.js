/**
 * The worker of the tests under workerd: objects, each with a storage, that run the suite, measure, or write until they
 * are killed. `world` in the query names the object.
 */

// @ts-expect-error: the module is part of the runtime.
import { DurableObject } from "cloudflare:workers";

import { DurableStorage } from "../npm/storage/durable-object.js";
import { bench } from "./storage-bench.js";
import { cases } from "./storage-suite.js";
import { lastCommit, writeForEver } from "./witness.js";
import { check, everything, found, key } from "./world.js";

/** @typedef {{ WORLDS: { get(id: unknown): any, idFromName(name: string): unknown } }} Environment */

/** @param {DurableStorage} storage */
async function isWhole(storage) {
  const value = new Uint8Array(1);
  const unfit = /** @type {any} */ (Symbol("no bytes"));
  const changes = [{ put: key(1, 1), value }, { put: key(1, 2), value: unfit }];
  const outcome = await Promise.resolve().then(() => storage.commit(changes, undefined)).catch((error) => error);
  check(outcome instanceof Error, "the second change cannot be made");
  check(String(await found(storage, [everything(1)])) === "", "so the first was not made either");
}

/** @type {Record<string, (storage: DurableStorage, query: URLSearchParams) => Response | Promise<Response>>} */
const acts = {
  "/case": (storage, query) => {
    const title = String(query.get("title"));
    return cases[title]({ stores: [storage], seed: Number(query.get("seed")) }).then(
      () => new Response("passed"),
      (error) => new Response(String(error.stack ?? error)),
    );
  },
  "/whole": async (storage) => new Response(await isWhole(storage).then(() => "passed", String)),
  "/bench": async (storage) => Response.json(await bench(storage)),
  "/last": async (storage) => Response.json(await lastCommit(storage, 1)),
  "/write": (storage) => {
    const { readable, writable } = new TransformStream();
    const writer = writable.getWriter();
    const encoder = new TextEncoder();
    void writeForEver(storage, 1, (number) => writer.write(encoder.encode(`${number}\n`)));
    return new Response(readable);
  },
};

export class WorldObject extends DurableObject {
  /** @param {{ storage: any }} context @param {Environment} environment */
  constructor(context, environment) {
    super(context, environment);
    this.context = context;
    this.storage = new DurableStorage(context.storage);
  }

  /** @param {Request} request */
  fetch(request) {
    const { pathname, searchParams } = new URL(request.url);
    if (pathname === "/old") return this.#openOld();
    return acts[pathname](this.storage, searchParams);
  }

  /** Returns whether the tables of another format are rejected. */
  #openOld() {
    const { storage } = this.context;
    storage.sql.exec("UPDATE state SET format = 1");
    try {
      new DurableStorage(storage);
      return new Response("it was opened");
    } catch (error) {
      return new Response(String(error).includes("format 1") ? "passed" : String(error));
    }
  }
}

export default {
  /** @param {Request} request @param {Environment} environment */
  fetch(request, { WORLDS }) {
    return WORLDS.get(WORLDS.idFromName(String(new URL(request.url).searchParams.get("world")))).fetch(request);
  },
};
