// What happens by mistake does no harm: a click beside a dialog, a second click, an answer that gets lost, a reload in
// the middle, a browser that gives no clipboard.

import assert from "node:assert/strict";
import { mkdtempSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { button, faultless, go, launch, open, press, shows, signIn } from "./tools/browser.js";
import { client, start } from "./tools/service.js";
import { caller } from "./tools/world.js";

/** @typedef {import("puppeteer-core").Page} Page */

/** @type {import("./tools/service.js").Service} */ let service;
/** @type {import("puppeteer-core").Browser} */ let browser;
/** A tab in which the account is signed in; the service takes few logins a minute. @type {import("./tools/browser.js").Tab} */
let tab;

before(async () => {
  service = await start();
  browser = await launch();
  tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

/** The dialogs that are open, by their titles. @param {Page} page */
const dialogs = (page) => page.$$eval("dialog[open] h2", (all) => all.map((one) => one.textContent));

/** Has the page take in what was done so far. @param {Page} page */
const drawn = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(() => done(0)))));

test("a dialog closes by a press beside it, but not once something was typed", async () => {
  const { page } = tab;
  await go(tab, "/knowledge");
  await press(page, "New knowledgebase");
  await page.waitForSelector("dialog[open] #dialog-name");
  const box = await (await page.$("dialog[open] #dialog-name"))?.boundingBox();
  assert.ok(box);
  // A drag from inside to beside, as when a text is marked.
  await page.mouse.move(box.x + 5, box.y + 5);
  await page.mouse.down();
  await page.mouse.move(3, 3);
  await page.mouse.up();
  await drawn(page);
  assert.deepEqual(await dialogs(page), ["New knowledgebase"]);
  await page.mouse.click(3, 3);
  await page.waitForFunction(() => !document.querySelector("dialog"));

  await press(page, "New knowledgebase");
  await page.waitForSelector("dialog[open] #dialog-name");
  await page.type("dialog[open] #dialog-name", "Prices");
  await page.mouse.click(3, 3);
  await drawn(page);
  assert.deepEqual(await dialogs(page), ["New knowledgebase"]);
  await page.keyboard.press("Escape");
  await shows(page, "What you typed here was not saved.");
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => document.querySelectorAll("dialog").length === 1);
  assert.equal(await page.$eval("#dialog-name", (one) => /** @type {HTMLInputElement} */ (one).value), "Prices");
  await page.keyboard.press("Escape");
  await press(page, "Close");
  await page.waitForFunction(() => !document.querySelector("dialog"));
  // Where there is a draft, what was typed is back even then.
  await press(page, "New knowledgebase");
  await press(page, "Discard changes", "dialog");
  await press(page, "Cancel", "dialog");
  faultless(tab, "typed");
});

test("what is shown once stays until it is closed on purpose", async () => {
  const { page } = tab;
  await go(tab, "/keys");
  await press(page, "New key");
  await page.waitForSelector("dialog[open] #dialog-name");
  await page.type("dialog[open] #dialog-name", "For the shop");
  await page.keyboard.press("Enter");
  await page.waitForSelector("dialog .copy");
  await page.mouse.click(3, 3);
  await page.keyboard.press("Escape");
  await shows(page, "shown this once");
  await press(page, "Cancel");
  await page.waitForFunction(() => document.querySelectorAll("dialog").length === 1);
  assert.match(await page.$eval("dialog .copy code", (one) => one.textContent ?? ""), /^sbk_/);
  await press(page, "Close", "dialog");
  await page.waitForFunction(() => !document.querySelector("dialog"));
  faultless(tab, "once");
});

