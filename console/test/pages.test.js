// Every page, as each person who sees it: no error, no foreign request, no finding of axe, nothing wider than the window;
// wide and narrow, each in light and in dark.

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { faultless, findings, go, launch, open, overflow, press, signIn, signInOperator } from "./tools/browser.js";
import { bring, play } from "./tools/engine.js";
import { start } from "./tools/service.js";
import { fill, OPERATED } from "./tools/world.js";

/** @type {import("./tools/service.js").Service} */ let service;
/** @type {import("puppeteer-core").Browser} */ let browser;
/** @type {import("./tools/world.js").World} */ let world;
/** @type {number} */ let own;

before(async () => {
  service = await start();
  world = await fill(service);
  const call = await bring(service, world.assistants.anna);
  own = call.id;
  await play(call, 8);
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await service?.stop();
});

/** Pages of an account that has something of everything. */
const builder = () => [
  "/",
  "/assistants",
  "/assistants/new",
  `/assistants/${world.assistants.anna}`,
  `/assistants/${world.assistants.anna}?tab=calls`,
  `/assistants/${world.assistants.anna}?tab=json`,
  `/assistants/${world.assistants.ion}`,
  "/knowledge",
  `/knowledge/${world.knowledge}`,
  "/tools",
  "/tools?new=1",
  `/tools/${world.tools.slots}`,
  "/webhooks",
  "/webhooks?tab=feed",
  "/webhooks?tab=secrets",
  "/keys",
  "/account",
];
const answering = () => [
  "/calls",
  "/calls?status=busy",
  `/calls/${own}`,
  `/calls/${own}?tab=events`,
  `/calls/${own}?tab=json`,
  `/calls/${world.calls.tool}`,
  `/calls/${world.calls.busy}`,
  "/conversations",
  "/conversations?type=widget",
  `/conversations/${world.conversation}`,
  "/campaigns",
  "/campaigns?new=1",
  `/campaigns/${world.campaign}`,
  `/campaigns/${world.campaign}?tab=leads`,
  `/campaigns/${world.campaign}?tab=settings`,
  `/campaigns/${world.campaign}/leads/1`,
  `/campaigns/${world.campaign}/import`,
  "/numbers",
  `/numbers/trunks/${world.numbers.trunk}`,
  "/do-not-call",
  "/do-not-call/import",
];
const empty = [
  "/",
  "/calls",
  "/assistants",
  "/conversations",
  "/campaigns",
  "/numbers",
  "/knowledge",
  "/tools",
  "/webhooks",
  "/webhooks?tab=feed",
  "/do-not-call",
  "/keys",
  "/account",
];

/** @param {import("./tools/browser.js").Tab} tab @param {string[]} paths */
async function visit(tab, paths) {
  const { page } = tab;
  /** @type {string[]} */
  const wrong = [];
  for (const path of paths) {
    await page.setViewport({ width: 1360, height: 900 });
    await go(tab, path);
    for (const width of [1360, 390]) {
      await page.setViewport({ width, height: 900 });
      for (const scheme of ["light", "dark"]) {
        await page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
        await new Promise((resolve) => setTimeout(resolve, 150));
        wrong.push(...(await findings(page)).map((one) => `${path} ${scheme} ${width}: ${one}`));
        const over = await overflow(page);
        if (over) wrong.push(`${path} ${scheme} ${width}: ${over}`);
      }
    }
    const title = await page.title();
    if (!/ – Switchboard$/.test(title)) wrong.push(`${path}: title ${title}`);
  }
  assert.deepEqual(wrong, []);
  faultless(tab, "visited");
}

describe("pages", () => {
  test("of who builds assistants", async () => {
    const tab = await open(browser, service.url);
    await signIn(tab, service.secrets);
    await visit(tab, builder());
  });

  test("of who answers for calls and campaigns", async () => {
    const tab = await open(browser, service.url);
    await signIn(tab, service.secrets);
    await visit(tab, answering());
  });

  test("of the operator", async () => {
    const tab = await open(browser, service.url);
    await signInOperator(tab, service.secrets.admin_token);
    await visit(tab, OPERATED);
  });

  test("of nodes: one of several is drained, and the last one that serves is not", async () => {
    const tab = await open(browser, service.url);
    await signInOperator(tab, service.secrets.admin_token);
    const node = (/** @type {number} */ number, /** @type {any} */ own) => ({
      id: `01890a5d-ac96-774b-bcce-b30209${number}a8057`,
      address: `10.0.0.${number}:7070`,
      release: "0.9.0",
      state: "serving",
      lanes: [
        { id: "1", seq: 4, accounts: 30 },
        { id: "2", seq: null, accounts: 12 },
      ],
      load: 0.25,
      seen_at: new Date().toISOString(),
      ...own,
    });
    const data = [
      node(1, {}),
      node(2, { load: null }),
      node(3, { state: "gone", lanes: [], release: null, seen_at: null }),
    ];
    /** @type {string[]} */
    const drained = [];
    await tab.page.setRequestInterception(true);
    tab.page.on("request", (request) => {
      const { pathname } = new URL(request.url());
      const answer = (/** @type {number} */ status, /** @type {any} */ body) =>
        request.respond({ status, contentType: "application/json", body: JSON.stringify(body) });
      if (pathname === "/admin/nodes") return answer(200, { data });
      if (!/^\/admin\/nodes\//.test(pathname)) return request.continue();
      drained.push(`${request.method()} ${pathname}`);
      data[0].state = "draining";
      return answer(202, { message: "The node gives its accounts to the others." });
    });
    await go(tab, "/operator/nodes");
    assert.match(
      await tab.page.$eval("main tbody tr", (row) => row.textContent ?? ""),
      /10\.0\.0\.1:7070.*Serving.*42.*25%/,
    );
    assert.deepEqual(await findings(tab.page), []);
    await press(tab.page, "Drain: 10.0.0.1:7070");
    await press(tab.page, "Drain");
    await tab.page.waitForFunction(() =>
      /gives its accounts/.test(document.querySelector(".toasts")?.textContent ?? ""),
    );
    assert.deepEqual(drained, [`POST /admin/nodes/${data[0].id}/drain`]);
    await tab.page.waitForFunction(() => !document.querySelector("main tbody button"));
    faultless(tab, "nodes");
  });

  test("of a new account, which teach", async () => {
    const made = await world.operator("POST", "/admin/accounts", {
      email: "new@example.com",
      password: "correct horse 9",
    });
    const tab = await open(browser, service.url);
    await signIn(tab, { email: made.email, password: "correct horse 9" });
    await visit(tab, empty);
  });

  test("and the door, and an address without a page", async () => {
    const tab = await open(browser, service.url);
    tab.expected.push(/login/);
    await tab.page.goto(`${tab.url}/console/calls`);
    await tab.page.waitForSelector("input[name=email]");
    assert.match(await tab.page.$eval("main", (one) => one.textContent ?? ""), /first-start\.json/);
    assert.deepEqual(await findings(tab.page), []);
    await signIn(tab, service.secrets);
    await go(tab, "/nowhere");
    assert.match(await tab.page.$eval("h1", (one) => one.textContent ?? ""), /No such page/);
    tab.expected.push(/calls\/999/);
    await go(tab, "/calls/999");
    await tab.page.waitForFunction(() => document.querySelector("main h1")?.textContent === "Call not found");
    // The operator's pages ask for the operator's token.
    await tab.page.evaluate(
      () => (history.pushState(null, "", "/console/operator"), dispatchEvent(new PopStateEvent("popstate"))),
    );
    await tab.page.waitForSelector("input[name=token]");
    faultless(tab, "door");
  });
});
