// The page of a call: how its events are read, and what its timeline and its transcript show of them.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { faultless, findings, go, launch, open, press, signIn } from "./tools/browser.js";
import { bring } from "./tools/engine.js";
import { client, start } from "./tools/service.js";
import { caller, until } from "./tools/world.js";

/** @type {import("./tools/service.js").Service} */ let service;
/** @type {import("puppeteer-core").Browser} */ let browser;
/** @type {import("./tools/browser.js").Tab} */ let tab;
/** @type {ReturnType<typeof client>} */ let owner;
/** @type {number} */ let assistant;

/** What is answered instead of a call's events; null: what the service answers.
 * @type {null | ((url: URL) => Partial<import("puppeteer-core").ResponseForRequest> | "lost" | Promise<null>)} */
let events = null;

before(async () => {
  service = await start();
  owner = client(`${service.service}/api`, service.secrets.api_key);
  assistant = (await owner("POST", "/user/assistant", caller({ name: "Anna" }))).data.id;
  browser = await launch();
  tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  await tab.page.setRequestInterception(true);
  tab.page.on("request", async (request) => {
    const url = new URL(request.url());
    const told = events && /\/calls\/\d+\/events$/.test(url.pathname) ? await events(url) : null;
    if (told === "lost") return request.abort("connectionreset");
    return told ? request.respond({ contentType: "application/json", ...told }) : request.continue();
  });
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

/** @param {string} words */
const shows = (words) =>
  tab.page.waitForFunction((wanted) => document.querySelector("main")?.textContent?.includes(wanted), {}, words);
/** @param {string} words */
const has = (words) =>
  tab.page.evaluate((wanted) => document.querySelector("main")?.textContent?.includes(wanted), words);

/** Opens a call's page, and does not wait for what it reads. @param {number} id */
const turn = (id) =>
  tab.page.evaluate((href) => {
    history.pushState(null, "", href);
    dispatchEvent(new PopStateEvent("popstate"));
  }, `/console/calls/${id}`);

/** A call that is over, in which somebody spoke. @param {...any} between */
async function spoken(...between) {
  const call = await bring(service, assistant);
  await call.report(
    { type: "dialing" },
    { type: "answered", answered_by: "human" },
    { type: "transcript", sender: "bot", text: "Hello, this is Anna." },
    ...between,
    { type: "ended", by: "customer", reason: "hung-up" },
  );
  // For a moment more may come; until then the page follows it.
  await until(async () => (await owner("GET", `/user/calls/${call.id}`)).status === "completed", "the call is over");
  return call.id;
}

test("nobody is said to have kept silent before the events are known", async () => {
  const call = await spoken();
  /** @type {(value: null) => void} */
  let release = () => {};
  const held = new Promise((resolve) => (release = resolve));
  events = () => /** @type {Promise<null>} */ (held);
  await turn(call);
  await shows("Timeline");
  await shows("Loading…");
  assert.ok(!(await has("Nothing was said")));
  release(null);
  await shows("Hello, this is Anna.");
  events = null;
  faultless(tab, "loading");
});

test("events that cannot be read are told of, and are read by another try", async () => {
  const { page } = tab;
  const call = await spoken();
  tab.expected.push(/events/);
  events = () => ({ status: 503, body: JSON.stringify({ message: "The service is busy." }) });
  await go(tab, `/calls/${call}`);
  await page.waitForSelector("main [role=alert]");
  await shows("The service is busy.");
  assert.ok(!(await has("Nothing was said")));
  assert.deepEqual(await findings(page), []);
  events = null;
  await press(page, "Try again", "main");
  await shows("Hello, this is Anna.");
  assert.equal(await page.$("main [role=alert]"), null);
  faultless(tab, "another try");
});

test("a call in which nobody spoke says so", async () => {
  const call = await bring(service, assistant);
  await call.report({ type: "dialing" }, { type: "failed", reason: "busy" });
  await go(tab, `/calls/${call.id}`);
  await shows("Nothing was said");
  faultless(tab, "silent");
});

test("a running call is followed although its events could not be read at first", async () => {
  const call = await bring(service, assistant);
  await call.report({ type: "dialing" }, { type: "answered", answered_by: "human" });
  let lost = 0;
  events = () => {
    lost += 1;
    return "lost";
  };
  await turn(call.id);
  await shows("Reconnecting");
  assert.ok(lost > 0);
  events = null;
  await call.report({ type: "transcript", sender: "bot", text: "Are you there?" });
  await shows("Are you there?");
  await shows("Live");
  await call.report({ type: "transcript", sender: "human", text: "Yes." });
  await shows("Yes.");
  await call.report({ type: "ended", by: "customer", reason: "hung-up" });
  await tab.page.waitForFunction(
    () => ![...document.querySelectorAll(".badge")].some(({ textContent }) => textContent === "Live"),
  );
  const said = await tab.page.$$eval("ol.said .entry.said .what", (all) => all.map((one) => one.textContent?.trim()));
  assert.deepEqual(said, ["Are you there?", "Yes."]);
  faultless(tab, "followed");
});

test("a call of more events than are shown says so", async () => {
  const call = await spoken();
  const at = new Date().toISOString();
  events = (url) => {
    const after = Number(url.searchParams.get("after"));
    const data = Array.from({ length: 1_000 }, (_, one) => ({ seq: after + one + 1, at, type: "metrics", turn: 1 }));
    return { body: JSON.stringify({ data: after < 20_000 ? data : data.slice(0, 1) }) };
  };
  await go(tab, `/calls/${call}`);
  await shows("more events than are shown: these are its first 20,000");
  events = null;
  faultless(tab, "cut");
});

test("keys, transfers and machines are marks of the timeline, in words, by keyboard", async () => {
  const { page } = tab;
  const call = await spoken(
    { type: "detected", answered_by: "machine", kind: "voicemail" },
    { type: "dtmf", digits: "12#", by: "customer" },
    { type: "transfer", to: "+40700000001", mode: "blind", status: "accepted" },
  );
  await go(tab, `/calls/${call}`);
  await page.waitForSelector(".marks");
  const marks = await page.$$eval(".marks button", (all) => all.map((one) => one.textContent?.trim() ?? ""));
  assert.equal(marks.length, 3);
  for (const [at, words] of [/Detected.*A machine/, /Keys.*3.*Customer/, /Transfer.*\+40700000001/].entries())
    assert.match(marks[at], words);
  assert.equal((await page.$$(".lane .piece.mark")).length, 3);
  assert.ok((await page.$$eval(".lane .label", (all) => all.map((one) => one.textContent))).includes("Detected"));
  await page.focus(".marks button");
  await page.keyboard.press("Enter");
  await page.waitForSelector(".playhead");
  assert.deepEqual(await findings(page), []);
  faultless(tab, "marks");
});

test("knowledge that was found is named, and leads to its knowledgebase", async () => {
  const { page } = tab;
  const { data } = await owner("POST", "/user/knowledgebases", { name: "Clinic", description: "Hours" });
  const form = new FormData();
  form.append("name", "Opening hours");
  form.append("type", "txt");
  form.append("file", new Blob(["Parking is free behind the house."]), "hours.txt");
  await owner("POST", `/user/knowledgebases/${data.id}/documents`, form);
  await until(
    async () =>
      (await owner("GET", `/user/knowledgebases/${data.id}/documents`)).data.every(
        (/** @type {any} */ one) => one.status === "active",
      ),
    "the document is read",
  );
  const knowing = await owner("POST", "/user/assistant", caller({ name: "Ion", knowledgebase_id: data.id }));
  const call = await bring(service, knowing.data.id);
  await call.report({ type: "dialing" }, { type: "answered", answered_by: "human" });
  await call.ask("parking");
  await call.report({ type: "ended", by: "customer", reason: "hung-up" });
  await go(tab, `/calls/${call.id}`);
  const link = await page.waitForSelector(`ol.said a[href="/console/knowledge/${data.id}"]`);
  assert.equal(await link?.evaluate((one) => one.textContent), "Opening hours");
  faultless(tab, "knowledge");
});