test("a second click imports nothing twice, and the address of an import shows how it stands", async () => {
  const { page } = tab;
  /** @type {string[]} */
  const sent = [];
  const note = (/** @type {import("puppeteer-core").HTTPRequest} */ request) => {
    if (request.method() === "POST" && request.url().includes("/import")) sent.push(new URL(request.url()).search);
  };
  page.on("request", note);
  await go(tab, "/do-not-call/import");
  const path = join(mkdtempSync(join(tmpdir(), "import-")), "numbers.csv");
  writeFileSync(path, "phone_number\n+4930123456\n");
  const input = /** @type {import("puppeteer-core").ElementHandle<HTMLInputElement>} */ (
    await page.$("input[type=file]")
  );
  await input.uploadFile(path);
  await page.waitForSelector(button("Import"));
  assert.equal(sent.length, 1);
  // Settings that are changed one after the other send the file once.
  await page.evaluate(() => {
    const country = /** @type {HTMLInputElement} */ (document.querySelector("input[maxlength='2']"));
    for (const typed of ["FR", "US", "DE"]) {
      country.value = typed;
      country.dispatchEvent(new Event("change"));
    }
  });
  await page.waitForFunction(() => document.body.textContent?.includes("Germany"));
  await page.waitForSelector(button("Import"));
  assert.deepEqual(
    sent.map((one) => new URLSearchParams(one).get("default_country")),
    [null, "DE"],
  );
  await (await page.waitForSelector(button("Import")))?.click({ count: 2 });
  await shows(page, "Import finished");
  assert.equal(sent.filter((one) => !one.includes("dry_run")).length, 1);
  page.off("request", note);
  const { pathname, search } = new URL(page.url());
  await go(tab, "/do-not-call");
  await go(tab, pathname.replace("/console", "") + search);
  await shows(page, "Import finished");
  await press(page, "Another file");
  await page.waitForSelector("input[type=file]");
  assert.equal(new URL(page.url()).search, "");
  faultless(tab, "import");
});

test("a browser without a clipboard copies what it marks, or says that it is marked", async () => {
  const { page } = tab;
  await go(tab, "/account");
  await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true }));
  const marked = () => page.evaluate(() => getSelection()?.toString());
  const address = `${service.url}/api`;
  await press(page, "Copy API");
  await shows(page, "Copied: API");
  assert.equal(await marked(), address);
  await page.evaluate(() => {
    getSelection()?.removeAllRanges();
    document.execCommand = () => false;
  });
  await press(page, "Copy API");
  await shows(page, "API is marked");
  assert.equal(await marked(), address);
  faultless(tab, "copies");
});

test("what is sent again after its answer got lost is made once", async () => {
  const { page } = tab;
  await go(tab, "/knowledge");
  await press(page, "New knowledgebase");
  await page.waitForSelector("dialog[open] #dialog-name");
  await page.type("dialog[open] #dialog-name", "Opening hours");
  tab.expected.push(/knowledgebases$/);
  // The service does it, but its first answer does not arrive.
  await page.evaluate(() => {
    const real = window.fetch;
    window.fetch = async (...asked) => {
      const answer = await real(...asked);
      if (asked[1]?.method !== "POST") return answer;
      window.fetch = real;
      throw new TypeError("lost");
    };
  });
  await press(page, "Create knowledgebase", "dialog");
  await shows(page, "The service could not be reached");
  await press(page, "Create knowledgebase", "dialog");
  await page.waitForFunction(() => document.querySelector("main h1")?.textContent === "Opening hours");
  const owner = client(`${service.service}/api`, service.secrets.api_key);
  const { data } = await owner("GET", "/user/knowledgebases");
  assert.deepEqual(
    data.map((/** @type {any} */ one) => one.name),
    ["Opening hours"],
  );
  faultless(tab, "once");
});

