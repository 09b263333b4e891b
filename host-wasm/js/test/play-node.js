/**
 * `node play-node.js SCRIPT OUT memory|sqlite[:PATH] [--kills N]`, or `deno run -A play-node.js …`: plays a script
 * (play.js) and writes its transcript; over SQLite by hosts that are killed N times, each between two lines
 * (play-killed.js). In memory it plays any number of scripts one after another, each in a new store.
 */

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";

import { loadModule } from "../npm/index.js";
import { MemoryStorage } from "../npm/storage/memory.js";
import { play } from "./play.js";

const { positionals, values } = parseArgs({
  allowPositionals: true,
  options: { kills: { type: "string", default: "0" } },
});
const [script, out, kind = "memory"] = positionals;
const kills = Number(values.kills);
const folder = await mkdtemp(join(tmpdir(), "play-"));
try {
  const [name, ...path] = kind.split(":");
  if (out === undefined || !["memory", "sqlite"].includes(name)) {
    throw new Error("usage: play-node.js SCRIPT OUT memory|sqlite[:PATH] [--kills N]");
  }
  if (!Number.isInteger(kills) || (kills > 0 && name === "memory")) {
    throw new Error("only what SQLite keeps survives kills");
  }
  const file = path.length > 0 ? path.join(":") : join(folder, "store");
  const text = await readFile(script, "utf8");
  const onDisk = async () => kills > 0 ? killed(text, file) : play(text, await sqlite(file));
  const lines = await (name === "memory" ? inMemory(text) : onDisk());
  await writeFile(out, `${lines.join("\n")}\n`);
} finally {
  await rm(folder, { recursive: true });
}

/**
 * Plays scripts in memory; each begins with its configuration.
 *
 * @param {string} text
 */
async function inMemory(text) {
  const wasm = await loadModule();
  /** @type {string[]} */
  const lines = [];
  for (const script of text.split(/^(?=\{"config")/m)) lines.push(...await play(script, new MemoryStorage(), wasm));
  return lines;
}

/**
 * Plays over SQLite, loaded only here: older releases of Node have none, and still play in memory.
 *
 * @param {string} file
 */
async function sqlite(file) {
  const { SqliteStorage } = await import("../npm/storage/sqlite.js");
  return new SqliteStorage(file);
}

/**
 * @param {string} text
 * @param {string} file
 */
async function killed(text, file) {
  const { playKilled } = await import("./play-killed.js");
  return playKilled(text, file, kills);
}
