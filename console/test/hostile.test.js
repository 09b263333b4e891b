// Texts that come from calls, leads, tools and documents try to be more than text, in every field that holds one. They
// are shown as they are, on every page, and nothing runs, loads or leaves the page.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { faultless, findings, go, launch, open, overflow, press, signIn, signInOperator } from "./tools/browser.js";
import { bring } from "./tools/engine.js";
import { client, start } from "./tools/service.js";
import { caller, until } from "./tools/world.js";

/** Markup, a script's way out, a template, a change of direction, a very long word, characters beyond the BMP. */
const EVIL = `"><img src=x onerror=hit()><script>hit()</script><a href="javascript:hit()">k</a>\${hit()}{{hit}}'\u202e\u2066${"W".repeat(60)}😀`;
const SHORT = `"><img src=x onerror=hit()>'\u202e`;
const LONG = "x".repeat(255);

/** @type {import("./tools/service.js").Service} */ let service;
/** @type {import("puppeteer-core").Browser} */ let browser;
/** @type {Record<string, any>} */ let ids;

before(async () => {
  service = await start();
  ids = await spoil(service);
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

/** @param {import("./tools/service.js").Service} made */
async function spoil({ service: url, secrets, endpoint }) {
  const owner = client(`${url}/api`, secrets.api_key);
  endpoint.answer("/evil", { body: EVIL, type: "text/html" });
  endpoint.answer("/hook", { status: 500, body: EVIL, type: "text/html" });
  await owner("PUT", "/user/me", { name: EVIL });
  const knowledge = (await owner("POST", "/user/knowledgebases", { name: EVIL, description: EVIL })).data.id;
  const form = new FormData();
  form.append("name", EVIL);
  form.append("type", "txt");
  form.append("file", new Blob([`parking ${EVIL}`]), "evil.txt");
  await owner("POST", `/user/knowledgebases/${knowledge}/documents`, form);
  const tool = (
    await owner("POST", "/user/tools", {
      name: "evil_tool",
      description: EVIL,
      endpoint: `${endpoint.url}/evil`,
      method: "POST",
      headers: [{ name: "X-Evil", value: `"><img src=x onerror=hit()>` }],
      schema: [{ name: "evil", type: "string", description: EVIL }],
      static_fields: [{ key: "a", value: EVIL }],
    })
  ).data.id;
  const folder = (await owner("POST", "/user/folders", { name: EVIL, color: "red" })).data.id;
  const label = (await owner("POST", "/user/labels", { name: LONG, color: "pink" })).data.id;
  const variables = { evil: EVIL, deep: { list: [EVIL] } };
  const assistant = (
    await owner(
      "POST",
      "/user/assistant",
      caller({
        name: EVIL,
        initial_message: SHORT,
        system_prompt: `${EVIL} {{open}} {{evil}}`,
        variables,
        tool_ids: [tool],
        knowledgebase_id: knowledge,
        folder_id: folder,
        label_ids: [label],
        record: true,
        voice_mail_message: EVIL,
        reengagement_prompt: EVIL,
        webhook_url: `${endpoint.url}/hook`,
        is_webhook_active: true,
        filler_config: { neutral: [SHORT] },
        tools: [{ type: "end_call", description: EVIL }],
        post_call_schema: [{ name: "evil", type: "string", description: EVIL }],
      }),
    )
  ).data.id;
  const campaign = (await owner("POST", "/user/campaigns", { name: EVIL, assistant_id: assistant })).data.id;
  const lead = (
    await owner("POST", "/user/lead", {
      campaign_id: campaign,
      phone_number: "+40700000001",
      variables: { customer_name: EVIL },
    })
  ).data.id;
  await owner("POST", "/user/do-not-call", { phone_number: "+40700000777", reason: EVIL });
  await owner("POST", "/user/api-keys", { name: EVIL });
  const call = await bring(
    { service: url, secrets, endpoint, url, embedded: false, cut: () => {}, stop: async () => {} },
    assistant,
  );
  await call.report(
    { type: "dialing" },
    { type: "answered", answered_by: "human" },
    { type: "transcript", sender: "human", text: EVIL },
    { type: "transcript", sender: "bot", text: `${EVIL}\n${"very long ".repeat(400)}`, interrupted: true },
  );
  await call.tool("evil_tool", { evil: EVIL });
  await call.ask(`parking ${EVIL}`);
  await call.report(
    { type: "variables", variables: { evil: EVIL } },
    { type: "x-evil", words: EVIL },
    { type: "transfer", to: SHORT, reason: SHORT },
    { type: "recording", url: "https://evil.example/%3Cscript%3E" },
    { type: "analysis", evaluation: { success: false, sentiment: "negative", summary: EVIL } },
    { type: "ended", by: "customer", reason: SHORT },
  );
  await until(
    async () => (await owner("GET", `/user/webhook-deliveries?call_id=${call.id}`)).data[0]?.attempts.length,
    "the webhook was tried",
  );
  const { conversation_id: conversation } = await owner("POST", "/conversations", {
    assistant_id: assistant,
    type: "test",
    variables,
  });
  await owner("POST", `/conversations/${conversation}/messages`, { message: `evil tool ${EVIL}` });
  await owner("POST", `/conversations/${conversation}/messages`, { message: `parking ${EVIL}` });
  return { knowledge, tool, assistant, campaign, lead, call: call.id, conversation };
}

/** @param {import("./tools/browser.js").Tab} tab @param {string[]} paths */
async function look(tab, paths) {
  const { page } = tab;
  await page.exposeFunction("hit", () => tab.faults.push("a text was run"));
  for (const path of paths) {
    await page.setViewport({ width: 1360, height: 900 });
    await go(tab, path);
    for (const details of await page.$$("main details:not([open]) > summary"))
      await details.evaluate((one) => one.parentElement?.setAttribute("open", ""));
    const strange = await page.evaluate(() =>
      [
        ...document.querySelectorAll("main img, main script, main iframe, main a[href^='javascript'], main [onerror]"),
      ].map((one) => one.outerHTML),
    );
    assert.deepEqual(strange, [], path);
    assert.deepEqual(await findings(page), [], path);
    for (const width of [1360, 390]) {
      await page.setViewport({ width, height: 900 });
      assert.equal(await overflow(page), null, path);
    }
  }
  faultless(tab, "hostile texts");
}

test("hostile texts stay texts on every page of the account", async () => {
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  const { assistant, call, campaign, conversation, knowledge, lead, tool } = ids;
  await look(tab, [
    "/",
    "/calls",
    `/calls/${call}`,
    `/calls/${call}?tab=events`,
    `/calls/${call}?tab=json`,
    "/assistants",
    `/assistants/${assistant}`,
    `/assistants/${assistant}?tab=json`,
    "/conversations",
    `/conversations/${conversation}`,
    "/knowledge",
    `/knowledge/${knowledge}`,
    "/tools",
    `/tools/${tool}`,
    "/campaigns",
    `/campaigns/${campaign}`,
    `/campaigns/${campaign}?tab=leads`,
    `/campaigns/${campaign}/leads/${lead}`,
    "/webhooks",
    "/webhooks?tab=feed",
    "/do-not-call",
    "/keys",
    "/account",
  ]);
  // What was said is there, letter for letter.
  await go(tab, `/calls/${call}`);
  const said = await tab.page.waitForSelector("ol.said");
  assert.ok((await said?.evaluate((one) => one.textContent ?? ""))?.includes(EVIL));
  await go(tab, `/conversations/${conversation}`);
  const written = await tab.page.$$eval(".bubble", (all) => all.map((one) => one.textContent ?? ""));
  assert.ok(written.some((one) => one.endsWith(`parking ${EVIL}`)));
  // The tool's answer, as the model was shown it.
  assert.ok(written.some((one) => one.startsWith("Assistant: Called evil_tool") && one.includes(EVIL.slice(0, 40))));
});

test("and in a conversation, a preview, a search, a tool's answer", async () => {
  const tab = await open(browser, service.url);
  await signIn(tab, service.secrets);
  const { page } = tab;
  await page.exposeFunction("hit", () => tab.faults.push("a text was run"));
  const shows = (/** @type {string} */ words) =>
    page.waitForFunction((wanted) => document.querySelector("main")?.textContent?.includes(wanted), {}, words);
  await go(tab, `/assistants/${ids.assistant}`);
  await press(page, "Begin a conversation", "main");
  await page.waitForSelector("#message");
  await page.type("#message", `parking <img src=x onerror=hit()>`);
  await page.keyboard.press("Enter");
  await page.waitForFunction(
    () => document.querySelectorAll(".bubble").length >= 3 && !document.querySelector("#message + button[disabled]"),
  );
  await press(page, "Preview", "main");
  await shows("Without a value:");
  await go(tab, `/tools/${ids.tool}`);
  await press(page, "Make the request", "main");
  // The endpoint's answer, and not the hints beside the arguments, which are as hostile.
  const answer = await page.waitForSelector(`main ::-p-aria([name="Body"][role="region"])`);
  assert.equal(await answer?.evaluate((one) => one.textContent), EVIL);
  await go(tab, `/knowledge/${ids.knowledge}`);
  await page.type("#field-query", "parking");
  await press(page, "Search", "main");
  await shows("Score");
  assert.equal(await page.evaluate(() => document.querySelectorAll("main img, main script").length), 0);
  faultless(tab, "answers");
});

test("and for the operator", async () => {
  const tab = await open(browser, service.url);
  await signInOperator(tab, service.secrets.admin_token);
  await look(tab, ["/operator", "/operator/accounts/1", "/operator/queues", "/operator/engines"]);
});
