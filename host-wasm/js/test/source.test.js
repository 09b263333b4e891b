/**
 * Deno's checks (on the path) of the storages and their tests: types agree with JSDoc and declarations, formatting,
 * lint. The host beside them, which needs the built core, has `tsconfig.json`.
 */

import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const FILES = ["npm/storage", "test"].flatMap((folder) =>
  readdirSync(join(ROOT, folder)).filter((name) => /^(?!service|play).*\.[jt]s$/.test(name)).map((name) =>
    join(folder, name)
  )
);

/** @param {string} command @param {...string} flags */
function deno(command, ...flags) {
  const line = [command, "--quiet", "--config", "test/deno.json", ...flags, ...FILES];
  const { status, stdout, stderr, error } = spawnSync("deno", line, { cwd: ROOT, encoding: "utf8" });
  if (error) throw error;
  if (status !== 0) throw new Error(stdout + stderr);
}

test("the types are right", () => deno("check"));
test("the sources are formatted", () => deno("fmt", "--check"));
test("the sources are tidy", () => deno("lint"));
