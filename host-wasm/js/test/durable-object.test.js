/** The suite under workerd, and kills in the middle of commits. */

import test from "node:test";

import { Random } from "./random.js";
import { seed } from "./run.js";
import { cases } from "./storage-suite.js";
import { makeFolder, removeFolder, start } from "./workerd.js";
import { check } from "./world.js";

/** @param {string} url */
async function textOf(url) {
  const response = await fetch(url);
  const text = await response.text();
  check(response.ok, `${response.status} ${text}`);
  return text;
}

test("durable object", { timeout: 300_000 }, async (t) => {
  const folder = await makeFolder();
  const { url, kill } = await start(folder);
  for (const title of Object.keys(cases)) {
    await t.test(`durable object: ${title}`, async () => {
      const result = await textOf(`${url}/case?${new URLSearchParams({ world: title, title, seed: String(seed) })}`);
      check(result === "passed", `SWITCHBOARD_SEED=${seed} ${result}`);
    });
  }
  for (
    const [path, title] of [["whole", "a commit that fails changes nothing"], ["old", "another format is refused"]]
  ) {
    await t.test(`durable object: ${title}`, async () => {
      const result = await textOf(`${url}/${path}?world=${path}`);
      check(result === "passed", result);
    });
  }
  await kill();
  await removeFolder(folder);
});

test("durable object: every acknowledged commit survives kill -9, whole", { timeout: 120_000 }, async () => {
  const folder = await makeFolder();
  const random = new Random(seed);
  let acknowledged = 0;
  for (let round = 0; round < 12; round++) {
    const { url, kill } = await start(folder);
    try {
      const last = Number(await textOf(`${url}/last?world=killed`));
      // Some acknowledgements may not have been read.
      check(
        last >= acknowledged,
        `SWITCHBOARD_SEED=${seed} round ${round}: ${acknowledged} acknowledged, ${last} there`,
      );
      acknowledged = await writeFor(`${url}/write?world=killed`, random.below(700));
    } finally {
      await kill();
    }
  }
  await removeFolder(folder);
  check(acknowledged > 24, `only ${acknowledged} commits were made: nothing was tried`);
});

/**
 * Lets an object write for a time after its first commit; returns the last number that it acknowledged.
 *
 * @param {string} url
 * @param {number} lifeMs
 */
async function writeFor(url, lifeMs) {
  const { body } = await fetch(url);
  const lines = /** @type {ReadableStream<Uint8Array<ArrayBuffer>>} */ (body).pipeThrough(new TextDecoderStream());
  const reader = lines.getReader();
  let text = (await reader.read()).value ?? "";
  for (const end = Date.now() + lifeMs; Date.now() < end;) text += (await reader.read()).value ?? "";
  void reader.cancel().catch(() => undefined);
  return Number(text.slice(0, text.lastIndexOf("\n")).split("\n").at(-1));
}
