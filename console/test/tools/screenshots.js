// Pictures of each page into docs/console/: wide and narrow, light and dark, as they fit on a screen. `--whole DIR` writes
// the whole pages there, to be looked at.

import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { go, launch, open, press, signIn, signInOperator } from "./browser.js";
import { bring, play } from "./engine.js";
import { start } from "./service.js";
import { fill, OPERATED } from "./world.js";

const whole = process.argv.includes("--whole");
const folder = whole
  ? process.argv[process.argv.indexOf("--whole") + 1]
  : fileURLToPath(new URL("../../../docs/console/", import.meta.url));

const service = await start();
const world = await fill(service);
const call = await bring(service, world.assistants.anna);
await play(call);
const browser = await launch();

/** @typedef {{ name: string, path: string, act?: (tab: import("./browser.js").Tab) => Promise<void> }} Picture */

/** A conversation with a tool and a passage. @param {import("./browser.js").Tab} tab */
async function talk({ page }) {
  await press(page, "Begin a conversation");
  await page.waitForSelector("#message");
  await page.type("#message", "Where can I park, and when are you open?");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".bubble").length >= 3);
}

/** What the assistant asked of a tool. @param {import("./browser.js").Tab} tab */
const unfold = async ({ page }) => (await page.waitForSelector(".bubble:last-child summary"))?.click();

/** A spreadsheet whose columns are about to become variables. @param {import("./browser.js").Tab} tab */
async function choose({ page }) {
  const file = join(mkdtempSync(join(tmpdir(), "leads-")), "patients.csv");
  writeFileSync(file, "Name;Mobile;Due on\nAna Popescu;+40700000011;2026-12-01\nIon Ionescu;+40700000012;2026-12-03\n");
  const input = /** @type {import("puppeteer-core").ElementHandle<HTMLInputElement> | null} */ (
    await page.waitForSelector("input[type=file]")
  );
  await input?.uploadFile(file);
  await page.waitForSelector("main table");
}

/** @type {Picture[]} */
const pages = [
  { name: "home", path: "/" },
  { name: "calls", path: "/calls" },
  { name: "call", path: `/calls/${call.id}` },
  { name: "call-events", path: `/calls/${call.id}?tab=events` },
  { name: "call-with-tools", path: `/calls/${world.calls.tool}` },
  { name: "assistants", path: "/assistants" },
  { name: "assistant-new", path: "/assistants/new" },
  { name: "assistant", path: `/assistants/${world.assistants.anna}`, act: talk },
  { name: "conversations", path: "/conversations" },
  { name: "conversation", path: `/conversations/${world.conversation}`, act: unfold },
  { name: "campaigns", path: "/campaigns" },
  { name: "campaign", path: `/campaigns/${world.campaign}` },
  { name: "campaign-leads", path: `/campaigns/${world.campaign}?tab=leads` },
  { name: "lead", path: `/campaigns/${world.campaign}/leads/1` },
  { name: "import", path: `/campaigns/${world.campaign}/import`, act: choose },
  { name: "numbers", path: "/numbers" },
  { name: "trunk", path: `/numbers/trunks/${world.numbers.trunk}` },
  { name: "knowledge", path: "/knowledge" },
  { name: "knowledgebase", path: `/knowledge/${world.knowledge}` },
  { name: "tools", path: "/tools" },
  { name: "tool", path: `/tools/${world.tools.slots}` },
  { name: "webhooks", path: "/webhooks" },
  { name: "webhooks-feed", path: "/webhooks?tab=feed" },
  { name: "do-not-call", path: "/do-not-call" },
  { name: "keys", path: "/keys" },
  { name: "account", path: "/account" },
];
const operating = OPERATED.map((path) => ({ path, name: path.slice(1).replace("/1", "").replaceAll("/", "-") }));

const WIDE = { width: 1360, height: 900 };
const NARROW = { width: 390, height: 844 };

/** @param {import("./browser.js").Tab} tab @param {Picture[]} pictures */
async function take(tab, pictures) {
  const { page } = tab;
  for (const { name, path, act } of pictures) {
    await page.setViewport(WIDE);
    await go(tab, path);
    await act?.(tab);
    for (const narrow of [false, true]) {
      for (const dark of [false, true]) {
        await page.setViewport(narrow ? NARROW : WIDE);
        await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
        await new Promise((resolve) => setTimeout(resolve, 300));
        const file = [name, narrow && "narrow", dark && "dark"].filter(Boolean).join("-");
        await page.screenshot({ path: `${folder}/${file}.webp`, type: "webp", quality: 75, fullPage: whole });
      }
    }
  }
}

if (!whole) rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
try {
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  await take(tab, pages);
  const other = await open(browser, service.url);
  await signInOperator(other, service.secrets.admin_token);
  await take(other, operating);
} finally {
  await browser.close();
  await service.stop();
}
