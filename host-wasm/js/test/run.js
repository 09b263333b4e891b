/**
 * Runs the suite with the test runner of Node or Deno.
 *
 * @import { Storage } from "../npm/storage/storage.d.ts"
 */

import test from "node:test";
import process from "node:process";

import { cases } from "./storage-suite.js";

/** Seed from the environment, or a new one. */
export const seed = Number(process.env.SWITCHBOARD_SEED ?? Math.floor(Math.random() * 2 ** 32));
console.log(`SWITCHBOARD_SEED=${seed}`);

/** Opens storages on a new, empty map. @typedef {() => Promise<{ stores: Storage[], close(): unknown }>} Open */

/**
 * @param {string} name
 * @param {Open} open
 */
export function runSuite(name, open) {
  for (const [title, run] of Object.entries(cases)) {
    test(`${name}: ${title}`, async () => {
      const { stores, close } = await open();
      try {
        await run({ stores, seed });
      } catch (error) {
        throw new Error(`SWITCHBOARD_SEED=${seed}`, { cause: error });
      } finally {
        await close();
      }
    });
  }
}
