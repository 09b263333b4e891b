/**
 * The worker of play-workerd.js: an object with a player (play.js) over its store, and an endpoint that plays one line.
 * For tests only: any caller sets the clock.
 *
 * @import { Send } from "../npm/host/types.d.ts"
 * @import { Line } from "./play.js"
 * @import { Change } from "../npm/storage/storage.d.ts"
 * @typedef {{ config: object, line: Line, pending: Send[], isRefill: boolean }} Turn a refill changes no row
 */

// @ts-expect-error: the module is part of the runtime.
import { DurableObject } from "cloudflare:workers";

import { DurableStorage } from "../npm/storage/durable-object.js";
import { Player, dump } from "./play.js";
import { packed, unpacked } from "./play-wire.js";

/**
 * The runtime makes a `WebAssembly.Module` of it; a variable hides it from type checkers, which would look for its
 * imports.
 */
const CORE = "../npm/wasm/core.wasm";
const { default: wasm } = await import(CORE);

/** @typedef {{ INSTALLATION: { get(id: unknown): any, idFromName(name: string): unknown } }} Environment */

/** A storage whose commits can be skipped. */
class Muted extends DurableStorage {
  isMuted = false;

  /**
   * @param {Change[]} changes
   * @param {number | undefined} picture
   */
  commit(changes, picture) {
    return this.isMuted || super.commit(changes, picture);
  }
}

export class Installation extends DurableObject {
  /** @type {Promise<Player> | undefined} */
  #player;

  /** @param {{ storage: any }} context @param {Environment} environment */
  constructor(context, environment) {
    super(context, environment);
    this.storage = new Muted(context.storage);
  }

  /** @param {Request} request */
  async fetch(request) {
    try {
      if (new URL(request.url).pathname === "/dump") return new Response(await dump(this.storage));
      return new Response(packed(await this.#play(unpacked(await request.text()))));
    } catch (error) {
      return new Response(/** @type {Error} */ (error).stack ?? String(error), { status: 500 });
    }
  }

  /** Plays a line; pending sends belong to the runner, so that they outlive this object. @param {Turn} turn */
  async #play({ config, line, pending, isRefill }) {
    const player = await (this.#player ??= Player.open(this.storage, config, wasm));
    this.storage.isMuted = isRefill;
    player.pending = pending;
    const result = await player.play(line);
    return { result, pending: player.pending };
  }
}

export default {
  /** @param {Request} request @param {Environment} environment */
  fetch(request, { INSTALLATION }) {
    return INSTALLATION.get(INSTALLATION.idFromName("main")).fetch(request);
  },
};
