/** Starts workerd (on the path) with the worker of these tests, over a folder that holds the objects. */

import { cp, mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

import { startWorkerd } from "./workerd-process.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const WORKER = "test/workerd-worker.js";
const TESTS = [
  "history",
  "model",
  "random",
  "storage-bench",
  "storage-contention",
  "storage-suite",
  "witness",
  "world",
];
const STORAGES = ["bytes", "durable-object", "sql"];

/** @param {string[]} modules */
function configuration(modules) {
  const list = modules.map((name) => `(name = "${name}", esModule = embed "${name}")`).join(", ");
  return `using Workerd = import "/workerd/workerd.capnp";
const config :Workerd.Config = (
  services = [(name = "main", worker = .main), (name = "objects", disk = (path = "objects", writable = true))],
  sockets = [(name = "http", address = "127.0.0.1:0", http = (), service = "main")],
);
const main :Workerd.Worker = (
  modules = [${list}],
  compatibilityDate = "2026-11-01",
  durableObjectNamespaces = [(className = "WorldObject", uniqueKey = "worlds", enableSql = true)],
  durableObjectStorage = (localDisk = "objects"),
  bindings = [(name = "WORLDS", durableObjectNamespace = "WorldObject")],
);
`;
}

/** Creates a folder with the worker and a place for its objects. */
export async function makeFolder() {
  const folder = await mkdtemp(join(tmpdir(), "switchboard-"));
  const modules = [
    WORKER,
    ...TESTS.map((name) => `test/${name}.js`),
    ...STORAGES.map((name) => `npm/storage/${name}.js`),
  ];
  for (const name of modules) await cp(join(ROOT, name), join(folder, name));
  await mkdir(join(folder, "objects"));
  await writeFile(join(folder, "workerd.capnp"), configuration(modules));
  return folder;
}

/** @param {string} folder */
export function removeFolder(folder) {
  return rm(folder, { recursive: true, maxRetries: 5 });
}

/**
 * Starts workerd; returns its address, and a way to end it.
 *
 * @param {string} folder
 */
export function start(folder) {
  return startWorkerd("workerd.capnp", { cwd: folder });
}
