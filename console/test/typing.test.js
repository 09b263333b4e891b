// What is typed goes where it was meant to and stays there, however slow the service and the browser are.

import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { faultless, go, launch, open, press, settled, shows, signIn, write } from "./tools/browser.js";
import { client, start } from "./tools/service.js";
import { caller } from "./tools/world.js";

/** @type {import("./tools/service.js").Service} */ let service;
/** @type {import("puppeteer-core").Browser} */ let browser;
/** @type {import("./tools/browser.js").Tab} */ let tab;
/** @type {ReturnType<typeof client>} */ let owner;

/** How late frames are: nothing of what a person does waits for one, milliseconds. */
const FRAME_MS = 400;

before(async () => {
  service = await start();
  owner = client(`${service.service}/api`, service.secrets.api_key);
  browser = await launch();
  tab = await open(browser, service.url);
  await tab.page.evaluateOnNewDocument((late) => {
    window.requestAnimationFrame = (paint) => Number(setTimeout(() => paint(performance.now()), late));
  }, FRAME_MS);
  await signIn(tab, service.secrets);
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

/** @param {string} selector @returns {Promise<string>} */
const held = (selector) => tab.page.$eval(selector, (one) => /** @type {HTMLInputElement} */ (one).value);

/** The id of what has the focus. */
const focused = () => tab.page.evaluate(() => document.activeElement?.id ?? "");

/** Holds answers to requests of a method back until it is told to let them go. @param {string} method
 * @param {object | null} [refusal] what is answered in place of the service */
async function hold(method, refusal = null) {
  const told = (/** @type {string} */ kind, /** @type {object | null} */ body) => {
    const real = window.fetch;
    /** @type {(() => void)[]} */
    const waiting = [];
    window.fetch = async (...asked) => {
      if (asked[1]?.method !== kind) return real(...asked);
      const answer = body ? Response.json(body, { status: 422 }) : await real(...asked);
      await new Promise((resolve) => waiting.push(() => resolve(0)));
      return answer;
    };
    Object.assign(window, {
      held: () => waiting.length,
      release: () => ((window.fetch = real), waiting.forEach((one) => one())),
    });
  };
  await tab.page.evaluate(told, method, refusal);
  return {
    /** Until one waits. */
    come: () => tab.page.waitForFunction("held() > 0"),
    release: () => tab.page.evaluate("release()"),
  };
}

/** @param {string} [name] */
const assistant = async (name = "Anna", more = {}) =>
  (await owner("POST", "/user/assistant", caller({ name, ...more }))).data.id;

/** @param {string} title */
const titled = (title) =>
  tab.page.waitForFunction((wanted) => document.querySelector("main h1")?.textContent === wanted, {}, title);

test("a row that was added has the focus as soon as it is there", async () => {
  const { page } = tab;
  await go(tab, "/tools?new=1");
  await press(page, "Add to: Headers", "dialog");
  await page.waitForSelector("#dialog-headers-0-value");
  assert.equal(await focused(), "dialog-headers-0-name");
  await page.keyboard.type("Authorization");
  await write(tab.page, "#dialog-headers-0-value", "Bearer of the shop");
  await new Promise((resolve) => setTimeout(resolve, 3 * FRAME_MS));
  assert.equal(await focused(), "dialog-headers-0-value");
  assert.equal(await held("#dialog-headers-0-name"), "Authorization");
  assert.equal(await held("#dialog-headers-0-value"), "Bearer of the shop");
  await press(page, "Create tool", "dialog");
  await page.waitForSelector("[data-summary]");
  assert.ok(await page.evaluate(() => document.activeElement?.hasAttribute("data-summary")));
  faultless(tab, "rows");
});

test("a row goes to the form that it was added to", async () => {
  const { page } = tab;
  await go(tab, `/assistants/${await assistant("Two forms", { variables: { first: "1" } })}`);
  await press(page, "Preview");
  await page.waitForSelector("#preview-variables-0-name");
  await press(page, "Add to: Variables", "form[aria-label='Save']");
  await page.waitForSelector("#field-variables-1-name");
  assert.equal(await focused(), "field-variables-1-name");
  await press(page, "Add to: Variables", "form[aria-label='Show']");
  await page.waitForSelector("#preview-variables-1-name");
  assert.equal(await focused(), "preview-variables-1-name");
  faultless(tab, "forms");
});

test("what is typed while a save is under way stays, and so does its draft", async () => {
  const { page } = tab;
  await go(tab, `/assistants/${await assistant()}`);
  await write(tab.page, "#field-name", "Saved");
  const patches = await hold("PATCH");
  await page.keyboard.press("Enter");
  await patches.come();
  await page.keyboard.type(" and more");
  await patches.release();
  await titled("Saved");
  await page.waitForFunction(() =>
    document.querySelector(".savebar [role=status]")?.textContent?.includes("Not saved yet"),
  );
  assert.equal(await held("#field-name"), "Saved and more");
  await page.waitForFunction(() => JSON.stringify({ ...sessionStorage }).includes("Saved and more"));
  await page.keyboard.press("Enter");
  await titled("Saved and more");
  await page.waitForFunction(() => !JSON.stringify({ ...sessionStorage }).includes("Saved and more"));
  faultless(tab, "saves");
});

test("what is taken back while it is being saved stays taken back", async () => {
  const { page } = tab;
  const id = await assistant("Taken back", { record: false });
  await go(tab, `/assistants/${id}`);
  const isOn = () => page.$eval("#field-record", (one) => /** @type {HTMLInputElement} */ (one).checked);
  await page.focus("#field-record");
  await page.keyboard.press("Space");
  const patches = await hold("PATCH");
  await press(page, "Save");
  await patches.come();
  await page.focus("#field-record");
  await page.keyboard.press("Space");
  await patches.release();
  await shows(tab.page, "Not saved yet");
  await settled(page);
  assert.equal(await isOn(), false);
  assert.equal((await owner("GET", `/user/assistant/${id}`)).record, true);
  await press(page, "Save");
  await shows(tab.page, "All changes are saved");
  assert.equal((await owner("GET", `/user/assistant/${id}`)).record, false);
  faultless(tab, "taken back");
});

test("a save whose row cannot be read again does not bring the old one back", async () => {
  const { page } = tab;
  const id = await assistant("Before");
  await go(tab, `/assistants/${id}`);
  await write(tab.page, "#field-name", "After");
  const reads = await hold("GET", { message: "Not now." });
  await press(page, "Save");
  await reads.come();
  await reads.release();
  await shows(tab.page, "Not now.");
  assert.equal(await held("#field-name"), "After");
  assert.equal((await owner("GET", `/user/assistant/${id}`)).name, "After");
  await press(page, "Try again");
  await titled("After");
  await shows(tab.page, "All changes are saved");
  assert.equal(await held("#field-name"), "After");
  faultless(tab, "read again");
});

test("what was made is no draft any more, whatever was typed meanwhile", async () => {
  const { page } = tab;
  await go(tab, "/knowledge");
  await press(page, "New knowledgebase");
  await page.waitForSelector("#dialog-name");
  await page.type("#dialog-name", "Made");
  const posts = await hold("POST");
  await page.keyboard.press("Enter");
  await posts.come();
  await page.keyboard.type(" once");
  await posts.release();
  await titled("Made");
  assert.doesNotMatch(await page.evaluate(() => JSON.stringify({ ...sessionStorage })), /Made/);
  faultless(tab, "made");
});

test("a row that is read again brings what others changed, and leaves what was typed", async () => {
  const { page } = tab;
  const id = await assistant("Read again", { webhook_url: "https://shop.example/one" });
  await go(tab, `/assistants/${id}`);
  await write(tab.page, "#field-name", "Typed here");
  await owner("PATCH", `/user/assistant/${id}`, { initial_message: "Changed elsewhere" });
  await press(page, "Switch on", ".head");
  await page.waitForFunction(
    () =>
      /** @type {HTMLTextAreaElement} */ (document.querySelector("#field-initial_message")).value ===
      "Changed elsewhere",
  );
  assert.equal(await held("#field-name"), "Typed here");
  await press(page, "Save");
  await titled("Typed here");
  const row = await owner("GET", `/user/assistant/${id}`);
  assert.deepEqual([row.name, row.initial_message], ["Typed here", "Changed elsewhere"]);
  faultless(tab, "changes");
});

test("a refusal takes the focus from nobody who types on", async () => {
  const { page } = tab;
  const tool = { name: "look_up", description: "Looks up", endpoint: service.endpoint.url, method: "GET" };
  const { id } = (await owner("POST", "/user/tools", tool)).data;
  await go(tab, `/tools/${id}`);
  const patches = await hold("PATCH", { message: "Not now.", errors: { name: ["Not this one."] } });
  await write(tab.page, "#field-description", "Looks up orders");
  await press(page, "Save");
  await patches.come();
  await page.focus("#field-name");
  await page.keyboard.type("_going_on");
  await patches.release();
  await page.waitForSelector("[data-summary]");
  assert.equal(await focused(), "field-name");
  assert.equal(await held("#field-name"), "look_up_going_on");
  await press(page, "Discard changes");
  faultless(tab, "refusals");
});

test("what was asked before a dialog closes gives the focus back to it", async () => {
  const { page } = tab;
  await go(tab, "/knowledge");
  await press(page, "New knowledgebase");
  await page.waitForSelector("dialog[open] #dialog-name");
  await page.type("#dialog-name", "Prices");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.querySelectorAll("dialog[open]").length === 2);
  await press(page, "Cancel", "dialog:not(:has(#dialog-name))");
  await page.waitForFunction(() => document.querySelectorAll("dialog[open]").length === 1);
  assert.equal(await focused(), "dialog-name");
  // A key beside every control is of the dialog too.
  await page.evaluate(() => /** @type {HTMLElement} */ (document.activeElement).blur());
  await page.keyboard.type("gc");
  await new Promise((resolve) => setTimeout(resolve, 2 * FRAME_MS));
  assert.match(page.url(), /\/knowledge$/);
  assert.equal(await held("#dialog-name"), "Prices");
  await press(page, "Cancel", "dialog");
  await page.waitForFunction(() => !document.querySelector("dialog"));
  assert.equal(await page.evaluate(() => document.activeElement?.textContent), "New knowledgebase");
  faultless(tab, "dialogs");
});

test("what is not yet done with stays while the page is shown anew", async () => {
  const { page } = tab;
  const id = await assistant("For imports");
  const { data } = await owner("POST", "/user/campaigns", { name: "Imports", assistant_id: id });
  await go(tab, `/campaigns/${data.id}/import`);
  const path = join(mkdtempSync(join(tmpdir(), "typing-")), "leads.csv");
  writeFileSync(path, "phone,first\n+40700000001,Anna\n");
  const input = /** @type {import("puppeteer-core").ElementHandle<HTMLInputElement>} */ (
    await page.$("input[type=file]")
  );
  const looks = await hold("POST");
  await input.uploadFile(path);
  await looks.come();
  await page.focus("input[maxlength='2']");
  await page.keyboard.type("r");
  await looks.release();
  await page.waitForSelector("main h3");
  await page.keyboard.type("o");
  assert.equal(await held("input[maxlength='2']"), "ro");
  await page.keyboard.press("Tab");
  assert.equal(await held("input[maxlength='2']"), "RO");
  faultless(tab, "imports");
});

test("an operator's token that is wrong is said so, and what was typed stays", async () => {
  const { page } = tab;
  tab.expected.push(/admin\//);
  for (const path of ["/console/operator", "/console/"]) {
    await page.goto(service.url + path);
    if (path === "/console/") await press(page, "I am the operator");
    await page.waitForSelector("input[name=token]");
    await page.type("input[name=token]", "sbo_none");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => document.body.textContent?.includes("This is not the operator's token."));
    assert.equal(await held("input[name=token]"), "sbo_none");
    await write(tab.page, "input[name=token]", service.secrets.admin_token);
    await page.keyboard.press("Enter");
    await page.waitForSelector(".side");
    await settled(page);
    await page.evaluate(() => sessionStorage.clear());
  }
  faultless(tab, "tokens");
});
