// What single pages do besides the main jobs, in an account that has a little of everything.

import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { faultless, findings, go, launch, open, press, signIn, signInOperator } from "./tools/browser.js";
import { FRONT, client, start } from "./tools/service.js";
import { caller, until } from "./tools/world.js";

/** @type {import("./tools/service.js").Service} */ let service;
/** @type {import("puppeteer-core").Browser} */ let browser;
/** @type {ReturnType<typeof client>} */ let owner;
/** @type {ReturnType<typeof client>} */ let operator;

/** A moment of silence that browsers can play. */
const SILENCE = (() => {
  const samples = 400;
  const wave = Buffer.alloc(44 + samples * 2);
  wave.write("RIFF", 0);
  wave.writeUInt32LE(36 + samples * 2, 4);
  wave.write("WAVEfmt ", 8);
  wave.writeUInt32LE(16, 16);
  wave.writeUInt16LE(1, 20);
  wave.writeUInt16LE(1, 22);
  wave.writeUInt32LE(8_000, 24);
  wave.writeUInt32LE(16_000, 28);
  wave.writeUInt16LE(2, 32);
  wave.writeUInt16LE(16, 34);
  wave.write("data", 36);
  wave.writeUInt32LE(samples * 2, 40);
  return wave;
})();
/** Samples that were asked for. @type {string[]} */
const heard = [];
const samples = createServer((request, response) => {
  heard.push(request.url ?? "");
  response.writeHead(200, { "content-type": "audio/wav" }).end(SILENCE);
});
/** @type {string} */ let voices;

/** A catalogue whose first voice has a sample. */
async function catalogue() {
  await new Promise((resolve) => samples.listen(0, "127.0.0.1", () => resolve(0)));
  voices = `http://127.0.0.1:${/** @type {import("node:net").AddressInfo} */ (samples.address()).port}`;
  const shipped = JSON.parse(readFileSync(new URL("../../core/data/catalogue.json", import.meta.url), "utf8"));
  shipped.voices[0].preview_url = `${voices}/rachel.wav`;
  const path = join(mkdtempSync(join(tmpdir(), "catalogue-")), "catalogue.json");
  writeFileSync(path, JSON.stringify(shipped));
  return path;
}

before(async () => {
  service = await start([...FRONT, "--catalogue", await catalogue()]);
  owner = client(`${service.service}/api`, service.secrets.api_key);
  operator = client(service.service, service.secrets.admin_token);
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await service?.stop();
  samples.close();
});

/** @param {import("puppeteer-core").Page} page @param {string} words */
const shows = (page, words) =>
  page.waitForFunction((wanted) => document.querySelector("main")?.textContent?.includes(wanted), {}, words);

test("a caller id that the carrier does not know waits for the operator, who confirms it", async () => {
  const { data: number } = await owner("POST", "/user/phone-numbers/caller-ids", { phone_number: "+40721000111" });
  await operator("PUT", `/admin/accounts/1/caller-ids/${number.id}`, { verified: false });
  const verified = async () => (await owner("GET", "/user/phone-numbers/all")).data[0].verified;

  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  await go(tab, "/numbers");
  await shows(tab.page, "Where it cannot, the operator does: name them this account, 1,");
  await tab.page.waitForSelector(`main tbody ::-p-aria([name="Copy id of +40721000111"])`);
  assert.deepEqual(await findings(tab.page), []);

  const other = await open(browser, service.url);
  await signInOperator(other, service.secrets.admin_token);
  await go(other, "/operator/accounts/1");
  await other.page.type(`main ::-p-aria([name="Id of the caller id"])`, String(number.id));
  await press(other.page, "It may be shown", "main");
  await shows(other.page, "+40721000111 May be shown");
  assert.equal(await verified(), true);
  assert.deepEqual(await findings(other.page), []);
  await press(other.page, "It may not be shown", "main");
  await shows(other.page, "+40721000111 Not confirmed");
  assert.equal(await verified(), false);
  faultless(tab, "numbers");
  faultless(other, "caller id");
});

/** Makes a call that is over at once. */
async function called() {
  const { data } = await owner("POST", "/user/assistant", caller({ name: "Anna" }));
  const { call_id: id } = await owner("POST", "/user/make_call", {
    assistant_id: data.id,
    phone_number: "+40700000002",
  });
  await until(async () => (await owner("GET", `/user/calls/${id}`)).status === "busy", "the line is busy");
}

