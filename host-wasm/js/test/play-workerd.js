/**
 * `node play-workerd.js SCRIPT OUT [--kills N]`: plays a script (play.js) under workerd, in a Durable Object with
 * SQLite, and writes its transcript. workerd is killed N times (3) between lines, and continues from its store.
 *
 * The part of a host's state that is in no store is kept here, and outlives a kill:
 * - the pending sends, which go with each line and come back;
 * - the latest time, which each line gets: a clock that was set back stands still, in whatever process;
 * - the buckets of rate limits, which a new process refills from what was taken before: see `Drains`.
 *
 * @import { Send } from "../npm/host/types.d.ts"
 * @import { Line } from "./play.js"
 */

import { mkdir, mkdtemp, readFile, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath, pathToFileURL } from "node:url";
import { parseArgs } from "node:util";

import { packed, unpacked } from "./play-wire.js";
import { startWorkerd } from "./workerd-process.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const TESTS = ["play-worker", "play", "play-wire"];
/** Time after which every bucket is full again, microseconds. */
const FULL_MICROS = 60_000_000;

/**
 * Plays a script; returns the lines of its transcript, and how often workerd was killed.
 *
 * @param {string} script
 * @param {number} kills
 */
export async function playUnderWorkerd(script, kills) {
  const [{ config }, ...lines] = script.split("\n").filter((line) => line.trim() !== "").map((line) => JSON.parse(line));
  const folder = await mkdtemp(join(tmpdir(), "play-workerd-"));
  const ends = new Set(Array.from({ length: kills }, (_, at) => Math.floor(((at + 1) * lines.length) / (kills + 1))));
  const transcript = [];
  let workerd = await start(folder);
  try {
    const runner = new Runner(config, () => workerd.url);
    for (const [at, line] of lines.entries()) {
      if (ends.has(at)) {
        await workerd.kill();
        workerd = await start(folder);
        await runner.refill(line.now);
      }
      const result = await runner.play(line).catch((cause) => {
        throw new Error(`line ${at + 2} of the script: ${cause}\n${workerd.log()}`, { cause });
      });
      transcript.push(JSON.stringify(result));
    }
    transcript.push(await textOf(`${workerd.url}/dump`));
    return { transcript, kills: ends.size };
  } finally {
    await workerd.kill();
    await rm(folder, { recursive: true, maxRetries: 5 });
  }
}

class Runner {
  /** @type {Send[]} */
  #pending = [];
  #nowMicros = 0;
  #drains = new Drains();

  /**
   * @param {object} config
   * @param {() => string} url
   */
  constructor(config, url) {
    this.config = config;
    this.url = url;
  }

  /** @param {Line} line */
  async play(line) {
    this.#nowMicros = Math.max(this.#nowMicros, line.now);
    const played = { ...line, now: this.#nowMicros };
    const { result, pending } = await this.#send({ line: played, pending: this.#pending, isRefill: false });
    this.#pending = pending;
    this.#drains.note(played, result);
    return result;
  }

  /** Brings the buckets of a new process to the level of the old one's. @param {number} nowMicros */
  async refill(nowMicros) {
    for (const line of this.#drains.since(nowMicros - FULL_MICROS)) {
      await this.#send({ line, pending: [], isRefill: true });
    }
  }

  /** @param {{ line: Line, pending: Send[], isRefill: boolean }} turn */
  async #send(turn) {
    const body = packed({ config: this.config, ...turn });
    return unpacked(await textOf(`${this.url()}/play`, { method: "POST", body }));
  }
}

/**
 * Requests that take from the buckets of rate limits what a script's requests took: with the same token at the same
 * time, or the same login. Their commits are skipped. (A token that was deleted since takes nothing. Its own bucket is
 * no longer used; that of its account, ten times as deep, matters only when it is empty.)
 */
class Drains {
  /** @type {Line[]} */
  #lines = [];

  /** @param {Line} line @param {any} result */
  note({ now, seed, http }, result) {
    if (http === undefined) return;
    if (result.headers.some((/** @type {string[]} */ [name]) => name === "x-ratelimit-remaining")) {
      const headers = http.headers.filter(([name]) => name.toLowerCase() === "authorization");
      this.#lines.push({ now, seed, http: { ...http, method: "GET", target: "/user/me", headers, body: null } });
    } else if (http.method === "POST" && /\/user\/login$/.test(http.target)) {
      this.#lines.push({ now, seed, http });
    }
  }

  /** @param {number} micros */
  since(micros) {
    this.#lines = this.#lines.filter(({ now }) => now > micros);
    return this.#lines;
  }
}

/** Starts workerd with the test's worker, over a folder. @param {string} folder */
async function start(folder) {
  const objects = join(folder, "objects");
  await mkdir(objects, { recursive: true });
  const file = join(folder, "workerd.capnp");
  await writeFile(file, await configuration());
  for (const name of ["npm", "test"]) await symlink(join(ROOT, name), join(folder, name)).catch(() => undefined);
  return startWorkerd(file, { flags: [`--directory-path=objects=${objects}`] });
}

async function configuration() {
  const folders = ["npm", "npm/host", "npm/storage", "npm/wasm"];
  const all = await Promise.all(folders.map(async (name) => (await readdir(join(ROOT, name))).map((file) => `${name}/${file}`)));
  const names = [...TESTS.map((name) => `test/${name}.js`), ...all.flat().filter((name) => name.endsWith(".js"))];
  const modules = names.map((name) => `(name = "${name}", esModule = embed "${name}")`);
  modules.push(`(name = "npm/wasm/core.wasm", wasm = embed "npm/wasm/core.wasm")`);
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main), (name = "objects", disk = (path = "objects", writable = true))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [${modules.join(",\n    ")}],
  compatibilityDate = "2026-11-01",
  durableObjectNamespaces = [(className = "Installation", uniqueKey = "switchboard", enableSql = true)],
  durableObjectStorage = (localDisk = "objects"),
  bindings = [(name = "INSTALLATION", durableObjectNamespace = "Installation")],
);
`;
}

/** @param {string} url @param {RequestInit} [init] */
async function textOf(url, init) {
  const response = await fetch(url, init);
  const text = await response.text();
  if (!response.ok) throw new Error(text);
  return text;
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const { positionals, values } = parseArgs({ allowPositionals: true, options: { kills: { type: "string", default: "3" } } });
  const [script, out] = positionals;
  const kills = Number(values.kills);
  if (out === undefined || !Number.isInteger(kills) || kills < 0) throw new Error("usage: play-workerd.js SCRIPT OUT [--kills N]");
  const played = await playUnderWorkerd(await readFile(script, "utf8"), kills);
  await writeFile(out, `${played.transcript.join("\n")}\n`);
  console.log(`${played.transcript.length} lines, workerd killed ${played.kills} times`);
}
