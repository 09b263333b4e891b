/**
 * The suite in a real browser, and kills in the middle of commits.
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

// Each kill uses a browser profile of its own: after two in a row everything may be gone (see indexeddb.js).
test("indexeddb: every acknowledged commit survives kill -9, whole", { timeout: 120_000 }, async () => {
  const random = new Random(seed);
  let commits = 0;
  for (let round = 0; round < 6; round++) {
    await withSite(async (site, folder) => {
      const acknowledged = await writeUntilKilled(site, folder, random.below(900));
      const found = await lastCommitIn(site, folder);
      if (found < acknowledged || found > acknowledged + 1) {
        throw new Error(`${acknowledged} was acknowledged, ${found} is there`);
      }
      commits += found;
    });
  }
  if (commits < 12) throw new Error(`only ${commits} commits were made: nothing was tried`);
});

/**
 * Lets a page write and kills its browser; returns the last number that was acknowledged.
 *
 * @param {Site} site
 * @param {string} folder
 * @param {number} lifeMs after the first commit
 * @returns {Promise<number>}
 */
function writeUntilKilled(site, folder, lifeMs) {
  const browser = startChromium(folder, `${site.url}?act=write`);
  let last = 0;
  return new Promise((resolve, reject) => {
    site.take = ({ title, result }) => {
      if (title === "end") void kill(browser).then(() => reject(new Error(result)));
      if (title !== "wrote") return;
      if (last === 0) setTimeout(() => void kill(browser).then(() => resolve(last)), lifeMs);
      last = result;
    };
  });
}

/**
 * Returns the number of the last commit that another browser finds, checked to be complete.
 *
 * @param {Site} site
 * @param {string} folder
 * @returns {Promise<number>}
 */
function lastCommitIn(site, folder) {
  const browser = startChromium(folder, `${site.url}?act=write`);
  return new Promise((resolve, reject) => {
    site.take = ({ title, result }) => {
      if (title === "found") void kill(browser).then(() => resolve(result));
      if (title === "end") void kill(browser).then(() => reject(new Error(result)));
    };
  });
}
