// Talking with an assistant in the browser, over an engine's door: real WebRTC between two pages of one browser.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { button, faultless, findings, go, launch, open, press, signIn } from "./tools/browser.js";
import { openDoor, TALKING } from "./tools/door.js";
import { FRONT, client, start } from "./tools/service.js";
import { caller, until } from "./tools/world.js";

/** @type {import("./tools/service.js").Service} */ let service;
/** @type {import("puppeteer-core").Browser} */ let browser;
/** @type {import("./tools/door.js").Door} */ let door;
/** @type {ReturnType<typeof client>} */ let owner;
/** @type {number} */ let assistant;

before(async () => {
  service = await start(FRONT);
  owner = client(`${service.service}/api`, service.secrets.api_key);
  assistant = (await owner("POST", "/user/assistant", caller({ name: "Anna" }))).data.id;
  browser = await launch(TALKING);
  door = await openDoor(service, browser);
});
after(async () => {
  door?.close();
  await browser?.close();
  await service?.stop();
});

/** The page of the assistant. */
async function opened() {
  const tab = await open(browser, service.url, door.url);
  await signIn(tab, service.secrets);
  await go(tab, `/assistants/${assistant}`);
  return tab;
}

/** @param {import("puppeteer-core").Page} page @param {RegExp} words */
async function shows(page, words) {
  await page.waitForFunction(
    (source) => new RegExp(source).test(document.querySelector("main")?.textContent ?? ""),
    {},
    words.source,
  );
}

/** The engine is told to hang up, and does. @param {number} before commands that it had been told @param {any} [last] */
async function hungUp(before, last = { type: "ended", by: "customer", reason: "hung-up" }) {
  await until(
    async () => (await door.report(), door.commands.slice(before).some(({ type }) => type === "hangup")),
    "it is hung up",
  );
  await door.report(last);
}

test("without an engine that takes browsers the service says so, and no microphone is asked for", async () => {
  const { page, ...tab } = await opened();
  await page.evaluate(() => {
    navigator.mediaDevices.getUserMedia = () => Promise.reject(new Error("asked too early"));
  });
  tab.expected.push(/web_calls$/);
  await press(page, "Talk to it");
  await page.waitForSelector("main [role=alert]");
  assert.match(await page.$eval("main [role=alert]", (one) => one.textContent ?? ""), /engine/);
  await page.waitForSelector(button("Talk to it"));
  faultless({ page, ...tab }, "no engine");
});

test("what is said is heard on both sides and shown, until one of them hangs up", async () => {
  await door.attach();
  const { page, ...tab } = await opened();
  await press(page, "Talk to it");
  await shows(page, /Connecting…/);
  await until(async () => door.call() > 0, "the door is shown a token");
  await door.report({ type: "answered", answered_by: "human" });
  await shows(page, /In the call/);
  await until(async () => (await door.heard()).packets > 50, "sound comes to the engine");
  await page.waitForFunction(() => {
    const sound = document.querySelector("main audio");
    return sound instanceof HTMLAudioElement && !sound.paused && sound.currentTime > 0.5;
  });
  await door.report(
    { type: "transcript", sender: "bot", text: "Hello, this is Anna." },
    { type: "partial", text: "Good mor" },
  );
  await shows(page, /Hello, this is Anna\..*Good mor …/);
  await door.report({ type: "transcript", sender: "human", text: "Good morning <b>Anna</b>." });
  await shows(page, /Good morning <b>Anna<\/b>\./);
  assert.deepEqual(await findings(page), []);

  await press(page, "Mute");
  await page.waitForFunction(() =>
    [...document.querySelectorAll('main button[aria-pressed="true"]')].some((one) => one.textContent === "Mute"),
  );
  await press(page, "Hang up");
  await page.waitForSelector(button("Talk to it"));
  await until(async () => (await door.heard()).state !== "connected", "the browser has gone", 40_000);
  const shown = await owner("GET", `/user/calls/${door.call()}`);
  assert.equal(shown.assistant_id ?? shown.data?.assistant_id, assistant);
  // An empty report brings what is to be done.
  await door.report();
  await door.report({ type: "ended", by: "customer", reason: "hung-up" });
  assert.ok(
    door.commands.some(({ type }) => type === "hangup"),
    JSON.stringify(door.commands),
  );
  faultless({ page, ...tab }, "a call");
});

test("an engine that ends the call, or is lost, gives the page its button back", async () => {
  await door.attach();
  const { page, ...tab } = await opened();
  const before = door.call();
  await press(page, "Talk to it");
  await until(async () => door.call() > before, "another call");
  await door.report({ type: "answered", answered_by: "human" });
  await shows(page, /In the call/);
  await door.report({ type: "ended", by: "assistant", reason: "end_call" });
  await page.waitForSelector(button("Talk to it"));
  assert.equal(await page.$("main [role=alert]"), null);
  faultless({ page, ...tab }, "ended");
});

