// A browser, and what every test asks of every page: no error in its console, no request to another host, nothing that
// the content security policy had to stop, no finding of axe.

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import puppeteer from "puppeteer-core";
import { options } from "./chromium.js";

const AXE = readFileSync(new URL("../../node_modules/axe-core/axe.min.js", import.meta.url), "utf8");
const WIDE = { width: 1360, height: 900 };

/** @typedef {Awaited<ReturnType<typeof open>>} Tab */

/** @param {string[]} [more] further arguments of the browser */
export async function launch(more = []) {
  const { args = [], ...own } = await options();
  return puppeteer.launch({ ...own, args: [...args, ...more] });
}

/** A tab that notes what should not happen. @param {import("puppeteer-core").Browser} browser @param {string} url of the console's server
 * @param {string} [door] where an engine takes browsers */
export async function open(browser, url, door = url) {
  const context = await browser.createBrowserContext();
  const page = await context.newPage();
  await page.setViewport(WIDE);
  /** @type {string[]} */
  const faults = [];
  /** Answers that a test expects to be refused, by the end of their path. @type {RegExp[]} */
  const expected = [];
  page.on("pageerror", (error) => faults.push(`error: ${/** @type {Error} */ (error).stack}`));
  page.on("console", (message) => {
    const from = message.location().url ?? "";
    if (!["error", "warn"].includes(message.type()) || expected.some((one) => one.test(from))) return;
    faults.push(`console: ${message.text()} ${from}`);
  });
  page.on("request", (request) => {
    const asked = request.url();
    if (![url, door].some((own) => asked.startsWith(own)) && !/^(data|blob|about):/.test(asked))
      faults.push(`foreign request: ${asked}`);
  });
  const tab = { page, url, faults, expected, context };
  return tab;
}

/** Goes to a page without a load, as a link does, and waits until it has settled. @param {Tab} tab @param {string} path below /console */
export async function go({ page }, path) {
  await page.evaluate((href) => {
    history.pushState(null, "", href);
    dispatchEvent(new PopStateEvent("popstate"));
  }, `/console${path}`);
  await settled(page);
}

/** Waits for the page's heading and for what it loads. @param {import("puppeteer-core").Page} page */
export async function settled(page) {
  await page.waitForSelector("main h1", { timeout: 15_000 });
  await page.waitForFunction(() => !document.querySelector("main .loading[role=status]"), { timeout: 15_000 });
}

/** Presses a button by its name, once it is there. @param {import("puppeteer-core").Page} page @param {string} words
 * @param {string} [within] */
export async function press(page, words, within = "") {
  await (await page.waitForSelector(button(words, within)))?.click();
}

/** Replaces what a control holds, by keys. @param {import("puppeteer-core").Page} page @param {string} selector @param {string} typed */
export async function write(page, selector, typed) {
  await page.focus(selector);
  await page.keyboard.down("Control");
  await page.keyboard.press("a");
  await page.keyboard.up("Control");
  await page.keyboard.type(typed);
}

/** Waits until words stand anywhere on the page. @param {import("puppeteer-core").Page} page @param {string} words */
export const shows = (page, words) =>
  page.waitForFunction((wanted) => document.body.textContent?.includes(wanted), { timeout: 15_000 }, words);

/** The selector of a button by its name. @param {string} words @param {string} [within] */
export const button = (words, within = "") => `${within} ::-p-aria([name="${words}"][role="button"])`;

/** @param {Tab} tab @param {{ email: string, password: string }} who */
export async function signIn(tab, { email, password }) {
  await tab.page.goto(`${tab.url}/console/`);
  await tab.page.waitForSelector("input[name=email]");
  await tab.page.type("input[name=email]", email);
  await tab.page.type("input[name=password]", password);
  await entered(tab);
}

/** Presses Enter, and waits until it is let in. @param {Tab} tab */
export async function entered(tab) {
  await tab.page.keyboard.press("Enter");
  await tab.page.waitForSelector(".side");
  await settled(tab.page);
}

/** @param {Tab} tab @param {string} token */
export async function signInOperator(tab, token) {
  await tab.page.goto(`${tab.url}/console/operator`);
  await tab.page.waitForSelector("input[name=token]");
  await tab.page.type("input[name=token]", token);
  await tab.page.keyboard.press("Enter");
  await tab.page.waitForSelector(".side");
  await settled(tab.page);
}

/** Findings of axe, of WCAG 2.2 A and AA. @param {import("puppeteer-core").Page} page @returns {Promise<string[]>} */
export async function findings(page) {
  // Trusted Types keep scripts out of the page itself; this goes in by the debugger.
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(AXE);
  return page.evaluate(async () => {
    const { violations } = await /** @type {any} */ (window).axe.run(document, {
      runOnly: ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"],
      resultTypes: ["violations"],
    });
    return violations.map(
      (/** @type {any} */ one) =>
        `${one.id}: ${one.help}: ${one.nodes
          .slice(0, 3)
          .map(
            (/** @type {any} */ node) =>
              `${node.target.join(" ")} ${node.failureSummary?.split("\n").slice(1, 2).join("")}`,
          )
          .join(" | ")}`,
    );
  });
}

/** What makes the page wider than its window; nothing where nothing does. @param {import("puppeteer-core").Page} page */
export const overflow = (page) =>
  page.evaluate(() => {
    if (document.documentElement.scrollWidth <= innerWidth) return null;
    const wide = [...document.querySelectorAll("body *")].filter(
      (one) => !one.closest(".scroll") && one.getBoundingClientRect().right > innerWidth + 1,
    );
    return `wider than ${innerWidth}: ${wide
      .slice(0, 4)
      .map((one) => `${one.tagName}.${one.className} “${(one.textContent ?? "").slice(0, 30)}”`)
      .join(", ")}`;
  });

/** @param {Tab} tab @param {string} where */
export function faultless({ faults }, where) {
  assert.deepEqual(faults, [], where);
}
