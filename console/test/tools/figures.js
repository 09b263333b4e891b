// Figures of the console in a real browser, over a small store and a large one: how soon something is painted, how long
// what is pressed takes to be there, and the memory of a page that is live. `cargo xtask figures console` runs it:
// node figures.js SMALL LARGE MINUTES.

import { appendFileSync } from "node:fs";
import { launch, settled } from "./browser.js";
import { client, start } from "./service.js";
import { caller } from "./world.js";

/** How often each is measured; the middle counts. */
const TURNS = 9;
const PAINT_MS = 300;
const PRESS_MS = 100;
/** How much more memory a page may have at the end than once it has lived for a sixth of its time. */
const GROWTH = 1.2;
/** Pause between two calls that a live page shows, milliseconds. */
const BETWEEN_MS = 500;

const [small, large, minutes] = process.argv.slice(2);
/** @type {{ text: string, aim: string, figure: string, verdict: string }[]} */
const claims = [];

/** @param {string} text @param {number} most @param {number} figure @param {string} unit */
const atMost = (text, most, figure, unit) =>
  claims.push({
    text,
    aim: `≤ ${most}${unit}`,
    figure: `${figure.toPrecision(3)}${unit}`,
    verdict: figure <= most ? "met" : "MISSED",
  });

/** @param {number[]} all */
const middle = (all) => all.toSorted((one, other) => one - other)[Math.floor(all.length / 2)];

/** @template T @param {(turn: number) => Promise<T>} measure @returns {Promise<T[]>} */
async function turns(measure) {
  const all = [];
  for (let turn = 0; turn < TURNS; turn += 1) all.push(await measure(turn));
  return all;
}

/** What is pressed, and what is there then: a link's or a button's selector, and what the page has to show.
 * @type {[string, string, (page: import("puppeteer-core").Page) => Promise<string>, string][]} */
const PRESSED = [
  ["the list of calls", "/", async () => 'nav a[href$="/calls"]', "main tbody tr"],
  ["the next page of calls", "/calls", async () => ".pager button:nth-last-of-type(1)", "main tbody tr"],
  ["a call", "/calls", async () => "main tbody tr a.cell", "main [role=tab]"],
  ["the list of assistants", "/", async () => 'nav a[href$="/assistants"]', "main tbody tr"],
  ["an assistant", "/assistants", async () => "main tbody tr a.cell", "main #field-name"],
];

/** Presses in the page, and returns the time until what is to be there is painted, milliseconds.
 * @param {import("puppeteer-core").Page} page @param {string} pressed @param {string} shown */
const press = (page, pressed, shown) =>
  page.evaluate(
    (control, wanted) =>
      new Promise((resolve) => {
        const before = document.querySelector("main .page");
        const first = document.querySelector(wanted)?.textContent;
        const began = performance.now();
        const look = () => {
          const now = document.querySelector(wanted);
          const isNew = now && (document.querySelector("main .page") !== before || now.textContent !== first);
          if (!isNew || document.querySelector("main .loading")) return requestAnimationFrame(look);
          return requestAnimationFrame(() => setTimeout(() => resolve(performance.now() - began)));
        };
        /** @type {HTMLElement} */ (document.querySelector(control)).click();
        look();
      }),
    pressed,
    shown,
  );

/** Goes to a page as a link does. @param {import("puppeteer-core").Page} page @param {string} path */
async function go(page, path) {
  await page.evaluate((href) => {
    history.pushState(null, "", href);
    dispatchEvent(new PopStateEvent("popstate"));
  }, `/console${path}`);
  await settled(page);
}

/** Measures a store. @param {string} data @param {(page: import("puppeteer-core").Page, service: import("./service.js").Service) => Promise<void>} [more]
 * @returns {Promise<{ paint: number, presses: Map<string, number> }>} */