test("what is destroyed is asked for by its name", async () => {
  const { page } = tab;
  const owner = client(`${service.service}/api`, service.secrets.api_key);
  const { id } = (await owner("POST", "/user/assistant", caller({ name: "Anna", type: "inbound" }))).data;
  const hook = `${service.endpoint.url}/inbound`;
  await owner("POST", "/user/assistants/enable-inbound-webhook", { assistant_id: id, webhook_url: hook });
  await go(tab, `/assistants/${id}`);
  await press(page, "Switch off");
  await shows(page, "Switch off the inbound webhook of Anna?");
  await shows(page, `${hook} is not asked any more`);
  await press(page, "Cancel", "dialog");
  assert.equal((await owner("GET", `/user/assistant/${id}`)).inbound_webhook_url, hook);
  await press(page, "Switch off");
  await press(page, "Switch off", "dialog");
  await page.waitForFunction(
    () => /** @type {HTMLInputElement} */ (document.querySelector("#hook-webhook_url")).value === "",
  );
  assert.equal((await owner("GET", `/user/assistant/${id}`)).inbound_webhook_url, null);

  await go(tab, "/webhooks?tab=secrets");
  const times = () => page.$$eval("main time", (all) => all.map((one) => one.textContent));
  const [first] = await times();
  await press(page, "Rotate");
  await shows(page, "Add a second webhook secret?");
  await shows(page, `The one of ${first} goes on to sign`);
  await press(page, "Rotate", "dialog");
  await page.waitForFunction(() => document.querySelectorAll("main time").length === 2);
  const [older, newer] = await times();
  assert.equal(older, first);
  await press(page, "Rotate");
  await shows(page, `End the webhook secret of ${older}?`);
  await shows(page, `The one of ${newer} goes on to sign`);
  await press(page, "Cancel", "dialog");
  faultless(tab, "destroyed");
});

test("a text that was written into the wrong dialog, or refused, is not lost", async () => {
  const { page } = tab;
  const owner = client(`${service.service}/api`, service.secrets.api_key);
  const { id } = (await owner("POST", "/user/knowledgebases", { name: "Answers" })).data;
  await go(tab, `/knowledge/${id}`);
  await press(page, "Write a text");
  await page.waitForSelector("dialog[open] #dialog-text");
  await page.type("dialog[open] #dialog-text", "We open at nine.");
  await press(page, "Save", "dialog");
  await page.waitForSelector("#dialog-name-wrong");
  await press(page, "Cancel", "dialog");
  await press(page, "Write a text");
  await page.waitForSelector("dialog[open] #dialog-text");
  // The page behind has a member of this name too.
  await (await page.waitForSelector("dialog[open] label[for=dialog-name]"))?.click();
  assert.equal(await page.evaluate(() => document.activeElement?.id), "dialog-name");
  const written = () => page.$eval("#dialog-text", (one) => /** @type {HTMLTextAreaElement} */ (one).value);
  assert.equal(await written(), "We open at nine.");
  await page.type("dialog[open] #dialog-name", "Opening hours");
  await press(page, "Save", "dialog");
  await page.waitForFunction(() => !document.querySelector("dialog"));
  await page.waitForFunction(() => document.querySelector("main table")?.textContent?.includes("Opening hours"));
  await press(page, "Write a text");
  await page.waitForSelector("dialog[open] #dialog-text");
  assert.equal(await written(), "");
  await press(page, "Cancel", "dialog");

  await press(page, "Add a file");
  await press(page, "Upload", "dialog");
  await page.waitForSelector("#dialog-file-wrong");
  tab.expected.push(/documents$/);
  const path = join(mkdtempSync(join(tmpdir(), "file-")), "none.pdf");
  writeFileSync(path, "");
  const input = /** @type {import("puppeteer-core").ElementHandle<HTMLInputElement>} */ (await page.$("#dialog-file"));
  await input.uploadFile(path);
  await page.waitForFunction(() => !document.querySelector("#dialog-file-wrong"));
  await press(page, "Upload", "dialog");
  // What the service says of it stands beside the field.
  await page.waitForSelector("#dialog-file-wrong");
  await press(page, "Cancel", "dialog");
  faultless(tab, "texts");
});