test("a campaign needs an assistant that calls, and says so", async () => {
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  await go(tab, "/campaigns?new=1");
  await tab.page.waitForFunction(() =>
    /needs an outbound assistant first/.test(document.querySelector("dialog")?.textContent ?? ""),
  );
  assert.deepEqual(await findings(tab.page), []);
  await (await tab.page.waitForSelector("dialog a"))?.click();
  await shows(tab.page, "New assistant");
  assert.equal(await tab.page.evaluate(() => location.pathname), "/console/assistants/new");
  faultless(tab, "campaign");
});

test("the calls of a day are those of the day that is shown, wherever that is", async () => {
  await called();
  for (const timezone of ["Pacific/Kiritimati", "Pacific/Pago_Pago"]) {
    await owner("PUT", "/user/me", { timezone });
    const tab = await open(browser, service.url);
    await signIn(tab, service.secrets);
    const today = new Intl.DateTimeFormat("en-CA", { timeZone: timezone }).format(new Date());
    await go(tab, `/calls?date_from=${today}&date_to=${today}`);
    await tab.page.waitForFunction(() => document.querySelector("main tbody tr"));
    await shows(tab.page, `in ${timezone}, so that all of the days chosen are in it`);
    assert.deepEqual(await findings(tab.page), []);
    faultless(tab, timezone);
  }
});

test("a campaign in another zone tells its zone beside its times", async () => {
  await owner("PUT", "/user/me", { timezone: "Europe/Bucharest" });
  const [{ id }] = (await owner("GET", "/user/assistants/get")).data;
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  const far = await owner("POST", "/user/campaigns", { name: "Far", assistant_id: id, timezone: "America/New_York" });
  await owner("POST", "/user/campaigns", { name: "Near", assistant_id: id, timezone: "Europe/Bucharest" });
  assert.ok(far.data.id);
  // Neither has a forecast before it has called; the answer gets one.
  await tab.page.setRequestInterception(true);
  tab.page.on("request", async (request) => {
    if (new URL(request.url()).pathname !== "/api/user/campaigns") return request.continue();
    const rows = (await owner("GET", "/user/campaigns")).map((/** @type {any} */ one) => ({
      ...one,
      forecast_at: "2026-01-05T12:00:00Z",
    }));
    return request.respond({ contentType: "application/json", body: JSON.stringify(rows) });
  });
  await go(tab, "/campaigns");
  const cells = await tab.page.$$eval("main tbody td:last-child", (all) => all.map((one) => one.textContent ?? ""));
  assert.equal(cells.filter((one) => /, 07:00:00 America\/New_York/.test(one)).length, 1, String(cells));
  assert.equal(cells.filter((one) => /, 14:00:00$/.test(one.trim())).length, 1, String(cells));
  faultless(tab, "zones");
});

test("a voice is listened to, and nothing of it loads before", async () => {
  const tab = await open(browser, service.url, voices);
  const { page } = tab;
  await signIn(tab, service.secrets);
  await go(tab, "/assistants/new");
  const choose = (/** @type {string} */ name) =>
    page.$eval(
      "#field-voice_id",
      (one, wanted) => {
        const list = /** @type {HTMLSelectElement} */ (one);
        list.value = [...list.options].find(({ text: words }) => words.startsWith(wanted))?.value ?? "";
        list.dispatchEvent(new Event("input", { bubbles: true }));
      },
      name,
    );
  await page.waitForFunction(() => document.querySelectorAll("#field-voice_id option").length > 2);
  await choose("Domi");
  assert.equal(await page.$(".heard button"), null);
  await choose("Rachel");
  const named = await page.waitForSelector(".heard button");
  assert.match((await named?.evaluate((one) => one.getAttribute("aria-label"))) ?? "", /^Listen: Rachel/);
  assert.equal(heard.length, 0);
  assert.deepEqual(await findings(page), []);
  await named?.click();
  await until(async () => heard.includes("/rachel.wav"), "the sample is asked for");
  await page.waitForFunction(() => document.querySelector(".heard button")?.textContent === "Listen");
  assert.equal(await page.$(".toasts .toast"), null);
  faultless(tab, "voices");
});

