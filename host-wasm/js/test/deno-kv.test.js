/** Has Deno (on the path) carry out its own tests, so that one command runs all. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import process from "node:process";
import test from "node:test";
import { fileURLToPath } from "node:url";

const ROOT = fileURLToPath(new URL("..", import.meta.url));
const FLAGS = ["test", "--quiet", "--allow-all", "--unstable-kv"];

/** @param {string} title @param {...string} files */
function testInDeno(title, ...files) {
  test(title, { timeout: 300_000 }, async () => {
    const env = { ...process.env, NO_COLOR: "1" };
    const child = spawn("deno", [...FLAGS, ...files], { cwd: ROOT, env, stdio: ["ignore", "pipe", "pipe"] });
    let output = "";
    child.stdout.on("data", (data) => (output += data));
    child.stderr.on("data", (data) => (output += data));
    const [status] = await once(child, "close");
    if (status !== 0) throw new Error(output);
  });
}

testInDeno("deno-kv under Deno", "test/deno-kv.deno.js", "test/deno-kv-journal.deno.js");
testInDeno("memory and sqlite under Deno", "test/memory.test.js", "test/sqlite.test.js", "test/sqlite-crash.test.js");
