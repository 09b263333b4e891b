/**
 * Chromium, driven by playwright-core, which is not a dependency: it is found at `PLAYWRIGHT` (its folder), or as Node
 * finds packages (including `NODE_PATH`). The browser is `CHROMIUM`, or `chromium` on the path.
 */

import { accessSync, constants } from "node:fs";
import { createRequire } from "node:module";
import { delimiter, join } from "node:path";
import process from "node:process";

const require = createRequire(import.meta.url);

/** Launches a headless browser with a temporary profile. @returns {Promise<any>} */
export const launch = () => driver().launch(options());

/** Launches one with its profile, IndexedDB included, in a folder. @param {string} folder @returns {Promise<any>} */
export const launchIn = (folder) => driver().launchPersistentContext(folder, options());

function driver() {
  return require(process.env.PLAYWRIGHT ?? "playwright-core").chromium;
}

/** Without a language the browser takes one that its own `Intl` refuses. */
const LANGUAGE = "en_US.UTF-8";

function options() {
  const env = { ...process.env, LANG: LANGUAGE, LC_ALL: LANGUAGE };
  return { executablePath: process.env.CHROMIUM ?? onPath("chromium"), env };
}

/** @param {string} name */
function onPath(name) {
  for (const folder of (process.env.PATH ?? "").split(delimiter)) {
    try {
      accessSync(join(folder, name), constants.X_OK);
      return join(folder, name);
    } catch {
      // Not in this folder; the next one is tried.
    }
  }
  throw new Error(`${name} is not on the path`);
}
