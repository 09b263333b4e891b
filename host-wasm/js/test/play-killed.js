/**
 * Plays a script over one SQLite file in processes that are killed (SIGKILL), each right after a line that the seed
 * chooses: only the file and the pending sends pass from one to the next. So the transcript is that of one host, except
 * for what a host counts in memory: how much of the rate limit is left.
 *
 * @import { Stand } from "./play.js"
 */

import { fork } from "node:child_process";
import { on, once } from "node:events";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";

import { SqliteStorage } from "../npm/storage/sqlite.js";
import { dump, steps } from "./play.js";
import { Random } from "./random.js";

const SELF = fileURLToPath(import.meta.url);

/**
 * Returns the transcript of a script whose hosts are killed `kills` times.
 *
 * @param {string} script
 * @param {string} file
 * @param {number} kills
 * @returns {Promise<string[]>}
 */
export async function playKilled(script, file, kills) {
  const seed = Number(process.env.SWITCHBOARD_SEED ?? Math.floor(Math.random() * 2 ** 32));
  console.log(`SWITCHBOARD_SEED=${seed}`);
  const lineCount = script.split("\n").filter((line) => line.trim() !== "").length - 1;
  /** @type {string[]} */
  const transcript = [];
  /** @type {Stand["pending"]} */
  let pending = [];
  for (const end of [...killsAfter(kills, lineCount, seed), lineCount]) {
    const host = fork(SELF, [], { serialization: "advanced" });
    host.send({ script, file, from: transcript.length, pending });
    for await (const [step] of on(host, "message", { close: ["close"] })) {
      transcript.push(step.result);
      pending = step.pending;
      if (transcript.length < end) host.send("next");
      else host.kill("SIGKILL");
    }
    if (transcript.length < end) {
      throw new Error(`a host ended by itself after line ${transcript.length + 1} of the script`);
    }
  }
  const storage = new SqliteStorage(file);
  transcript.push(await dump(storage));
  storage.close();
  return transcript;
}

/**
 * Returns the numbers of the lines after which hosts are killed, in order; never the last line.
 *
 * @param {number} kills
 * @param {number} lineCount
 * @param {number} seed
 */
function killsAfter(kills, lineCount, seed) {
  if (kills >= lineCount) throw new Error(`${lineCount} lines have no room for ${kills} kills`);
  const random = new Random(seed);
  /** @type {Set<number>} */
  const ends = new Set();
  while (ends.size < kills) ends.add(1 + random.below(lineCount - 1));
  return [...ends].sort((one, other) => one - other);
}

/** Runs one host: plays a line whenever it is told to, until it is killed. */
async function host() {
  const [{ script, file, ...stand }] = await once(process, "message");
  for await (const step of steps(script, new SqliteStorage(file), stand)) {
    const next = once(process, "message");
    process.send?.(step);
    await next;
  }
}

if (pathToFileURL(process.argv[1]).href === import.meta.url) await host();
