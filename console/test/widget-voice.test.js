// Visitors who talk over a widget: real WebRTC between a page of another origin and an engine's door.

import assert from "node:assert/strict";
import { test } from "node:test";
import { findings } from "./tools/browser.js";
import { openDoor, TALKING } from "./tools/door.js";
import { Shop, inside, notice, opened, reads, there } from "./tools/shop.js";
import { until } from "./tools/world.js";

const shop = new Shop(TALKING);
/** The engine's, once the first test has opened it. @type {import("./tools/door.js").Door} */ let door;

/** Presses a button of the widget. @param {import("puppeteer-core").Page} page @param {string} name */
const press = async (page, name) => (await there(page, `button[aria-label="${name}"]:not([hidden])`)).click();

/** Whether the widget offers to talk. @param {import("puppeteer-core").Page} page */
const offers = (page) => inside(page, (root) => root.querySelector('button[aria-label="Talk"]:not([hidden])') !== null);

test("a visitor talks with the assistant of the page, where that is wanted and an engine is there", async () => {
  const { service, browser, owner } = shop.parts;
  door = await openDoor(service, browser);
  const [open, silent] = [await shop.assistant({ voice: true }), await shop.assistant()];
  // Before an engine is attached, and where the settings do not want it, there is nothing but the field.
  for (const uuid of [open.uuid, silent.uuid]) {
    const tab = await shop.visit("/", shop.line(uuid));
    await opened(tab.page);
    assert.equal(await offers(tab.page), false);
    await shop.leave(tab);
    if (uuid === open.uuid) await door.attach();
  }
  const tab = await shop.visit("/", shop.line(open.uuid));
  await opened(tab.page);
  assert.deepEqual(await findings(tab.page), []);
  await press(tab.page, "Talk");
  await notice(tab.page, /You are talking/);
  await door.report({ type: "answered", answered_by: "human" });
  await until(async () => (await door.heard()).packets > 50, "sound comes to the engine");
  assert.deepEqual(await findings(tab.page), []);
  await press(tab.page, "End the call");
  await reads(tab.page, "li.note", /The call has ended/);
  await until(async () => (await door.heard()).state !== "connected", "the browser has gone", 40_000);
  const call = await owner("GET", `/user/calls/${door.call()}`);
  assert.equal(call.type, "web");
  // One that the engine ends gives the button back.
  await door.attach();
  await press(tab.page, "Talk");
  await notice(tab.page, /You are talking/);
  await door.cut();
  await until(() => offers(tab.page), "the button is back", 40_000);
  await shop.leave(tab, door.url);
});

test("a visitor without a microphone, and one whom the door refuses, reads what to do", async () => {
  await door.attach();
  const before = door.call();
  const { uuid } = await shop.assistant({ voice: true });
  const tab = await shop.visit("/", shop.line(uuid));
  await tab.page.evaluate(() => {
    navigator.mediaDevices.getUserMedia = () => Promise.reject(new DOMException("", "NotAllowedError"));
  });
  await opened(tab.page);
  await press(tab.page, "Talk");
  await notice(tab.page, /no microphone.*Allow it/);
  assert.equal(door.call(), before, "no call was made");
  await shop.leave(tab, door.url);
  door.close();
  const other = await shop.visit("/", shop.line(uuid));
  other.expected.push(new RegExp(door.url));
  await opened(other.page);
  await press(other.page, "Talk");
  await notice(other.page, /could not be connected/);
  await shop.leave(other, door.url);
});
