// The five main jobs, by keyboard alone: the tests press keys and look, they never click.

import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { entered, faultless, launch, open, settled } from "./tools/browser.js";
import { choose, palette, press, reach, shows, write } from "./tools/keyboard.js";
import { client, start } from "./tools/service.js";
import { fill, until } from "./tools/world.js";

/** @type {import("./tools/service.js").Service} */ let service;
/** @type {import("puppeteer-core").Browser} */ let browser;
/** @type {import("./tools/world.js").World} */ let world;

before(async () => {
  service = await start();
  world = await fill(service);
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

/** @typedef {import("./tools/browser.js").Tab} Tab */

/** @param {Tab} tab @param {string} email @param {string} password */
async function enter(tab, email, password) {
  await tab.page.goto(`${tab.url}/console/`);
  await tab.page.waitForSelector("input[name=email]");
  await write(tab, "field", "E-mail", email);
  await write(tab, "field", "Password", password);
  await entered(tab);
}

/** @param {Tab} tab */
const heading = ({ page }) => page.$eval("main h1", (one) => one.textContent ?? "");

describe("by keyboard alone", () => {
  test("make an assistant with a tool and knowledge, and talk to it", async () => {
    const tab = await open(browser, service.url);
    await enter(tab, service.secrets.email, service.secrets.password);
    await palette(tab, "New assistant");
    await write(tab, "field", /^Name/, "Vera, keyboard");
    await write(tab, "field", /^Initial message/, "Hello, this is Vera.");
    await write(tab, "field", /^System prompt/, "You are brief.");
    await choose(tab, /^Language/, "English (US)");
    await choose(tab, /^Voice/, "Rachel");
    await choose(tab, /^LLM model/, "GPT-4.1");
    await press(tab, "checkbox", "find_slots");
    await choose(tab, /^Knowledgebase$/, "Clinic");
    await press(tab, "button", "Create assistant");
    await shows(tab, "Begin a conversation");
    assert.equal(await heading(tab), "Vera, keyboard");
    await press(tab, "button", "Begin a conversation");
    await shows(tab, "Hello, this is Vera.");
    await write(tab, "field", "Message", "When are you open on Saturday?");
    await tab.page.keyboard.press("Enter");
    await shows(tab, "9:00 to 13:00");
    faultless(tab, "assistant");
  });

  test("find why a call to a number went wrong", async () => {
    const tab = await open(browser, service.url);
    await enter(tab, service.secrets.email, service.secrets.password);
    await tab.page.keyboard.type("gc");
    await tab.page.waitForFunction(() => document.querySelector("main h1")?.textContent === "Calls");
    await settled(tab.page);
    await write(tab, "field", "Customer's number", "+40700000006");
    await tab.page.keyboard.press("Enter");
    await tab.page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 1);
    assert.match(tab.page.url(), /phone_number=%2B40700000006/);
    await press(tab, "link", /^\d{1,2} [A-Z][a-z]{2}\b/);
    await shows(tab, "Carrier error");
    await press(tab, "tab", "Transcript");
    await tab.page.keyboard.press("ArrowRight");
    await shows(tab, '"carrier-error"');
    faultless(tab, "call");
  });

  test("run a campaign from a spreadsheet, and export its results", async () => {
    const tab = await open(browser, service.url);
    await enter(tab, service.secrets.email, service.secrets.password);
    await palette(tab, "New campaign");
    await tab.page.waitForSelector("dialog input");
    await write(tab, "field", /^Name/, "Keyboard campaign");
    await choose(tab, /^Assistant/, "Anna");
    await press(tab, "button", "Create campaign");
    await tab.page.waitForFunction(() => document.querySelector("main h1")?.textContent === "Keyboard campaign");
    // A new campaign calls within office hours, and this test runs at any.
    const owner = client(`${service.service}/api`, service.secrets.api_key);
    const id = /campaigns\/(\d+)/.exec(tab.page.url())?.[1];
    assert.match((await owner("GET", `/user/campaigns/${id}`)).allowed_hours_start_time, /^09:00/);
    const always = ["monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday"];
    await owner("PATCH", `/user/campaigns/${id}`, {
      allowed_hours_start_time: "00:00",
      allowed_hours_end_time: "23:59",
      allowed_days: always,
    });
    await press(tab, "link", "Import leads");
    await tab.page.waitForSelector("input[type=file]");
    const file = join(mkdtempSync(join(tmpdir(), "leads-")), "leads.csv");
    writeFileSync(file, "Where;Customer\n+40799000001;Ana\n+40799000002;Ion\nnonsense;Eve\n");
    await reach(tab, "field", "File");
    const choosing = tab.page.waitForFileChooser();
    // Keys go another way than commands, and may be there before it; what is evaluated may not.
    await tab.page.evaluate(() => undefined);
    await tab.page.keyboard.press("Space");
    await (await choosing).accept([file]);
    await shows(tab, "1 record of the first 100 would be left out");
    await choose(tab, /^Where becomes/, "Variable");
    await shows(tab, "Say below which column has the phone numbers.");
    await write(tab, "field", /^Variable that Customer becomes/, "customer_name");
    await tab.page.keyboard.press("Tab");
    await choose(tab, /^Where becomes/, "Phone");
    await shows(tab, "3 records in the file.");
    await shows(tab, "1 record of the first 100 would be left out");
    await press(tab, "button", "Import");
    await shows(tab, "Import finished");
    await press(tab, "link", "Back to the list");
    await shows(tab, "+40799000002");
    await press(tab, "button", "Start");
    await shows(tab, "It calls 2 people, from 00:00 to 23:59");
    // The button behind the dialog has the same name.
    await tab.page.waitForFunction(() => document.activeElement?.closest("dialog"));
    await press(tab, "button", "Start");
    await shows(tab, "Campaign started successfully.");
    await press(tab, "tab", "Leads");
    await tab.page.keyboard.press("ArrowLeft");
    await until(
      async () => (await tab.page.$eval("main", (one) => one.textContent ?? "")).includes("2 100%"),
      "both leads are called",
      30_000,
    );
    // What the page has the browser save.
    await tab.page.evaluate(() => {
      const make = URL.createObjectURL.bind(URL);
      URL.createObjectURL = (/** @type {any} */ file) => {
        file.text().then((/** @type {string} */ text) => (document.body.dataset.saved = text));
        return make(file);
      };
    });
    const saved = async () => {
      await tab.page.waitForFunction(() => document.body.dataset.saved !== undefined);
      return tab.page.evaluate(() => {
        const text = document.body.dataset.saved ?? "";
        delete document.body.dataset.saved;
        return text;
      });
    };
    const ended = async () => {
      const { data } = await client(`${service.service}/api`, service.secrets.api_key)("GET", "/user/leads");
      return data.filter(
        (/** @type {any} */ lead) =>
          lead.phone_number.startsWith("+40799") && !["created", "processing"].includes(lead.status),
      );
    };
    await until(async () => (await ended()).length === 2, "both calls are over", 30_000);
    await press(tab, "button", "Export results (CSV)");
    const [head, first, second, ...more] = (await saved()).trimEnd().split("\r\n");
    assert.deepEqual(head.split(";").slice(0, 4), ["lead_id", "contact_of", "phone_number", "status"]);
    for (const name of ["customer_name", "calls", "call_status", "ended_reason"])
      assert.ok(head.split(";").includes(name), name);
    assert.match(first, /^\d+;;'\+40799000001;completed;.*Ana.*;1;\d+;/);
    // The simulated engine takes numbers that end so for busy.
    assert.match(second, /'\+40799000002;rescheduled;Ion;;*1;\d+;[^;]+;busy;busy;/);
    assert.deepEqual(more, []);
    await press(tab, "button", "Calls (CSV)");
    assert.match(await saved(), /^id,assistant_name,/);
    await tab.page.waitForFunction(() => !document.querySelector(".toast"), { timeout: 20_000 });
    faultless(tab, "campaign");
  });

  test("place a call and watch it to its end", async () => {
    const tab = await open(browser, service.url);
    await enter(tab, service.secrets.email, service.secrets.password);
    await palette(tab, "Anna");
    await press(tab, "button", "Place a call");
    await tab.page.waitForSelector("dialog input");
    await write(tab, "field", /^Phone number/, "+40700000008");
    await press(tab, "button", "Place a call");
    await tab.page.waitForFunction(() => /^Call to/.test(document.querySelector("main h1")?.textContent ?? ""));
    await shows(tab, "find_slots");
    await shows(tab, "Completed");
    await shows(tab, "Evaluation");
    faultless(tab, "live call");
  });

  test("as operator, take in a customer and see what runs", async () => {
    const tab = await open(browser, service.url);
    await tab.page.goto(`${tab.url}/console/`);
    await tab.page.waitForSelector("input[name=email]");
    await press(tab, "button", "I am the operator");
    await tab.page.waitForSelector("input[name=token]");
    await write(tab, "field", /^Operator token/, service.secrets.admin_token);
    await tab.page.keyboard.press("Enter");
    await tab.page.waitForSelector(".side");
    await settled(tab.page);
    await press(tab, "button", "New account");
    await tab.page.waitForSelector("dialog input");
    await write(tab, "field", /^Email/, "clinic-south@example.com");
    await press(tab, "button", "Create account");
    await shows(tab, "sbk_");
    const key =
      (await tab.page.$$eval("dialog code", (all) => all.map((one) => one.textContent ?? ""))).find((one) =>
        one.startsWith("sbk_"),
      ) ?? "";
    assert.equal((await client(`${service.service}/api`, key)("GET", "/user/me")).email, "clinic-south@example.com");
    await press(tab, "button", "Close");
    await palette(tab, "Engines");
    await shows(tab, "simulated");
    await palette(tab, "Queues");
    await shows(tab, "deliver_webhook");
    faultless(tab, "operator");
  });
});

test("a new account is one click from a first conversation, a call, its transcript and its webhook", async () => {
  const { email } = await world.operator("POST", "/admin/accounts", {
    email: "first@example.com",
    password: "correct horse 9",
  });
  const tab = await open(browser, service.url);
  await enter(tab, email, "correct horse 9");
  await press(tab, "button", "Make an example assistant");
  await shows(tab, "Begin a conversation");
  await press(tab, "button", "Begin a conversation");
  await shows(tab, "this is Anna from the clinic");
  await press(tab, "button", "Preview");
  await shows(tab, "Every placeholder has a value.");
  await press(tab, "button", "Place a call");
  await tab.page.waitForSelector("dialog input");
  await write(tab, "field", /^Phone number/, "+40700000001");
  await press(tab, "button", "Place a call");
  await shows(tab, "Completed");
  await shows(tab, "This is the simulated engine");
  await palette(tab, "Webhooks");
  await press(tab, "tab", "Deliveries");
  await tab.page.keyboard.press("ArrowRight");
  await shows(tab, "call.ended");
  faultless(tab, "first run");
});
