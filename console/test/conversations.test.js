// Conversations by text, for who answers for them: they are found, read, taken over from the assistant and given back,
// by keyboard alone.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { faultless, findings, go, launch, open, signIn } from "./tools/browser.js";
import { choose, palette, press, shows } from "./tools/keyboard.js";
import { client, start } from "./tools/service.js";
import { caller, until } from "./tools/world.js";

/** @type {import("./tools/service.js").Service} */ let service;
/** @type {import("puppeteer-core").Browser} */ let browser;
/** @type {ReturnType<typeof client>} */ let owner;
/** @type {number} */ let assistant;

before(async () => {
  service = await start();
  owner = client(`${service.service}/api`, service.secrets.api_key);
  service.endpoint.answer("/order", { body: '{"state":"on its way"}' });
  const tool = await owner("POST", "/user/tools", {
    name: "look_up_order",
    description: "Finds an order",
    endpoint: `${service.endpoint.url}/order`,
    method: "POST",
    schema: [{ name: "number", type: "string", description: "Number of the order" }],
  });
  assistant = (await owner("POST", "/user/assistant", caller({ name: "Anna", tool_ids: [tool.data.id] }))).data.id;
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

/** Says something as the customer does. @param {string} message @param {string} [customer] */
const say = (message, customer = "+40700000001") =>
  owner("POST", "/user/ai/generate-reply", { assistant_id: assistant, customer_identifier: customer, message });

/** What was said, as the page shows it. @param {import("puppeteer-core").Page} page */
const said = (page) => page.$$eval(".bubble", (all) => all.map((one) => one.textContent ?? ""));

test("one is found, taken over, and given back to the assistant", async () => {
  await say("look up order number=7");
  await say("Hello", "somebody-else");
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  await palette(tab, "Conversations");
  await choose(tab, "Where", "API");
  await tab.page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 2);
  await go(tab, "/conversations?customer_phone=%2B40700000001");
  await tab.page.waitForFunction(() => document.querySelectorAll("main tbody tr").length === 1);
  assert.deepEqual(await findings(tab.page), []);
  await press(tab, "link", /^\d+ \w+, /);
  await shows(tab, "Conversation with +40700000001");
  await press(tab, "button", "Called look_up_order");
  const [asked, answered] = await said(tab.page);
  assert.equal(asked, "Customer: look up order number=7");
  assert.match(answered, /^Assistant: Called look_up_order.*"number": "7".*on its way/s);

  await press(tab, "button", "Take over");
  await shows(tab, "A person has taken over");
  assert.deepEqual(await findings(tab.page), []);
  // What the customer writes then is there, and nobody answers.
  assert.equal((await say("Is anybody there?")).reply, null);
  await shows(tab, "Customer: Is anybody there?");
  assert.match((await said(tab.page)).at(-1) ?? "", /anybody there/);

  await press(tab, "button", "Give back to the assistant");
  await tab.page.waitForFunction(() => !document.querySelector("main .notice"));
  assert.notEqual((await say("And now?")).reply, null);
  await tab.page.waitForFunction(() =>
    [...document.querySelectorAll(".bubble")].at(-1)?.textContent?.startsWith("Assistant: "),
  );
  faultless(tab, "taken over");
});

test("one that is tried beside the form says that a person has taken over", async () => {
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  await go(tab, `/assistants/${assistant}`);
  await press(tab, "button", "Begin a conversation");
  await tab.page.waitForSelector("#message");
  const [{ id }] = (await owner("GET", "/user/conversations?type=test")).data;
  await owner("POST", `/automate/conversations/${id}/disable-ai`);
  await tab.page.focus("#message");
  await tab.page.keyboard.type("Hello");
  await tab.page.keyboard.press("Enter");
  await shows(tab, "the message is kept, and the assistant does not answer");
  faultless(tab, "tried");
});

test("one is deleted", async () => {
  const { conversation_id: id } = await say("Forget me", "forgotten");
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  await go(tab, `/conversations/${id}`);
  await shows(tab, "Conversation with forgotten");
  await press(tab, "button", "Delete");
  await tab.page.waitForSelector("dialog");
  await press(tab, "button", "Delete");
  await tab.page.waitForFunction(() => document.querySelector("main h1")?.textContent === "Conversations");
  await until(
    async () =>
      !(await owner("GET", "/user/conversations?external_identifier=forgotten")).data.some(
        (/** @type {any} */ one) => one.id === id,
      ),
    "it is gone",
  );
  faultless(tab, "deleted");
});
