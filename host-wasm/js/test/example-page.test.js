/** The playground in Chromium as a visitor uses it: loaded once, used online, and used again offline. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { launch } from "./playwright.js";
import { Static } from "./static.js";

const BUILD = fileURLToPath(new URL("../examples/page/build.js", import.meta.url));
const MODULE = "/core.wasm.gz";
/** Of the playground and the console, which the service worker keeps together; with a module as it is given out. */
const LOADED_BYTES_MAX = 2_000_000;
/** Of them beside the module. */
const BESIDE_BYTES_MAX = 800_000;
/** Whether the module was built quickly, and so is larger than one that is given out. */
const IS_QUICK = process.env.SWITCHBOARD_QUICK !== undefined;

/** @param {Static} site */
const playground = (site) => `${site.url}playground/`;

/** A visitor, with the errors and foreign requests of the page. */
class Visitor {
  /** @type {string[]} */
  complaints = [];
  /** @type {string[]} */
  foreign = [];

  /** @param {any} context @param {any} page */
  constructor(context, page) {
    this.context = context;
    this.page = page;
  }

  /** @param {any} browser @param {Static} site @param {object} [options] */
  static async visit(browser, site, options) {
    const context = await browser.newContext(options);
    const visitor = new Visitor(context, await context.newPage());
    visitor.page.on("console", (/** @type {any} */ message) => {
      if (["error", "warning"].includes(message.type())) visitor.complaints.push(message.text());
    });
    visitor.page.on("pageerror", (/** @type {Error} */ error) => visitor.complaints.push(String(error)));
    visitor.context.on("request", (/** @type {any} */ request) => {
      if (!request.url().startsWith(site.url)) visitor.foreign.push(request.url());
    });
    await visitor.page.goto(playground(site));
    await visitor.ready();
    return visitor;
  }

  async ready() {
    await this.page.waitForSelector("#state[data-is]");
    assert.equal(await this.page.textContent("#state"), "Ready");
  }

  /** Clicks a sample and waits for the status of its answer. @param {any} button */
  async click(button) {
    await this.page.evaluate(() => document.getElementById("status")?.replaceChildren());
    await button.click();
    await this.page.waitForSelector("#status b");
    return Number(await this.page.textContent("#status b"));
  }

  /** @param {string} title */
  async sample(title) {
    const status = await this.click(this.page.getByRole("button", { name: title }));
    return { status, text: await this.page.textContent("#answer") };
  }

  content() {
    assert.deepEqual({ complaints: this.complaints, foreign: this.foreign }, { complaints: [], foreign: [] });
  }
}

/** Changes a file of the page. @param {string} folder @param {string} name @param {string | RegExp} part @param {string} by */
async function rewrite(folder, name, part, by) {
  const text = await readFile(join(folder, name), "utf8");
  const changed = text.replace(part, by);
  assert.notEqual(changed, text, name);
  await writeFile(join(folder, name), changed);
}

/** @param {(browser: any, site: Static, folder: string) => Promise<void>} act */
async function withPage(act) {
  const folder = await mkdtemp(join(tmpdir(), "switchboard-"));
  execFileSync(process.execPath, [BUILD, folder]);
  // However slow the machine is, a page is loaded once.
  await rewrite(folder, "playground/page.js", /TAKEN_OVER_MS = [\d_]+/, "TAKEN_OVER_MS = 60_000");
  const site = await Static.serve(folder);
  const browser = await launch();
  try {
    await act(browser, site, folder);
  } finally {
    await browser.close();
    site.close();
    await rm(folder, { recursive: true });
  }
}

const LIMITS = { timeout: 120_000 };

test(
  "the page loads under two megabytes, answers, and does so again without a network",
  LIMITS,
  () =>
    withPage(async (browser, site) => {
      const visitor = await Visitor.visit(browser, site);
      assert.equal((await visitor.sample("Make an assistant")).status, 201);
      const loaded = [...site.sent.values()].reduce((all, bytes) => all + bytes, 0);
      const beside = loaded - (site.sent.get(MODULE) ?? 0);
      assert.ok(beside < BESIDE_BYTES_MAX, `${beside} bytes were loaded beside the module`);
      assert.ok(IS_QUICK || loaded < LOADED_BYTES_MAX, `${loaded} bytes were loaded`);
      assert.equal(site.asked.filter((path) => path === MODULE).length, 1);
      const token = await visitor.page.inputValue("#token");
      const asked = site.asked.length;
      site.close();
      await visitor.context.setOffline(true);
      await visitor.page.reload();
      await visitor.ready();
      assert.equal(await visitor.page.inputValue("#token"), token);
      const listed = await visitor.sample("List assistants");
      assert.equal(listed.status, 200);
      assert.match(listed.text, /"name": "Anna"/, "what was made before the reload is there");
      assert.equal(site.asked.length, asked);
      visitor.content();
    }),
);

