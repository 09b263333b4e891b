/**
 * The worker of play-workerd.js: the objects of a service, each with a player (play.js) over its shard, and an
 * endpoint that plays one line in the object to which it belongs. For tests only: whoever reaches it is the clock.
 *
 * @import { Send } from "../npm/host/types.d.ts"
 * @import { Line } from "./play.js"
 * @typedef {{ config: object, line: Line, pending: Send[] }} Turn
 */

// @ts-expect-error: the module is part of the runtime.
import { DurableObject } from "cloudflare:workers";

import { accountReader } from "../npm/index.js";
import { Shard } from "../npm/storage/durable-object.js";
import { Player, hex } from "./play.js";
import { packed, unpacked } from "./play-wire.js";

/** The runtime makes a `WebAssembly.Module` of it; tools that check types would look for what it imports. */
const CORE = "../npm/wasm/core.wasm";
const { default: wasm } = await import(CORE);
/** After every key. */
const END = new Uint8Array([255]);

/** @typedef {{ SPACES: { get(id: unknown): any, idFromName(name: string): unknown, idFromString(id: string): unknown } }} Environment */

export class SpaceObject extends DurableObject {
  /** @type {Promise<Player> | undefined} */
  #player;

  /** @param {{ id: { name?: string }, storage: any }} context @param {Environment} environment */
  constructor(context, environment) {
    super(context, environment);
    const peer = (/** @type {string} */ name) => environment.SPACES.get(environment.SPACES.idFromName(name));
    this.shard = new Shard(context.storage, context.id.name, { peer });
  }

  /** Plays a line; the sends that wait are the runner's, so that no end of this object loses them. @param {Turn} turn */
  async play({ config, line, pending }) {
    const player = await (this.#player ??= Player.open(this.shard.storage, config, wasm));
    player.pending = pending;
    const result = await player.play(line);
    return { result, pending: player.pending };
  }

  /** All rows of this space, once no commit is undecided in it. */
  async rows() {
    await this.shard.read({ reads: [{ from: new Uint8Array(), to: END, descending: false, limit: 1e9 }], wait: true });
    const rows = [];
    for (let after; after !== null; ) {
      const page = /** @type {import("../npm/storage/durable-object.d.ts").Page} */ (this.shard.dump(after));
      for (const [key, value] of page.rows) rows.push([hex(key), hex(value)]);
      after = page.next;
    }
    return rows;
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

  async alarm() {
    await this.shard.alarm();
  }
}

/** @type {ReturnType<typeof accountReader> | undefined} */
let reader;

/** The name of the object in which a line runs: requests with an account's token in that account's. @param {Line} line */
async function spaceOf({ http }) {
  const authorization = http?.headers.find(([name]) => name.toLowerCase() === "authorization")?.[1];
  const account = (await (reader ??= accountReader(wasm)))(authorization);
  return account === null ? "root" : `account-${account}`;
}

export default {
  /** @param {Request} request @param {Environment} environment */
  async fetch(request, { SPACES }) {
    const { pathname, searchParams } = new URL(request.url);
    try {
      if (pathname === "/rows") {
        const id = SPACES.idFromString(String(searchParams.get("id")));
        return new Response(JSON.stringify(await SPACES.get(id).rows()));
      }
      const turn = /** @type {Turn} */ (unpacked(await request.text()));
      const object = SPACES.get(SPACES.idFromName(await spaceOf(turn.line)));
      return new Response(packed(await object.play(turn)));
    } catch (error) {
      return new Response(/** @type {Error} */ (error).stack ?? String(error), { status: 500 });
    }
  },
};
