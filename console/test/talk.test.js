// Talking with an assistant in the browser, over an engine's door: real WebRTC between two pages of one browser.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { button, faultless, findings, go, launch, open, press, signIn } from "./tools/browser.js";
import { openDoor, TALKING } from "./tools/door.js";
import { client, start } from "./tools/service.js";
import { caller, until } from "./tools/world.js";

/** @type {import("./tools/service.js").Service} */ let service;
/** @type {import("puppeteer-core").Browser} */ let browser;
/** @type {import("./tools/door.js").Door} */ let door;
/** @type {ReturnType<typeof client>} */ let owner;
/** @type {number} */ let assistant;

before(async () => {
  service = await start();
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
  await press(page, "Talk to it");
  const before = door.call();
  await until(async () => door.call() > before, "another call");
  await door.report({ type: "answered", answered_by: "human" });
  await shows(page, /In the call/);
  await door.report({ type: "ended", by: "assistant", reason: "end_call" });
  await page.waitForSelector(button("Talk to it"));
  assert.equal(await page.$("main [role=alert]"), null);
  faultless({ page, ...tab }, "ended");
});

test("whoever leaves the page while it connects leaves the call", async () => {
  await door.attach();
  const { page, ...tab } = await opened();
  const before = door.call();
  await press(page, "Talk to it");
  await go({ page, ...tab }, "/calls");
  await until(async () => door.call() > before, "the door is shown a token all the same");
  const told = door.commands.length;
  await until(
    async () => (await door.report(), door.commands.slice(told).some(({ type }) => type === "hangup")),
    "it is hung up",
  );
  await door.report({ type: "failed", reason: "hangup" });
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