test("every sample is answered as its title says, on a phone as well", LIMITS, () =>
  withPage(async (browser, site) => {
    const visitor = await Visitor.visit(browser, site, { viewport: { width: 360, height: 700 }, hasTouch: true });
    /** @type {string[]} */
    const refused = [];
    for (const button of await visitor.page.$$("nav button")) {
      if (!await visitor.page.$eval("#samples", (/** @type {any} */ samples) => samples.open)) {
        await visitor.page.click("summary");
      }
      const status = await visitor.click(button);
      if (status >= 300) refused.push(`${await button.textContent()}: ${status}`);
    }
    assert.deepEqual(refused, ["POSTMake one with mistakes: 422"]);
    assert.deepEqual(
      await visitor.page.$$eval("#outbox summary", (/** @type {any[]} */ all) => all.map((one) => one.textContent)),
      [
        "POST https://calendar.example/free",
        "POST https://hooks.example/calls",
      ],
    );
    const wide = await visitor.page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, "nothing is wider than the phone");
    visitor.content();
  }));

test(
  "a live stream shows what another tab does; starting anew forgets everything",
  LIMITS,
  () =>
    withPage(async (browser, site) => {
      const visitor = await Visitor.visit(browser, site);
      const { page } = visitor;
      for (const title of ["Make an assistant", "Call somebody", "Give it a token"]) await visitor.sample(title);
      const other = await visitor.context.newPage();
      await other.goto(playground(site));
      await other.waitForSelector("#state[data-is=ready]");
      await visitor.sample("All events, live");
      for (const title of ["Claim the call", "Tell what happens"]) {
        await other.getByRole("button", { name: title }).click();
        await other.waitForFunction(
          (/** @type {string} */ word) => document.getElementById("answer")?.textContent?.includes(word),
          {
            "Claim the call": "calls",
            "Tell what happens": "call_status",
          }[title],
        );
      }
      await page.waitForFunction(() => document.getElementById("answer")?.textContent?.includes("Tuesday at nine"));
      const shown = await page.textContent("#answer");
      assert.equal(
        shown.match(/^:/gm).length,
        1,
        "it looks for itself, and does not wait until it shows that it lives",
      );
      await page.click("#stop");
      await other.close();
      const token = await page.inputValue("#token");
      page.on("dialog", (/** @type {any} */ dialog) => dialog.accept());
      await Promise.all([page.waitForEvent("load"), page.click("#anew")]);
      await visitor.ready();
      assert.notEqual(await page.inputValue("#token"), token);
      assert.equal((await visitor.sample("List assistants")).text.includes("Anna"), false);
      visitor.content();
    }),
);

test(
  "a new version takes over whole once no page of the old one is open",
  LIMITS,
  () =>
    withPage(async (browser, site, folder) => {
      const visitor = await Visitor.visit(browser, site);
      await rewrite(folder, "playground/index.html", "<h1>", "<h1>New ");
      await rewrite(folder, "sw.js", /"version":"\w+"/, '"version":"next"');
      const title = () => visitor.page.textContent("h1");
      await visitor.page.reload();
      await visitor.ready();
      assert.equal(await title(), "Switchboard playground");
      await visitor.page.evaluate(async () => {
        const registration = /** @type {any} */ (await navigator.serviceWorker.getRegistration());
        await registration.update();
        const next = registration.waiting ?? registration.installing;
        while (next.state !== "installed") {
          await new Promise((resolve) => next.addEventListener("statechange", resolve));
        }
      });
      // The browser lets go of a page that was closed some time after it.
      for (let visits = 0; visits < 20 && await title() !== "New Switchboard playground"; visits += 1) {
        await visitor.page.close();
        visitor.page = await visitor.context.newPage();
        await visitor.page.goto(playground(site));
        await visitor.ready();
      }
      assert.equal(await title(), "New Switchboard playground");
      const caches = await visitor.page.evaluate(() => globalThis.caches.keys());
      assert.deepEqual(caches, [`switchboard ${site.url} next`]);
      visitor.content();
    }),
);
