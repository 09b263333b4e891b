/**
 * A process that commits as fast as it can until it is killed: `writer.js <storage> <path> <account>`. It prints
 * the number of each commit that was acknowledged.
 *
 * @import { Storage } from "../npm/storage/storage.d.ts"
 */

import { writeSync } from "node:fs";
import process from "node:process";
import { pathToFileURL } from "node:url";

import { writeForEver } from "./witness.js";

/** @type {Record<string, (path: string) => Promise<Storage>>} */
export const open = {
  async sqlite(path) {
    const { SqliteStorage } = await import("../npm/storage/sqlite.js");
    return new SqliteStorage(path);
  },
  async "deno-kv"(path) {
    const { DenoKvStorage } = await import("../npm/storage/deno-kv.js");
    return DenoKvStorage.open(path);
  },
};

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const [, , kind, path, account] = process.argv;
  await writeForEver(await open[kind](path), Number(account), (number) => writeSync(1, `${number}\n`));
}
