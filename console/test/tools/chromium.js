// The browser of the tests: the one that CHROMIUM names, else the one of package.json, so that each machine has the same.

import { existsSync } from "node:fs";
import chromium from "@sparticuz/chromium";

/** What a container asks for: no sandbox, and no shared memory of a size. */
const ARGUMENTS = ["--no-sandbox", "--disable-dev-shm-usage"];
/** Without a language the browser takes one that its own `Intl` refuses. */
const LANGUAGE = "en_US.UTF-8";

/** How to launch it. @returns {Promise<import("puppeteer-core").LaunchOptions>} */
export async function options() {
  const named = process.env.CHROMIUM;
  if (named && !existsSync(named)) throw new Error(`There is no Chromium at CHROMIUM=${named}.`);
  const env = { ...process.env, LANG: LANGUAGE, LC_ALL: LANGUAGE };
  return { executablePath: named || (await chromium.executablePath()), args: ARGUMENTS, env };
}
