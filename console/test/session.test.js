// Nothing that was typed is lost: a session that ends, a network that goes, a reload; and the service's errors stand
// beside their fields in its own words.

import assert from "node:assert/strict";
import { existsSync, mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { entered, faultless, go, launch, open, press, settled, shows, signIn, write } from "./tools/browser.js";
import { bring } from "./tools/engine.js";
import { FRONT, client, start } from "./tools/service.js";
import { caller, until } from "./tools/world.js";

/** @type {import("./tools/service.js").Service} */ let service;
/** @type {import("puppeteer-core").Browser} */ let browser;
/** @type {number} */ let assistant;
/** @type {ReturnType<typeof client>} */ let owner;

before(async () => {
  service = await start(FRONT);
  owner = client(`${service.service}/api`, service.secrets.api_key);
  assistant = (await owner("POST", "/user/assistant", caller({ name: "Anna", record: true }))).data.id;
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

test("a session that ends keeps the page, and the save goes on after signing in", async () => {
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  const { page } = tab;
  await go(tab, `/assistants/${assistant}`);
  await write(page, "#field-name", "Anna, renamed");
  // A password set by the operator ends all sessions.
  await client(service.service, service.secrets.admin_token)("PUT", "/admin/accounts/1", {
    password: "another good one 7",
  });
  tab.expected.push(/.*/);
  await press(page, "Save");
  await page.waitForSelector("dialog input[name=password]");
  assert.equal(await page.$eval("#field-name", (one) => /** @type {HTMLInputElement} */ (one).value), "Anna, renamed");
  await page.type("dialog input[name=email]", service.secrets.email);
  await page.type("dialog input[name=password]", "another good one 7");
  await page.keyboard.press("Enter");
  await page.waitForFunction(
    () => !document.querySelector("dialog") && document.querySelector("main h1")?.textContent === "Anna, renamed",
  );
  assert.equal((await owner("GET", `/user/assistant/${assistant}`)).name, "Anna, renamed");
  service.secrets.password = "another good one 7";
});

test("a reload brings back what was typed, without secrets", async () => {
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  const { page } = tab;
  await go(tab, `/assistants/${assistant}`);
  await write(page, "#field-name", "Typed and not saved");
  await go(tab, "/tools?new=1");
  await write(page, "#dialog-name", "look_up");
  await press(page, "Add to: Headers", "dialog");
  await page.waitForSelector("#dialog-headers-0-value");
  await write(page, "#dialog-headers-0-name", "Authorization");
  await write(page, "#dialog-headers-0-value", "Bearer very-secret");
  await press(page, "Add to: Static fields", "dialog");
  await page.waitForSelector("#dialog-static_fields-0-value");
  await write(page, "#dialog-static_fields-0-key", "appid");
  await write(page, "#dialog-static_fields-0-value", "very-secret too");
  // Neither what is half typed, which is no URL yet, nor the whole.
  await write(page, "#dialog-endpoint", "https://me:very-secret");
  await page.waitForFunction(() =>
    Object.values({ ...sessionStorage }).some((draft) => draft.includes('"endpoint":"https://"')),
  );
  assert.ok(!(await page.evaluate(() => JSON.stringify({ ...sessionStorage }))).includes("very-secret"));
  await write(page, "#dialog-endpoint", "https://me:very-secret@shop.example/orders?key=very-secret");
  await page.waitForFunction(() =>
    ["Authorization", "appid", "shop.example/orders"].every((one) =>
      JSON.stringify({ ...sessionStorage }).includes(one),
    ),
  );
  const kept = await page.evaluate(() => JSON.stringify({ ...sessionStorage }) + JSON.stringify({ ...localStorage }));
  assert.ok(kept.includes("look_up") && kept.includes("Typed and not saved"));
  for (const secret of ["very-secret", service.secrets.password, "sbk_", "sbs_", "sbo_"])
    assert.ok(!kept.includes(secret), secret);
  assert.equal((await page.cookies()).length, 0);

  await page.reload();
  await page.waitForSelector("input[name=email]");
  await page.type("input[name=email]", service.secrets.email);
  await page.type("input[name=password]", service.secrets.password);
  await entered(tab);
  await page.waitForSelector("dialog #dialog-name");
  assert.equal(await page.$eval("#dialog-name", (one) => /** @type {HTMLInputElement} */ (one).value), "look_up");
  await shows(page, "Secrets were not kept");
  assert.equal(
    await page.$eval("#dialog-endpoint", (one) => /** @type {HTMLInputElement} */ (one).value),
    "https://shop.example/orders",
  );
  await page.keyboard.press("Escape");
  await go(tab, `/assistants/${assistant}`);
  await shows(page, "What you had typed here is back");
  assert.equal(
    await page.$eval("#field-name", (one) => /** @type {HTMLInputElement} */ (one).value),
    "Typed and not saved",
  );
  await press(page, "Discard changes");
  await page.waitForFunction(
    () => /** @type {HTMLInputElement} */ (document.querySelector("#field-name")).value === "Anna, renamed",
  );
  faultless(tab, "drafts");
});

test("a network that goes is told, and the same click works once it is back", async () => {
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  const { page } = tab;
  await go(tab, `/assistants/${assistant}`);
  await write(page, "#field-name", "Anna, once more");
  tab.expected.push(/.*/);
  await page.setOfflineMode(true);
  await press(page, "Save");
  await shows(page, "The service could not be reached");
  await page.setOfflineMode(false);
  await press(page, "Save");
  await page.waitForFunction(() => document.querySelector("main h1")?.textContent === "Anna, once more");
});

test("errors of the service stand beside their fields, in its words", async () => {
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  const { page } = tab;
  await go(tab, "/tools?new=1");
  tab.expected.push(/tools$/);
  await write(page, "#dialog-name", "Not A Name");
  await write(page, "#dialog-description", "Looks things up");
  await write(page, "#dialog-endpoint", "nonsense");
  await page.select("#dialog-method", "GET");
  await press(page, "Create tool", "dialog");
  await page.waitForSelector("#dialog-name-wrong");
  assert.match(
    await page.$eval("#dialog-name-wrong", (one) => one.textContent ?? ""),
    /lowercase letters and underscores/,
  );
  assert.match(await page.$eval("#dialog-endpoint-wrong", (one) => one.textContent ?? ""), /endpoint/);
  assert.equal(await page.$eval("#dialog-name", (one) => one.getAttribute("aria-invalid")), "true");
  await page.waitForFunction(() => document.activeElement?.hasAttribute("data-summary"));
  faultless(tab, "errors");
});

test("a running call is followed without a gap, through a broken connection, and hung up", async () => {
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  const { page } = tab;
  const call = await bring(service, assistant);
  await call.report({ type: "dialing" }, { type: "answered", answered_by: "human" });
  tab.expected.push(/.*/);
  await go(tab, `/calls/${call.id}`);
  await shows(page, "Live");
  const line = (/** @type {number} */ at) =>
    call.report({ type: "transcript", sender: at % 2 ? "bot" : "human", text: `Line number ${at}.` });
  for (let at = 1; at <= 5; at += 1) await line(at);
  await call.report({ type: "partial", turn: 3, text: "being spoken" });
  await shows(page, "being spoken");
  await page.setOfflineMode(true);
  service.cut();
  for (let at = 6; at <= 12; at += 1) await line(at);
  await shows(page, "Reconnecting");
  await page.setOfflineMode(false);
  await line(13);
  await shows(page, "Line number 13.");
  const said = await page.$$eval("ol.said .entry.said .what", (all) => all.map((one) => one.textContent?.trim()));
  assert.deepEqual(
    said,
    Array.from({ length: 13 }, (_, at) => `Line number ${at + 1}.`),
  );
  await press(page, "Tell the engine");
  await page.waitForSelector("#field-text");
  await page.type("#field-text", "We are closing soon.");
  await press(page, "Send");
  await until(
    async () => (
      await call.report({ type: "metrics", turn: 1, llm_ms: 1 }),
      call.commands.some(({ type, text }) => type === "say" && text === "We are closing soon.")
    ),
    "the engine is told to say it",
  );
  await press(page, "Hang up");
  await until(
    async () => (
      await call.report({ type: "metrics", turn: 1, llm_ms: 1 }),
      call.commands.some(({ type }) => type === "hangup")
    ),
    "the engine is told",
  );
  await call.record(1);
  await call.report({ type: "ended", by: "assistant", reason: "hangup" });
  await page.waitForSelector("audio");
  await page.waitForFunction(() => /** @type {HTMLAudioElement} */ (document.querySelector("audio")).readyState > 0, {
    timeout: 10_000,
  });
  await shows(page, "Completed");
});

test("Home is live though its feed could not be read at first, and takes up where it broke off", async () => {
  const tab = await open(browser, service.url);
  const { page } = tab;
  // What came by the feed.
  await page.evaluateOnNewDocument(() => {
    const { fetch } = window;
    Object.assign(window, { fed: "" });
    window.fetch = async (...asked) => {
      const answer = await fetch(...asked);
      if (!String(asked[0]).endsWith("/user/events") || !answer.body) return answer;
      const [own, shown] = answer.body.tee();
      const come = own.pipeThrough(/** @type {any} */ (new TextDecoderStream()));
      const note = async () => {
        for await (const text of /** @type {any} */ (come)) /** @type {any} */ (window).fed += text;
      };
      note().catch(() => {});
      return new Response(shown, answer);
    };
  });
  await signIn(tab, service.secrets);
  await go(tab, "/calls");
  tab.expected.push(/.*/);
  /** @type {string[]} */
  const taken = [];
  page.on("request", (request) => {
    if (!request.url().endsWith("/user/events")) return;
    taken.push(request.headers()["last-event-id"] ?? "0");
  });
  await page.setOfflineMode(true);
  await go(tab, "/");
  await shows(page, "Reconnecting");
  assert.equal(taken.length, 0);
  await page.setOfflineMode(false);
  const live = () => page.waitForFunction(() => document.querySelector("main .head .badge")?.textContent === "Live");
  await live();

  const feed = async () => (await owner("GET", "/user/events?limit=1")).last_seq;
  const before = await feed();
  const heard = await bring(service, assistant);
  await heard.report({ type: "dialing" }, { type: "answered", answered_by: "human" });
  await heard.report({ type: "ended", by: "customer", reason: "hung-up" });
  await until(async () => (await feed()) > before, "the feed tells of the call");
  await page.waitForFunction((last) => /** @type {any} */ (window).fed.includes(`id: ${last}\n`), {}, await feed());
  await page.waitForSelector(`main tbody a[href$="/calls/${heard.id}"]`);
  await page.setOfflineMode(true);
  service.cut();
  await shows(page, "Reconnecting");
  const missed = await bring(service, assistant);
  await missed.report({ type: "dialing" }, { type: "answered", answered_by: "human" });
  await missed.report({ type: "ended", by: "customer", reason: "hung-up" });
  await page.setOfflineMode(false);
  await live();
  await page.waitForSelector(`main tbody a[href$="/calls/${missed.id}"]`);
  assert.ok(taken.length >= 2 && Number(taken.at(-1)) > Number(taken[0]), taken.join());
});

test("the feed of an account that was quiet for long begins with what is kept", async () => {
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  const { page } = tab;
  /** @type {(string | undefined)[]} */
  const taken = [];
  await page.setRequestInterception(true);
  page.on("request", (request) => {
    const { pathname, search } = new URL(request.url());
    if (pathname !== "/api/user/events") return request.continue();
    if (search)
      return request.respond({
        contentType: "application/json",
        body: JSON.stringify({ data: [{ seq: 995 }], last_seq: 1_000 }),
      });
    taken.push(request.headers()["last-event-id"]);
    return request.respond({ contentType: "text/event-stream", body: ": nothing yet\n\n" });
  });
  await go(tab, "/webhooks?tab=feed");
  await until(async () => taken.length > 0, "the feed is followed");
  assert.equal(taken[0], "994");
  faultless(tab, "quiet");
});

test("what is read every so often is left alone while the page is hidden", async () => {
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  const { page } = tab;
  let reads = 0;
  page.on("request", (request) => (reads += Number(new URL(request.url()).pathname === "/api/user/calls")));
  /** @param {string} state */
  const turn = (state) =>
    page.evaluate((now) => {
      Object.defineProperty(document, "visibilityState", { value: now, configurable: true });
      document.dispatchEvent(new Event("visibilitychange"));
    }, state);
  await go(tab, "/calls");
  await until(async () => reads >= 2, "the list is read again");
  await turn("hidden");
  const before = reads;
  // Long enough for two reads to be due.
  await new Promise((resolve) => setTimeout(resolve, 9_000));
  assert.ok(reads <= before + 1, String(reads - before));
  const still = reads;
  // Without timers, only being seen can make the page read again.
  await page.evaluate(() => {
    for (let timer = Number(setTimeout(() => {})); timer > 0; timer -= 1) clearInterval(timer);
  });
  await turn("visible");
  await until(async () => reads > still, "it is read as soon as the page is seen");
  faultless(tab, "hidden");
});

test("Home leads to lists of the calls that it counts", async () => {
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  const { page } = tab;
  const call = await bring(service, assistant);
  await call.report({ type: "dialing" }, { type: "ringing" });
  await go(tab, "/");
  const links = await page.$$eval(".figure a", (all) => all.map((one) => one.getAttribute("href") ?? ""));
  assert.deepEqual(
    links,
    ["initiated", "ringing", "in-progress"].map((status) => `/console/calls?status=${status}`),
  );
  await page.click(`.figure a[href="${links[1]}"]`);
  await page.waitForSelector(`main tbody a[href$="/calls/${call.id}"]`);
  await call.report({ type: "failed", reason: "no-answer" });
  faultless(tab, "calls of now");
});

test("signing out leaves nothing behind", async () => {
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  const { page } = tab;
  await go(tab, `/assistants/${assistant}`);
  await write(page, "#field-name", "Left open");
  await new Promise((resolve) => setTimeout(resolve, 500));
  await press(page, "Sign out");
  await page.waitForSelector("input[name=email]");
  assert.equal(await page.evaluate(() => sessionStorage.length), 0);
  await signIn(tab, service.secrets);
  await settled(page);
  faultless(tab, "signed out");
});

test("whoever signs in as somebody else on a page of the first one comes to a page of the own", async () => {
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  const { page } = tab;
  await go(tab, "/calls");
  await press(page, "Sign out");
  await press(page, "I am the operator");
  await page.waitForSelector("input[name=token]");
  await page.type("input[name=token]", service.secrets.admin_token);
  await entered(tab);
  assert.equal(new URL(page.url()).pathname, "/console/operator");
  await go(tab, "/operator/queues");
  await press(page, "Forget the operator's token");
  await press(page, "I have an account");
  await page.waitForSelector("input[name=email]");
  await page.type("input[name=email]", service.secrets.email);
  await page.type("input[name=password]", service.secrets.password);
  await entered(tab);
  assert.equal(new URL(page.url()).pathname, "/console/");
  faultless(tab, "another role");
});

test("keys of a single letter can be switched off, and ? tells of them", async () => {
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  const { page } = tab;
  await page.keyboard.type("?");
  await page.waitForSelector("dialog #letters");
  await page.click("#letters");
  await page.keyboard.press("Escape");
  await page.keyboard.type("gc");
  await new Promise((resolve) => setTimeout(resolve, 300));
  assert.equal(await page.$eval("main h1", (one) => one.textContent), "Home");
  faultless(tab, "keys");
});

test("who stays signed in is known after a reload, by a cookie that no script reads", async (context) => {
  const { components } = await (await fetch(`${service.service}/openapi.json`)).json();
  if (!components.schemas.Login.properties.remember) return context.skip("this binary keeps nobody signed in");
  const tab = await open(browser, service.url);
  const { page } = tab;
  await page.goto(`${tab.url}/console/`);
  await page.waitForSelector("#stay");
  await page.click("#stay");
  await page.type("input[name=email]", service.secrets.email);
  await page.type("input[name=password]", service.secrets.password);
  await entered(tab);
  const [cookie] = await page.cookies();
  assert.ok(cookie.httpOnly && cookie.sameSite === "Strict");
  const kept = await page.evaluate(() =>
    JSON.stringify({ ...sessionStorage, ...localStorage, cookie: document.cookie }),
  );
  assert.ok(!kept.includes(cookie.value));
  await page.reload();
  await page.waitForSelector(".side");
  await settled(page);
  await go(tab, `/assistants/${assistant}`);
  await write(page, "#field-name", "Anna, by cookie");
  await press(page, "Save");
  await page.waitForFunction(() => document.querySelector("main h1")?.textContent === "Anna, by cookie");
  await press(page, "Sign out");
  await page.waitForSelector("input[name=email]");
  await page.reload();
  await page.waitForSelector("input[name=email]");
  assert.equal((await page.cookies()).length, 0);
  faultless(tab, "remembered");
});

test("the link of `switchboard dev` signs in, once", async (context) => {
  const near = await start();
  context.after(() => near.stop());
  const link = new URL(near.secrets.console_url ?? near.url);
  if (!link.hash) return context.skip("this binary prints no link");
  const tab = await open(browser, near.url);
  const { page } = tab;
  await page.goto(`${tab.url}/console/${link.hash}`);
  await page.waitForSelector(".side");
  await settled(page);
  assert.equal(new URL(page.url()).hash, "");
  await page.reload();
  await page.waitForSelector(".side");
  const other = await open(browser, near.url);
  other.expected.push(/login\/code$/);
  await other.page.goto(`${tab.url}/console/${link.hash}`);
  await other.page.waitForSelector("input[name=email]");
  faultless(tab, "link");
  faultless(other, "used link");
});

test("lists are saved as CSV, and a call as one file", async (context) => {
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  const { page } = tab;
  const folder = mkdtempSync(join(tmpdir(), "saved-"));
  const session = await page.createCDPSession();
  await session.send("Browser.setDownloadBehavior", {
    behavior: "allow",
    downloadPath: folder,
    browserContextId: tab.context.id,
  });
  const saved = (/** @type {string} */ name) =>
    until(async () => existsSync(join(folder, name)) && readFileSync(join(folder, name)), `${name} is saved`);
  await go(tab, "/calls");
  await press(page, "Download CSV");
  assert.match((await saved("calls.csv")).toString(), /^id,assistant_name,.*\r?\n\d+,/);
  await go(tab, "/calls/1");
  const { paths } = await (await fetch(`${service.service}/openapi.json`)).json();
  if (!paths["/user/calls/{id}/bundle"]) return context.diagnostic("this binary makes no bundles");
  await press(page, "Download all (ZIP)");
  assert.equal((await saved("call-1.zip")).subarray(0, 2).toString(), "PK");
  faultless(tab, "files");
});

test("a new column of a table is in the form, and sent, without a line of the console", async () => {
  const tab = await open(browser, service.url);
  const { page } = tab;
  const document = await (await fetch(`${service.service}/openapi.json`)).json();
  const description = "How the name is said.";
  document.components.schemas.NewTool.properties.pronunciation = {
    type: ["string", "null"],
    maxLength: 40,
    description,
  };
  await page.setRequestInterception(true);
  /** @type {any[]} */
  const sent = [];
  page.on("request", (request) => {
    if (request.url().endsWith("/openapi.json")) {
      return request.respond({ contentType: "application/json", body: JSON.stringify(document) });
    }
    if (request.method() === "POST" && request.url().endsWith("/tools"))
      sent.push(JSON.parse(request.postData() ?? "null"));
    return request.continue();
  });
  await signIn(tab, service.secrets);
  await go(tab, "/tools?new=1");
  await page.waitForSelector("#dialog-pronunciation");
  assert.equal(await page.$eval("#dialog-pronunciation-hint", (one) => one.textContent), description);
  await write(page, "#dialog-name", "say_name");
  await write(page, "#dialog-description", "Says a name");
  await write(page, "#dialog-endpoint", service.endpoint.url);
  await page.select("#dialog-method", "GET");
  await write(page, "#dialog-pronunciation", "x".repeat(41));
  await press(page, "Create tool", "dialog");
  await page.waitForSelector("#dialog-pronunciation-wrong");
  await page.waitForFunction(() => document.activeElement?.hasAttribute("data-summary"));
  assert.ok(!sent.some(Boolean));
  await write(page, "#dialog-pronunciation", "an-na");
  await press(page, "Create tool", "dialog");
  await page.waitForFunction(() => document.querySelector("main h1")?.textContent === "say_name");
  assert.equal(sent[0].pronunciation, "an-na");
  faultless(tab, "new column");
});