test("a talk goes on while other pages and tabs are open, and its own call is seen live", async () => {
  await door.attach();
  const { page, ...tab } = await opened();
  const before = door.call();
  const told = door.commands.length;
  await press(page, "Talk to it");
  await until(async () => door.call() > before, "another call");
  await door.report({ type: "answered", answered_by: "human" });
  await shows(page, /In the call/);
  await page.click("#tab-calls");
  await page.waitForSelector("#tab-calls[aria-selected=true]");
  await (await page.waitForSelector('::-p-aria([name="The call\'s page"])'))?.click();
  await page.waitForFunction((path) => location.pathname === path, {}, `/console/calls/${door.call()}`);
  await door.report({ type: "transcript", sender: "bot", text: "Still here." });
  await shows(page, /Still here\./);
  const packets = (await door.heard()).packets;
  await until(async () => (await door.heard()).packets > packets + 20, "sound still comes to the engine");
  assert.ok(!door.commands.some(({ type }, at) => type === "hangup" && at >= told), JSON.stringify(door.commands));
  assert.deepEqual(await findings(page), []);
  await (await page.waitForSelector('::-p-aria([name="Talk with Anna"])'))?.click();
  await shows(page, /Still here\./);
  assert.deepEqual(await findings(page), []);
  await press(page, "Hang up", ".talking");
  await page.waitForSelector(button("Talk to it"));
  await shows(page, /Still here\./);
  await hungUp(told);
  faultless({ page, ...tab }, "other pages");
});

test("whoever hangs up while it connects leaves the call", async () => {
  await door.attach();
  const { page, ...tab } = await opened();
  const before = door.call();
  const told = door.commands.length;
  await press(page, "Talk to it");
  await go({ page, ...tab }, "/calls");
  await until(async () => door.call() > before, "the door is shown a token on another page, too");
  await press(page, "Hang up", ".talking");
  await page.waitForFunction(() => !document.querySelector(".talking"));
  await hungUp(told, { type: "failed", reason: "hangup" });
  faultless({ page, ...tab }, "left");
});

test("a microphone that is refused ends the call that was made for it", async () => {
  await door.attach();
  const { page, ...tab } = await opened();
  await page.evaluate(() => {
    navigator.mediaDevices.getUserMedia = () => Promise.reject(new Error("refused"));
  });
  await press(page, "Talk to it");
  await shows(page, /The microphone cannot be used/);
  await until(async () => {
    const { data } = await owner("GET", "/user/calls?per_page=1");
    return !["initiated", "ringing", "in-progress"].includes(data[0].status);
  }, "it is over");
  faultless({ page, ...tab }, "refused");
});

test("signing out hangs up, and a line that breaks is told on whichever page is open", async () => {
  await door.attach();
  const { page, ...tab } = await opened();
  let before = door.call();
  await press(page, "Talk to it");
  await until(async () => door.call() > before, "a call");
  await door.report({ type: "answered", answered_by: "human" });
  await shows(page, /In the call/);
  await go({ page, ...tab }, "/");
  const told = door.commands.length;
  await press(page, "Sign out");
  await page.waitForSelector("input[name=email]");
  await hungUp(told);
  await until(async () => (await door.heard()).state !== "connected", "the browser has gone", 40_000);

  await signIn({ page, ...tab }, service.secrets);
  assert.equal(await page.$(".talking"), null);
  await door.attach();
  await go({ page, ...tab }, `/assistants/${assistant}`);
  before = door.call();
  await press(page, "Talk to it");
  await until(async () => door.call() > before, "a call");
  await door.report({ type: "failed", reason: "engine-failed" });
  await page.waitForSelector(".talking [role=alert]");
  await go({ page, ...tab }, "/calls");
  await press(page, "Close", ".talking");
  await page.waitForFunction(() => !document.querySelector(".talking"));
  faultless({ page, ...tab }, "ends");
});

test("a conversation by text is still there after another tab and another page", async () => {
  const { page, ...tab } = await opened();
  await press(page, "Begin a conversation");
  await page.waitForSelector("#message");
  await page.type("#message", "What are your hours?");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => document.querySelectorAll(".chat .bubble").length >= 3);
  await page.type("#message", "And on Sun");
  await page.click("#tab-calls");
  await page.waitForSelector("#tab-calls[aria-selected=true]");
  await go({ page, ...tab }, "/calls");
  await go({ page, ...tab }, `/assistants/${assistant}`);
  await shows(page, /What are your hours\?/);
  assert.equal(await page.$eval("#message", (one) => /** @type {HTMLInputElement} */ (one).value), "And on Sun");
  await press(page, "Sign out");
  await page.waitForSelector("input[name=email]");
  await signIn({ page, ...tab }, service.secrets);
  await go({ page, ...tab }, `/assistants/${assistant}`);
  await page.waitForSelector(button("Begin a conversation"));
  faultless({ page, ...tab }, "a chat");
});
