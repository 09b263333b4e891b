/** Kills writers in the middle of their commits and checks what is left. */

import { spawn } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { SqliteStorage } from "../npm/storage/sqlite.js";
import { Random } from "./random.js";
import { seed } from "./run.js";
import { lastCommit } from "./witness.js";

const WRITER = fileURLToPath(new URL("writer.js", import.meta.url));
const RUN = "Deno" in globalThis ? ["run", "--allow-all"] : [];
const ACCOUNTS = [1, 2];
const ROUNDS = 12;

test("sqlite: every acknowledged commit survives kill -9, whole", async () => {
  const folder = await mkdtemp(join(tmpdir(), "switchboard-"));
  const path = join(folder, "map");
  const random = new Random(seed);
  let total = 0;
  try {
    for (let round = 0; round < ROUNDS; round++) {
      const acknowledged = await Promise.all(ACCOUNTS.map((account) => writeUntilKilled(path, account, random)));
      const storage = new SqliteStorage(path);
      for (const [at, account] of ACCOUNTS.entries()) {
        const last = await lastCommit(storage, account);
        if (last < acknowledged[at] || last > acknowledged[at] + 1) {
          throw new Error(`round ${round}: ${acknowledged[at]} was acknowledged, ${last} is there`);
        }
        total = Math.max(total, last);
      }
      storage.close();
    }
    if (total < ROUNDS) throw new Error(`only ${total} commits were made: nothing was tried`);
  } finally {
    await rm(folder, { recursive: true });
  }
});

/**
 * Returns the last number that a writer acknowledged before it was killed: some commits after its first.
 *
 * @param {string} path
 * @param {number} account
 * @param {Random} random
 * @returns {Promise<number>}
 */
function writeUntilKilled(path, account, random) {
  const writer = spawn(process.execPath, [...RUN, WRITER, path, String(account)], {
    stdio: ["ignore", "pipe", "pipe"],
  });
  const lifeMs = random.below(700);
  let printed = "";
  let failure = "";
  return new Promise((resolve, reject) => {
    writer.stdout.on("data", (data) => {
      if (printed === "") setTimeout(() => writer.kill("SIGKILL"), lifeMs);
      printed += data;
    });
    writer.stderr.on("data", (data) => (failure += data));
    writer.on("close", (_, signal) => {
      if (signal !== "SIGKILL") reject(new Error(`the writer ended by itself: ${failure}`));
      else resolve(Number(printed.slice(0, printed.lastIndexOf("\n")).split("\n").at(-1)));
    });
  });
}
