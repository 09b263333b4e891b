/** TypeScript agrees with the JSDoc types and the declarations; Deno (on the path) brings it. */

import { spawnSync } from "node:child_process";
import { readdirSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

test("the types are right", () => {
  const files = ["npm/storage", "test"].flatMap((folder) =>
    readdirSync(join(ROOT, folder)).filter((name) => /\.[jt]s$/.test(name)).map((name) => join(folder, name)),
  );
  const flags = ["check", "--quiet", "--unstable-kv", "--config", "test/deno.json"];
  const { status, stderr, error } = spawnSync("deno", [...flags, ...files], { cwd: ROOT, encoding: "utf8" });
  if (error) throw error;
  if (status !== 0) throw new Error(stderr);
});
