// Pictures of the pages into docs/console/: those that show most, light and dark, wide and narrow. `--all DIR` writes
// every page there, to be looked at.

import { mkdirSync, rmSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { go, launch, open, press, signIn, signInOperator } from "./browser.js";
import { bring, play } from "./engine.js";
import { start } from "./service.js";
import { fill, OPERATED } from "./world.js";

const all = process.argv.includes("--all");
const folder = all
  ? process.argv[process.argv.indexOf("--all") + 1]
  : fileURLToPath(new URL("../../../docs/console/", import.meta.url));

const service = await start();
const world = await fill(service);
const call = await bring(service, world.assistants.anna);
await play(call);
const browser = await launch();

/** @typedef {{ name: string, path: string, dark?: boolean, narrow?: boolean, act?: (tab: import("./browser.js").Tab) => Promise<void> }} Picture */

/** A conversation with a tool and a passage. @param {import("./browser.js").Tab} tab */
async function talk({ page }) {
  await press(page, "Begin a conversation");
  await page.waitForSelector("#message");
  await page.type("#message", "Where can I park, and when are you open?");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".bubble").length >= 3);
}

/** @type {Picture[]} */
const few = [
  { name: "home", path: "/" },
  { name: "home-dark", path: "/", dark: true },
  { name: "home-narrow", path: "/", narrow: true },
  { name: "call", path: `/calls/${call.id}` },
  { name: "call-dark", path: `/calls/${call.id}`, dark: true },
  { name: "call-narrow", path: `/calls/${call.id}`, narrow: true },
  { name: "calls", path: "/calls" },
  { name: "assistant", path: `/assistants/${world.assistants.anna}`, act: talk },
  { name: "campaign", path: `/campaigns/${world.campaign}` },
  { name: "campaign-dark-narrow", path: `/campaigns/${world.campaign}`, dark: true, narrow: true },
  { name: "knowledge", path: `/knowledge/${world.knowledge}` },
];

/** Every page, wide and light; narrow and dark. @type {Picture[]} */
const many = [
  "/",
  "/calls",
  `/calls/${call.id}`,
  `/calls/${call.id}?tab=events`,
  `/calls/${world.calls.tool}`,
  "/assistants",
  "/assistants/new",
  `/assistants/${world.assistants.anna}`,
  "/campaigns",
  `/campaigns/${world.campaign}`,
  `/campaigns/${world.campaign}?tab=leads`,
  `/campaigns/${world.campaign}/leads/1`,
  `/campaigns/${world.campaign}/import`,
  "/numbers",
  `/numbers/trunks/${world.numbers.trunk}`,
  "/knowledge",
  `/knowledge/${world.knowledge}`,
  "/tools",
  `/tools/${world.tools.slots}`,
  "/webhooks",
  "/webhooks?tab=feed",
  "/do-not-call",
  "/keys",
  "/account",
].flatMap((path) => [
  { path, name: named(path) },
  { path, name: `${named(path)}-narrow`, narrow: true, dark: true },
]);

/** @type {Picture[]} */
const operating = all
  ? OPERATED.map((path) => ({ path, name: named(path) }))
  : [{ name: "operator-queues", path: "/operator/queues" }];

/** @param {string} path */
function named(path) {
  return path.replace(/^\//, "").replace(/[/?=]/g, "-") || "home";
}

/** @param {import("./browser.js").Tab} tab @param {Picture[]} pictures */
async function take(tab, pictures) {
  const { page } = tab;
  for (const { name, path, dark, narrow, act } of pictures) {
    await page.setViewport(narrow ? { width: 390, height: 844 } : { width: 1360, height: 900 });
    await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: dark ? "dark" : "light" }]);
    await go(tab, path);
    await act?.(tab);
    await new Promise((resolve) => setTimeout(resolve, 500));
    await page.screenshot({
      path: `${folder}/${name}.webp`,
      type: "webp",
      quality: 82,
      fullPage: all || name.startsWith("call"),
    });
  }
}

if (!all) rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });
try {
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  await take(tab, all ? many : few);
  const other = await open(browser, service.url);
  await signInOperator(other, service.secrets.admin_token);
  await take(other, operating);
} finally {
  await browser.close();
  await service.stop();
}
