/** `node play-node.js SCRIPT OUT memory|sqlite[:PATH]`: plays a script (play.js) and writes its transcript. */

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

import { MemoryStorage } from "../npm/storage/memory.js";
import { SqliteStorage } from "../npm/storage/sqlite.js";
import { play } from "./play.js";

const [script, out, kind = "memory"] = process.argv.slice(2);
const folder = await mkdtemp(join(tmpdir(), "play-"));
try {
  const [name, ...path] = kind.split(":");
  if (out === undefined || !["memory", "sqlite"].includes(name)) {
    throw new Error("usage: play-node.js SCRIPT OUT memory|sqlite[:PATH]");
  }
  const file = path.length > 0 ? path.join(":") : join(folder, "store");
  const storage = name === "memory" ? new MemoryStorage() : new SqliteStorage(file);
  const lines = await play(await readFile(script, "utf8"), storage);
  await writeFile(out, `${lines.join("\n")}\n`);
} finally {
  await rm(folder, { recursive: true });
}
