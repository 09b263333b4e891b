/**
 * `deno run -A --unstable-kv play-deno.js SCRIPT OUT memory|deno-kv[:PATH]`: plays a script (play.js) and writes its
 * transcript.
 */

import { DenoKvStorage } from "../npm/storage/deno-kv.js";
import { MemoryStorage } from "../npm/storage/memory.js";
import { play } from "./play.js";

/** @type {any} */
const { Deno } = globalThis;

const [script, out, kind = "memory"] = Deno.args;
const [name, ...path] = kind.split(":");
if (out === undefined || !["memory", "deno-kv"].includes(name)) {
  throw new Error("usage: play-deno.js SCRIPT OUT memory|deno-kv[:PATH]");
}
const storage = name === "memory" ? new MemoryStorage() : await DenoKvStorage.open(path.join(":") || ":memory:");
const lines = await play(await Deno.readTextFile(script), storage);
await Deno.writeTextFile(out, `${lines.join("\n")}\n`);
if ("close" in storage) storage.close();
