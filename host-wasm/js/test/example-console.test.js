/**
 * The console over the service in the page, in Chromium: what is there at the first visit, a call that is followed while the
 * simulated engine plays it, a conversation with the simulated model, and all of it again without a network.
 */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import process from "node:process";
import test from "node:test";
import { fileURLToPath } from "node:url";

import { launch } from "./playwright.js";
import { Static } from "./static.js";

const BUILD = fileURLToPath(new URL("../examples/page/build.js", import.meta.url));
const LIMITS = { timeout: 120_000 };

/** A visitor, with what the page complains of and asks for elsewhere. */
class Visitor {
  /** @type {string[]} */
  complaints = [];

  /** @param {any} page @param {string} url of the page's folder */
  constructor(page, url) {
    this.page = page;
    this.url = url;
    page.on("console", (/** @type {any} */ message) => {
      if (["error", "warning"].includes(message.type())) this.complaints.push(message.text());
    });
    page.on("pageerror", (/** @type {Error} */ error) => this.complaints.push(String(error.stack)));
    page.on("request", (/** @type {any} */ request) => {
      if (!request.url().startsWith(url)) this.complaints.push(`a request to ${request.url()}`);
    });
  }

  /** Goes to a page by a load. @param {string} [path] */
  async load(path = "") {
    await this.page.goto(this.url + path);
    await this.settled();
  }

  /** Goes to a page by the console's own links. @param {string} name */
  async go(name) {
    await this.page.locator("#side").getByRole("link", { name, exact: true }).click();
    await this.settled();
  }

  async settled() {
    await this.page.locator("main h1").waitFor();
    await this.page.waitForFunction(() => !document.querySelector("main .loading[role=status]"));
  }

  /** Waits for words on the page. @param {string | RegExp} words */
  async reads(words) {
    await this.page.locator("main").getByText(words).first().waitFor();
  }

  content() {
    assert.deepEqual(this.complaints, []);
  }
}

/** @param {(visitor: Visitor, site: Static) => Promise<void>} act @param {string} [below] folder that the page is served from */
async function withConsole(act, below = "") {
  const folder = await mkdtemp(join(tmpdir(), "switchboard-"));
  execFileSync(process.execPath, [BUILD, join(folder, below)]);
  const site = await Static.serve(folder);
  const browser = await launch();
  try {
    const context = await browser.newContext({ viewport: { width: 1360, height: 900 } });
    await act(new Visitor(await context.newPage(), new URL(below, site.url).href), site);
  } finally {
    await browser.close();
    site.close();
    await rm(folder, { recursive: true });
  }
}

test("a first visit finds calls as the simulated engine plays them", LIMITS, () =>
  withConsole(async (visitor) => {
    const { page } = visitor;
    await visitor.load();
    assert.equal(new URL(page.url()).pathname, "/console/");
    await visitor.go("Calls");
    await visitor.reads("+40700000001");
    // Each digit has its plot, and every call comes to its end.
    await page.waitForFunction(
      () => {
        const states = [...document.querySelectorAll("main tbody tr")].map((row) => row.textContent);
        return states.length === 7 && states.every((text) => /Completed|Busy|No answer/.test(text ?? ""));
      },
      undefined,
      { timeout: 90_000 },
    );
    const rows = await page.locator("main tbody tr").allTextContents();
    const of = (/** @type {string} */ phone) => rows.find((/** @type {string} */ row) => row.includes(phone)) ?? "";
    assert.match(of("+40700000001"), /Completed/);
    assert.match(of("+40700000002"), /Busy/);
    assert.match(of("+40700000003"), /No answer/);
    assert.match(of("+40700000009"), /Completed.*[Tt]ransferred/);
    await page.locator("main tbody tr", { hasText: "+40700000001" }).getByRole("link").first().click();
    await visitor.settled();
    await visitor.reads("This is the simulated engine: it plays a script. It reads no prompt and asks no model.");
    await visitor.reads(/The system answered with status 200/);
    visitor.content();
  }));