test("a number that cannot be bought says so where it was chosen", async () => {
  const { page } = tab;
  await go(tab, "/numbers");
  await press(page, "Buy a number");
  const answers = {
    search: {
      data: [{ phone_number: "+14155550100", phone_number_formatted: "+1 415 555 0100", sms_capable: true, price: 1 }],
    },
    purchase: { message: "The balance does not cover this number." },
  };
  await page.evaluate((told) => {
    const real = window.fetch;
    window.fetch = async (...asked) => {
      const url = String(asked[0]);
      if (url.includes("phone-numbers/search")) return Response.json(told.search);
      if (!url.includes("phone-numbers/purchase")) return real(...asked);
      window.fetch = real;
      return Response.json(told.purchase, { status: 402 });
    };
  }, answers);
  await press(page, "Search", "dialog");
  await press(page, "Buy +1 415 555 0100", "dialog");
  await press(page, "Buy", "dialog");
  await page.waitForFunction(
    (words) => document.querySelector("dialog [role=alert]")?.textContent?.includes(words),
    {},
    answers.purchase.message,
  );
  assert.deepEqual(await dialogs(page), ["Buy a number"]);
  faultless(tab, "numbers");
});

test("errors are told of their control, and two variables of one name stay two", async () => {
  const { page } = tab;
  const owner = client(`${service.service}/api`, service.secrets.api_key);
  const variables = { first: "1", second: "2" };
  const { id } = (await owner("POST", "/user/assistant", caller({ name: "Berta", variables }))).data;
  await go(tab, `/assistants/${id}`);
  const rename = async (/** @type {string} */ typed) => {
    await page.evaluate(() => /** @type {any} */ (document.querySelector("#field-variables-1-name")).select());
    await page.type("#field-variables-1-name", typed);
    await page.keyboard.press("Tab");
  };
  await rename("first");
  await page.waitForSelector("#field-variables-1-name-wrong");
  assert.match(
    await page.$eval("#field-variables-1-name-wrong", (one) => one.textContent ?? ""),
    /Another one is called first\. This one stays second/,
  );
  const told = await page.$eval("#field-variables-1-name", (one) => one.getAttribute("aria-describedby"));
  assert.equal(told, "field-variables-1-name-wrong");
  assert.equal((await page.$$("input[id^='field-variables-'][id$='-name']")).length, 2);
  await rename("third");
  await page.waitForFunction(() => !document.querySelector("#field-variables-1-name-wrong"));
  await press(page, "Save");
  await shows(page, "All changes are saved");
  assert.deepEqual((await owner("GET", `/user/assistant/${id}`)).variables, { first: "1", third: "2" });

  // What the service says of a checkbox and of a group.
  tab.expected.push(/assistant\/\d+$/);
  const errors = { record: ["Not this one."], variables: ["Not these."] };
  await page.evaluate((all) => {
    const real = window.fetch;
    window.fetch = async (...asked) => {
      if (asked[1]?.method !== "PATCH") return real(...asked);
      window.fetch = real;
      return Response.json({ message: "The given data was invalid.", errors: all }, { status: 422 });
    };
  }, errors);
  await rename("fourth");
  await press(page, "Save");
  await page.waitForSelector("#field-record-wrong");
  for (const name of ["record", "variables"]) {
    const described = await page.$eval(`#field-${name}`, (one) => one.getAttribute("aria-describedby") ?? "");
    assert.ok(described.split(" ").includes(`field-${name}-wrong`), described);
  }
  await press(page, "Discard changes");

  // What went wrong with a button is told at once.
  await page.evaluate(() => {
    const real = window.fetch;
    window.fetch = async (...asked) => {
      if (asked[1]?.method !== "POST") return real(...asked);
      window.fetch = real;
      return Response.json({ message: "No more assistants fit." }, { status: 403 });
    };
  });
  await press(page, "Duplicate");
  await page.waitForSelector(".toast[role=alert]");
  assert.match(await page.$eval(".toast[role=alert]", (one) => one.textContent ?? ""), /No more assistants fit\./);
  faultless(tab, "errors");
});
