/** Runs Deno's share of the tests (Deno must be on the path), so that one command runs all. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import test from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const FILES = ["memory", "sqlite", "sqlite-crash"].map((name) => `test/${name}.test.js`);

test("memory and sqlite under Deno", { timeout: 300_000 }, async () => {
  const env = { ...process.env, NO_COLOR: "1" };
  const flags = ["test", "--quiet", "--allow-all"];
  const child = spawn("deno", [...flags, ...FILES], { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
  let output = "";
  child.stdout.on("data", (data) => (output += data));
  child.stderr.on("data", (data) => (output += data));
  const [status] = await once(child, "close");
  if (status !== 0) throw new Error(output);
});
