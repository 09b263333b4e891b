/** The suite under workerd, and its death in the middle of commits over several objects. */

import test from "node:test";

import { Random } from "./random.js";
import { seed } from "./run.js";
import { cases } from "./storage-suite.js";
import { makeFolder, removeFolder, start } from "./workerd.js";
import { check } from "./world.js";

const SPACES = ["root", "account-1", "account-2"];

/** @param {string} url */
async function textOf(url) {
  const response = await fetch(url);
  const text = await response.text();
  check(response.ok, `${response.status} ${text}`);
  return text;
}

test("durable objects under workerd", { timeout: 300_000 }, async (t) => {
  const folder = await makeFolder();
  const { url, kill } = await start(folder);
  for (const title of Object.keys(cases)) {
    await t.test(`durable objects: ${title}`, async () => {
      const result = await textOf(`${url}/case?title=${encodeURIComponent(title)}&seed=${seed}`);
      check(result === "passed", `SWITCHBOARD_SEED=${seed} ${result}`);
    });
  }
  await t.test("durable objects: a commit over two spaces larger than a call", async () => {
    check((await textOf(`${url}/bulk`)) === "passed", "it is whole");
  });
  await kill();
  await removeFolder(folder);
});

test("durable objects: all spaces agree after kill -9", { timeout: 300_000 }, async () => {
  const folder = await makeFolder();
  const random = new Random(seed);
  /** @type {number[]} what was acknowledged of each group */
  const acknowledged = [0, 0, 0, 0];
  for (let round = 0; round < 12; round++) {
    const { url, kill } = await start(folder);
    try {
      const counts = JSON.parse(await textOf(`${url}/counts?space=${random.pick(SPACES)}`));
      counts.forEach((/** @type {number[]} */ group, /** @type {number} */ at) => {
        const context = `SWITCHBOARD_SEED=${seed} round ${round}: group ${at} has ${group}, acknowledged ${
          acknowledged[at]
        }`;
        check(new Set(group).size === 1 && group[0] >= acknowledged[at], context);
      });
      await writeFor(url, random.below(800), acknowledged);
    } finally {
      await kill();
    }
  }
  await removeFolder(folder);
  check(Math.min(...acknowledged) > 24, `only ${acknowledged} commits were made: nothing was tried`);
});

/**
 * Lets the objects write for a time after their first commit.
 *
 * @param {string} url
 * @param {number} lifeMs
 * @param {number[]} acknowledged
 */
async function writeFor(url, lifeMs, acknowledged) {
  const response = await fetch(`${url}/write`);
  const reader = /** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (response.body).pipeThrough(
    new TextDecoderStream(),
  ).getReader();
  const first = await reader.read();
  const end = Date.now() + lifeMs;
  let text = first.value ?? "";
  while (Date.now() < end) text += (await reader.read()).value ?? "";
  void reader.cancel().catch(() => undefined);
  for (const line of text.slice(0, text.lastIndexOf("\n")).split("\n")) {
    const [group, count] = line.split(" ").map(Number);
    acknowledged[group] = Math.max(acknowledged[group], count);
  }
}
