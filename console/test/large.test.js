// An account that is large, and a call that is long: choices are found by search, lists page, a page of many events
// answers at once.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { faultless, findings, go, launch, open, signIn } from "./tools/browser.js";
import { bring } from "./tools/engine.js";
import { client, start } from "./tools/service.js";
import { caller } from "./tools/world.js";

const ASSISTANTS = 1_000;
/** Assistants that are made at once. */
const AT_ONCE = 20;
const TURNS = 1_500;

/** @type {import("./tools/service.js").Service} */ let service;
/** @type {import("puppeteer-core").Browser} */ let browser;
/** @type {number} */ let call;

before(async () => {
  service = await start();
  const owner = client(`${service.service}/api`, service.secrets.api_key);
  let first = 0;
  const began = Date.now();
  for (let at = 1; at <= ASSISTANTS; at += AT_ONCE) {
    const made = await Promise.all(
      Array.from({ length: AT_ONCE }, (_, more) =>
        owner("POST", "/user/assistant", caller({ name: `Assistant ${String(at + more).padStart(4, "0")}` })),
      ),
    );
    first ||= made[0].data.id;
  }
  console.log(`# ${ASSISTANTS} assistants made in ${Date.now() - began} ms`);
  const long = await bring(service, first);
  call = long.id;
  await long.report({ type: "dialing" }, { type: "answered", answered_by: "human" });
  for (let at = 0; at < TURNS; at += 50) {
    await long.report(
      ...Array.from({ length: 50 }, (_, more) => [
        { type: "transcript", sender: more % 2 ? "bot" : "human", text: `Line ${at + more} of a long call.` },
        { type: "metrics", turn: at + more, llm_ms: 300 + more, tts_ms: 90 },
      ]).flat(),
    );
  }
  await long.report({ type: "ended", by: "customer", reason: "hung-up" });
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

test("an assistant beyond the first page is found by its name, by keyboard", async () => {
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  const { page } = tab;
  await go(tab, "/campaigns?new=1");
  await page.waitForSelector("#dialog-assistant_id[role=combobox]");
  await page.focus("#dialog-assistant_id");
  // Enter takes nothing from the list of what was typed before: what is found comes after it.
  let answer = () => {};
  const pressed = new Promise((resolve) => (answer = () => resolve(0)));
  await page.setRequestInterception(true);
  page.on("request", async (request) => {
    if (request.url().includes("search=")) await pressed;
    await request.continue();
  });
  await page.keyboard.type("Assistant 0927");
  await page.keyboard.press("Enter");
  answer();
  await page.waitForFunction(
    () => document.querySelector(".picker [aria-selected=true]")?.textContent === "Assistant 0927",
  );
  assert.deepEqual(await findings(page), []);
  await page.keyboard.press("Enter");
  assert.equal(
    await page.$eval("#dialog-assistant_id", (one) => /** @type {HTMLInputElement} */ (one).value),
    "Assistant 0927",
  );
  await page.type("#dialog-name", "Found by search");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelector("main h1")?.textContent === "Found by search");

  await go(tab, "/assistants");
  await page.waitForFunction(() => document.querySelector(".pager")?.textContent?.includes("1–25 of 1,000"));
  faultless(tab, "search");
});

test("a call of thousands of events is shown at once, and the rest by a button", async () => {
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  const { page } = tab;
  const began = Date.now();
  await go(tab, `/calls/${call}`);
  await page.waitForSelector("ol.said .entry");
  const ms = Date.now() - began;
  console.log(`# a call of ${2 * TURNS} events: ${ms} ms to its transcript`);
  assert.ok(ms < 20_000);
  const shown = await page.$$eval("ol.said .entry", (all) => all.length);
  assert.ok(shown <= 400, String(shown));
  await (await page.waitForSelector(".pager button"))?.click();
  await page.waitForFunction((before) => document.querySelectorAll("ol.said .entry").length > before, {}, shown);
  await go(tab, `/calls/${call}?tab=events`);
  assert.ok((await page.$$eval("main tbody tr", (all) => all.length)) >= 200);
  faultless(tab, "long call");
});