async function measured(data, more) {
  const service = await start([], data);
  const browser = await launch();
  try {
    const context = await browser.createBrowserContext();
    const page = await context.newPage();
    await page.setViewport({ width: 1280, height: 900 });
    await page.goto(service.secrets.console_url ?? service.url);
    await settled(page);
    const paint = middle(
      await turns(async () => {
        await page.setCacheEnabled(false);
        await page.reload();
        await settled(page);
        return page.evaluate(() => performance.getEntriesByName("first-contentful-paint")[0]?.startTime ?? Infinity);
      }),
    );
    await page.setCacheEnabled(true);
    /** @type {Map<string, number>} */
    const presses = new Map();
    for (const [name, from, control, shown] of PRESSED) {
      const all = await turns(async () => {
        await go(page, from);
        return /** @type {Promise<number>} */ (press(page, await control(page), shown));
      });
      presses.set(name, middle(all));
    }
    await more?.(page, service);
    return { paint, presses };
  } finally {
    await browser.close();
    await service.stop();
  }
}

/** Bytes of the page's heap, after what is no longer used has gone. @param {import("puppeteer-core").Page} page */
async function heap(page) {
  const tools = await page.createCDPSession();
  await tools.send("HeapProfiler.collectGarbage");
  const { JSHeapUsedSize: bytes } = await page.metrics();
  await tools.detach();
  return bytes ?? 0;
}

/** Lets the list of calls live for a while, as calls are placed; returns the bytes of its heap after a sixth of the time
 * and at the end. @param {import("puppeteer-core").Page} page @param {import("./service.js").Service} service */
async function live(page, service) {
  // The account of a store that was filled has no key here: the one that signed in by the link makes one.
  const key = await page.evaluate(async () => {
    const csrf = localStorage.getItem("switchboard.csrf") ?? "";
    const headers = { "content-type": "application/json", "x-csrf-token": csrf };
    const made = await fetch("/user/api-keys", { method: "POST", headers, body: '{"name":"Figures"}' });
    return (await made.json()).api_key?.token;
  });
  const owner = client(`${service.service}/api`, key);
  const { id } = (await owner("POST", "/user/assistant", caller({ name: "Live" }))).data;
  await go(page, "/calls");
  const began = Date.now();
  const span = Number(minutes) * 60_000;
  let early = 0;
  for (let number = 0; Date.now() - began < span; number += 1) {
    const phone = `+4079${String(number % 10_000_000).padStart(7, "0")}`;
    await owner("POST", "/user/make_call", { assistant_id: id, phone_number: phone });
    await new Promise((resolve) => setTimeout(resolve, BETWEEN_MS));
    if (!early && Date.now() - began > span / 6) early = await heap(page);
  }
  const late = await heap(page);
  return { early, late };
}

/** @type {{ early: number, late: number }} */
let memory = { early: NaN, late: NaN };
const few = await measured(small, async (page, service) => void (memory = await live(page, service)));
const many = await measured(large);
atMost("First paint, nothing in the cache", PAINT_MS, few.paint, " ms");
console.log("| pressed | of a thousand calls, ms | of a million, ms |\n|---|---|---|");
for (const [name, time] of few.presses) {
  const far = many.presses.get(name) ?? Infinity;
  console.log(`| ${name} | ${time.toFixed(0)} | ${far.toFixed(0)} |`);
  atMost(`From the press to ${name}, of a million calls and a thousand assistants`, PRESS_MS, far, " ms");
}
const lived = `Memory of the list of calls after ${minutes} minutes live, over that after a sixth of them`;
atMost(lived, GROWTH, memory.late / memory.early, "");
claims.push({ text: "Its memory then", aim: "", figure: `${(memory.late / 1e6).toFixed(1)} MB`, verdict: "" });
console.log("\n| claim | aim | figure | |\n|---|---|---|---|");
for (const { text, aim, figure, verdict } of claims) console.log(`| ${text} | ${aim} | ${figure} | ${verdict} |`);
const file = process.env.SWITCHBOARD_CLAIMS;
if (file) appendFileSync(file, claims.map((claim) => `${JSON.stringify(claim)}\n`).join(""));
