/** `node play-node.js SCRIPT OUT memory|sqlite[:PATH]`: plays a script (play.js) and writes its transcript. */

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

import { MemoryStorage } from "../npm/storage/memory.js";
import { play } from "./play.js";

const [script, out, kind = "memory"] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), "play-"));
try {
  const [name, ...path] = kind.split(":");
  if (out === undefined || !["memory", "sqlite"].includes(name)) {
    throw new Error("usage: play-node.js SCRIPT OUT memory|sqlite[:PATH]");
  }
  const file = path.length > 0 ? path.join(":") : join(folder, "store");
  const storage = name === "memory" ? new MemoryStorage() : await sqlite(file);
  const lines = await play(await readFile(script, "utf8"), storage);
  await writeFile(out, `${lines.join("\n")}\n`);
} finally {
  await rm(folder, { recursive: true });
}

/**
 * Older releases of Node have no SQLite, and play over memory all the same.
 *
 * @param {string} file
 */
async function sqlite(file) {
  const { SqliteStorage } = await import("../npm/storage/sqlite.js");
  return new SqliteStorage(file);
}
