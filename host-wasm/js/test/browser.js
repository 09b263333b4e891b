/**
 * Runs in the page: the suite, case by case, or a writer that is going to be killed. Reports to the server that it was
 * loaded from.
 *
 * @import { World } from "./world.js"
 */

import { IndexedDbStorage } from "../npm/storage/indexeddb.js";
import { bench } from "./storage-bench.js";
import { cases } from "./storage-suite.js";
import { lastCommit, writeForEver } from "./witness.js";

const query = new URL(location.href).searchParams;
const seed = Number(query.get("seed"));

/** @param {string} title @param {unknown} result */
function report(title, result) {
  return fetch("/report", { method: "POST", body: JSON.stringify({ title, result }) });
}

/** @param {string} title @param {(world: World) => Promise<void>} run */
async function runCase(title, run) {
  const name = `suite ${title}`;
  // Two connections, as of two tabs.
  const stores = [await IndexedDbStorage.open(name), await IndexedDbStorage.open(name)];
  const result = await run({ stores, seed }).then(
    () => "passed",
    (error) => String(error.stack ?? error),
  );
  stores.forEach((store) => store.close());
  indexedDB.deleteDatabase(name);
  await report(title, result);
}

async function runSuite() {
  for (const [title, run] of Object.entries(cases)) await runCase(title, run);
  // Older browsers iterate backwards over a range row by row.
  Reflect.deleteProperty(IDBObjectStore.prototype, "getAllRecords");
  for (const [title, run] of Object.entries(cases)) {
    if (title.includes("scan") || title.includes("history")) await runCase(`${title}, without getAllRecords`, run);
  }
}

async function write() {
  const storage = await IndexedDbStorage.open("writer");
  await report("found", await lastCommit(storage, 1));
  await writeForEver(storage, 1, (number) => report("wrote", number));
}

async function measure() {
  await report("bench", await bench(await IndexedDbStorage.open("bench")));
}

/** @type {Record<string, () => Promise<void>>} */
const acts = { suite: runSuite, write, bench: measure };
await acts[query.get("act") ?? "suite"]().then(
  () => report("end", "passed"),
  (error) => report("end", String(error.stack ?? error)),
);