test("all folders can be chosen from, however many pages they have", async () => {
  const numbers = Array.from({ length: 130 }, (_, at) => at + 1);
  await Promise.all(numbers.map((at) => owner("POST", "/user/folders", { name: `Folder ${at}`, color: "red" })));
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  await go(tab, "/assistants");
  await tab.page.waitForFunction(
    () =>
      [...document.querySelectorAll("main .filters select")].some(
        (one) => /** @type {HTMLSelectElement} */ (one).options.length === 131,
      ),
    {},
  );
  faultless(tab, "folders");
});

test("one of hundreds of accounts is found by a part of its name", async () => {
  const tab = await open(browser, service.url);
  const { page } = tab;
  await signInOperator(tab, service.secrets.admin_token);
  const all = Array.from({ length: 250 }, (_, at) => ({
    id: at + 1,
    name: `Clinic ${at + 1}`,
    email: `clinic${at + 1}@example.com`,
  }));
  /** @type {any} */
  let made;
  await page.setRequestInterception(true);
  page.on("request", (request) => {
    const { pathname, searchParams } = new URL(request.url());
    if (pathname === "/admin/engine-tokens" && request.method() === "POST") {
      made = JSON.parse(request.postData() ?? "");
      return request.respond({ status: 201, contentType: "application/json", body: '{"token":"sbe_shown"}' });
    }
    if (pathname !== "/admin/accounts") return request.continue();
    const [at, rows] = [Number(searchParams.get("page")), Number(searchParams.get("per_page"))];
    const data = all.slice((at - 1) * rows, at * rows);
    return request.respond({
      contentType: "application/json",
      body: JSON.stringify({ data, last_page: Math.ceil(all.length / rows) }),
    });
  });
  await go(tab, "/operator/engines");
  await press(page, "New engine token", "main");
  await (await page.waitForSelector("dialog details > summary"))?.click();
  const words = () => page.$$eval("dialog .choices .choice", (some) => some.map((one) => one.textContent?.trim()));
  assert.equal((await words()).length, 100);
  await page.waitForFunction(() => /150 more/.test(document.querySelector("dialog")?.textContent ?? ""));
  await page.type("dialog input[type=search]", "clinic 247");
  await page.waitForFunction(() => document.querySelectorAll("dialog .choices .choice").length === 1);
  await (await page.waitForSelector("dialog .choices input"))?.click();
  assert.deepEqual(await findings(page), []);
  // What is chosen stays among those that are shown.
  await page.focus("dialog input[type=search]");
  for (let at = 0; at < "clinic 247".length; at += 1) await page.keyboard.press("Backspace");
  await page.waitForFunction(() => document.querySelectorAll("dialog .choices .choice").length === 101);
  await page.type("#dialog-name", "For one");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog .copy");
  assert.deepEqual(made.account_ids, [247]);
  faultless(tab, "accounts");
});

test("a delivery shows what was sent, how it was tried, and what was answered", async () => {
  service.endpoint.answer("/refuses", { status: 503, body: '{"error":"closed on Mondays"}' });
  const { data } = await owner(
    "POST",
    "/user/assistant",
    caller({ name: "Heard", webhook_url: `${service.endpoint.url}/refuses`, is_webhook_active: true }),
  );
  const { call_id: call } = await owner("POST", "/user/make_call", {
    assistant_id: data.id,
    phone_number: "+40700000005",
  });
  const sent = await until(
    async () =>
      (await owner("GET", `/user/webhook-deliveries?call_id=${call}`)).data.find(
        (/** @type {any} */ one) => one.attempts.length,
      ),
    "the webhook was tried",
  );
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  await go(tab, `/webhooks?call_id=${call}`);
  await press(tab.page, `Look: ${sent.webhook_id}`, "main");
  await tab.page.waitForFunction(
    () =>
      document.querySelectorAll("dialog pre").length === 2 &&
      /closed on Mondays/.test(document.querySelector("dialog")?.textContent ?? ""),
  );
  const [payload] = await tab.page.$$eval("dialog pre", (all) => all.map((one) => one.textContent ?? ""));
  assert.equal(JSON.parse(payload).id, call);
  assert.match(await tab.page.$eval("dialog ol", (one) => one.textContent ?? ""), /503/);
  assert.deepEqual(await findings(tab.page), []);
  await tab.page.keyboard.press("Escape");
  await tab.page.waitForFunction(() => !document.querySelector("dialog"));
  await (await tab.page.waitForSelector(`main tbody ::-p-aria([name="Call ${call}"][role="link"])`))?.click();
  await tab.page.waitForFunction((path) => location.pathname === path, {}, `/console/calls/${call}`);
  faultless(tab, "delivery");
});
