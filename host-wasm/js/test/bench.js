/**
 * Prints the figures of one storage: `bench.js memory | sqlite | durable-object | indexeddb`. The last two start
 * workerd and Chromium.
 */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";

import { bench } from "./storage-bench.js";

/** @type {Record<string, () => Promise<Record<string, number>>>} */
const benches = {
  async memory() {
    const { MemoryStorage } = await import("../npm/storage/memory.js");
    return bench(new MemoryStorage());
  },
  async sqlite() {
    const { SqliteStorage } = await import("../npm/storage/sqlite.js");
    const folder = await mkdtemp(join(tmpdir(), "switchboard-"));
    const storage = new SqliteStorage(join(folder, "map"));
    const figures = await bench(storage);
    storage.close();
    await rm(folder, { recursive: true });
    return figures;
  },
  async "durable-object"() {
    const { makeFolder, removeFolder, start } = await import("./workerd.js");
    const folder = await makeFolder();
    const { url, kill } = await start(folder);
    const figures = await (await fetch(`${url}/bench?world=bench`)).json();
    await kill();
    await removeFolder(folder);
    return figures;
  },
  async indexeddb() {
    const { benchInBrowser } = await import("./chromium.js");
    return benchInBrowser();
  },
};

const name = process.argv[2] ?? "memory";
for (const [title, figure] of Object.entries(await benches[name]())) {
  console.log(`${name.padEnd(15)} ${title.padEnd(40)} ${figure.toLocaleString("en").padStart(12)} /s`);
}
