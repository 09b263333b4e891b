// What single pages do besides the main jobs, in an account that has a little of everything.

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { faultless, findings, go, launch, open, press, signIn, signInOperator } from "./tools/browser.js";
import { client, start } from "./tools/service.js";

/** @type {import("./tools/service.js").Service} */ let service;
/** @type {import("puppeteer-core").Browser} */ let browser;
/** @type {ReturnType<typeof client>} */ let owner;
/** @type {ReturnType<typeof client>} */ let operator;

before(async () => {
  service = await start();
  owner = client(`${service.service}/api`, service.secrets.api_key);
  operator = client(service.service, service.secrets.admin_token);
  browser = await launch();
});
after(async () => {
  await browser?.close();
  await service?.stop();
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
