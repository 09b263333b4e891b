/**
 * The suite in a real browser, and its death in the middle of commits.
 *
 * @import { Site } from "./chromium.js"
 */

import test from "node:test";

import { kill, reportsOf, startChromium, withSite } from "./chromium.js";
import { Random } from "./random.js";
import { seed } from "./run.js";

test("indexeddb", { timeout: 300_000 }, async (t) => {
  await withSite(async (site, folder) => {
    for (const { title, result } of await reportsOf(site, folder, `act=suite&seed=${seed}`)) {
      await t.test(`indexeddb: ${title}`, () => {
        if (result !== "passed") throw new Error(`SWITCHBOARD_SEED=${seed} ${result}`);
      });
    }
  });
});

test("indexeddb: every acknowledged commit survives kill -9, whole", { timeout: 120_000 }, async () => {
  const random = new Random(seed);
  await withSite(async (site, folder) => {
    let last = 0;
    for (let round = 0; round < 6; round++) {
      last = await writeUntilKilled(site, folder, last, random.below(700));
    }
    if (last < 6) throw new Error(`only ${last} commits were made: nothing was tried`);
  });
});

/**
 * Lets a page write and kills its browser; the last number that was acknowledged.
 *
 * @param {Site} site
 * @param {string} folder
 * @param {number} before the last acknowledged number of an earlier browser
 * @param {number} lifeMs
 * @returns {Promise<number>}
 */
function writeUntilKilled(site, folder, before, lifeMs) {
  const browser = startChromium(folder, `${site.url}?act=write`);
  let last = before;
  let wrote = false;
  return new Promise((resolve, reject) => {
    site.take = ({ title, result }) => {
      const found = title === "found" && result >= before && result <= before + 1;
      if (title === "wrote") {
        last = result;
        if (!wrote) setTimeout(() => kill(browser).then(() => resolve(last)), lifeMs);
        wrote = true;
      } else if (!found) {
        void kill(browser).then(() => reject(new Error(`after ${before}: ${title} ${result}`)));
      }
    };
  });
}
