/** workerd (on the path) as a child process, for tests. */

import { spawn } from "node:child_process";
import { once } from "node:events";

/**
 * Starts workerd on a configuration and waits until it listens. `log` returns its output so far.
 *
 * @param {string} configuration the file
 * @param {{ cwd?: string, flags?: string[], env?: Record<string, string> }} [options]
 */
export async function startWorkerd(configuration, { cwd, flags = [], env = {} } = {}) {
  const args = ["serve", configuration, "--control-fd=3", ...flags];
  const stdio = /** @type {("ignore" | "pipe")[]} */ (["ignore", "pipe", "pipe", "pipe"]);
  const child = spawn("workerd", args, { cwd, env: { ...process.env, ...env }, stdio });
  const closed = once(child, "close");
  let log = "";
  let events = "";
  const [, out, err, control] = /** @type {import("node:stream").Readable[]} */ (child.stdio);
  for (const stream of [out, err]) stream.on("data", (data) => (log += data));
  control.on("data", (data) => (events += data));
  while (!events.includes('"listen"')) {
    await Promise.race([
      once(control, "data"),
      closed.then(() => {
        throw new Error(`workerd ended: ${log}`);
      }),
    ]);
  }
  const line = events.split("\n").find((event) => event.includes('"listen"')) ?? "";
  const kill = async () => {
    child.kill("SIGKILL");
    await closed;
  };
  return { url: `http://127.0.0.1:${JSON.parse(line).port}`, log: () => log, kill };
}