test(
  "a call goes on over a load of the page, is followed while it runs, and hung up",
  LIMITS,
  () =>
    withConsole(async (visitor) => {
      const { page } = visitor;
      await visitor.load();
      const id = await page.evaluate(async () => {
        const { apiKey } = JSON.parse(localStorage.getItem("switchboard console tokens") ?? "{}");
        const headers = { authorization: `Bearer ${apiKey}`, "content-type": "application/json" };
        const { data: [{ id: assistant_id }] } = await (await fetch("/api/user/assistants/get", { headers })).json();
        const body = JSON.stringify({ assistant_id, phone_number: "+40700000007" });
        const placed = await fetch("/api/user/make_call", { method: "POST", headers, body });
        return (await placed.json()).data.id;
      });
      await visitor.load(`console/calls/${id}`);
      assert.equal(new URL(page.url()).pathname, `/console/calls/${id}`);
      await visitor.reads(/This is the simulated engine/);
      await page.getByRole("button", { name: "Hang up" }).click();
      await visitor.reads("Completed");
      visitor.content();
    }),
);

test(
  "an assistant is tried by text: the simulated model answers out of the knowledgebase",
  LIMITS,
  () =>
    withConsole(async (visitor) => {
      const { page } = visitor;
      await visitor.load();
      await visitor.go("Assistants");
      await page.locator("main table").getByRole("link", { name: "Anna" }).first().click();
      await visitor.settled();
      await page.getByRole("button", { name: "Begin a conversation" }).click();
      await page.fill("#message", "What are your opening hours?");
      await page.keyboard.press("Enter");
      await visitor.reads(/simulated model/);
      // The answer quotes the passage that was found.
      await visitor.reads(/The knowledgebase says: .*Monday to Friday from nine to six/s);
      visitor.content();
    }),
);

test("every page opens, the operator's too", LIMITS, () =>
  withConsole(async (visitor) => {
    await visitor.load();
    const names = await visitor.page.locator("#side nav a").allTextContents();
    assert.ok(names.length > 15, names.join());
    for (const name of names) await visitor.go(name);
    await visitor.go("Engines");
    await visitor.reads("simulated");
    // This host knows no size of its store, and says so.
    assert.deepEqual(visitor.complaints.splice(0).filter((one) => !one.includes("501")), []);
  }));

test(
  "without a network all of it is there, at any address, and another tab shows the same",
  LIMITS,
  () =>
    withConsole(async (visitor, site) => {
      const { page } = visitor;
      await visitor.load();
      await page.waitForFunction(() => navigator.serviceWorker.controller !== null);
      site.close();
      await page.context().setOffline(true);
      await visitor.load("console/assistants?status=active");
      assert.match(page.url(), /\/demo\/ours\/console\/assistants\?status=active$/);
      await visitor.reads("Anna");
      const other = new Visitor(await page.context().newPage(), visitor.url);
      await other.load();
      await other.go("Calls");
      await other.reads("+40700000001");
      await other.page.locator("#anew").waitFor();
      visitor.content();
      other.content();
    }, "demo/ours/"),
);

test("starting anew forgets everything", LIMITS, () =>
  withConsole(async (visitor) => {
    const { page } = visitor;
    await visitor.load();
    const token = () => page.evaluate(() => localStorage.getItem("switchboard console tokens"));
    const before = await token();
    page.on("dialog", (/** @type {any} */ dialog) => dialog.accept());
    await Promise.all([page.waitForEvent("load"), page.click("#anew")]);
    await visitor.settled();
    assert.notEqual(await token(), before);
    // The engine knows nothing of the calls that it carried: those of the new store come to their end.
    await visitor.go("Calls");
    await page.locator("main tbody tr", { hasText: "+40700000012" }).getByText("Completed").waitFor({
      timeout: 60_000,
    });
    visitor.content();
  }));
