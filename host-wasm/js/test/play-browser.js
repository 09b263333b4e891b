/**
 * `node play-browser.js SCRIPT OUT`: plays a script (play.js) in Chromium (playwright.js) over IndexedDB and writes its
 * transcript.
 */

import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import { fileURLToPath } from "node:url";

import { launchIn } from "./playwright.js";
import { Static } from "./static.js";

const ROOT = fileURLToPath(new URL("..", import.meta.url));

/**
 * Runs in the page, to which it is sent as source text.
 *
 * @param {string} script
 */
async function playInPage(script) {
  /** @param {string} path @returns {Promise<any>} */
  const load = (path) => import(path);
  const { IndexedDbStorage } = await load("/npm/storage/indexeddb.js");
  const { play } = await load("/test/play.js");
  const storage = await IndexedDbStorage.open("play");
  const lines = await play(script, storage);
  storage.close();
  return lines;
}

const [script, out] = process.argv.slice(2);
if (out === undefined) throw new Error("usage: play-browser.js SCRIPT OUT");
const site = await Static.serve(ROOT);
const folder = await mkdtemp(join(tmpdir(), "play-"));
const browser = await launchIn(folder);
try {
  const page = await browser.newPage();
  // Any file of the site gives the page its origin.
  await page.goto(`${site.url}npm/package.json`);
  const lines = await page.evaluate(playInPage, await readFile(script, "utf8"));
  await writeFile(out, `${lines.join("\n")}\n`);
} finally {
  await browser.close();
  site.close();
  await rm(folder, { recursive: true, maxRetries: 5 });
}
