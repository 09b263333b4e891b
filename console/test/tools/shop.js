// A shop on another origin than the service, with the widget in its pages; and what a test does in the widget.

import assert from "node:assert/strict";
import { after, before, beforeEach } from "node:test";
import { faultless, launch, open } from "./browser.js";
import { model, site } from "./elsewhere.js";
import { FRONT, client, start } from "./service.js";
import { until } from "./world.js";

/** @typedef {import("puppeteer-core").Page} Page */

/** How long what must come is waited for, milliseconds. */
const PATIENCE_MS = 15_000;
export const GREETING = "Hello, how can I help?";

/** The shop of a file of tests: what it is made of stands before the first test. Each test is another visitor, as an
 * address begins ten conversations a minute. */
export class Shop {
  visitors = 0;

  /** @param {string[]} [flags] of the browser */
  constructor(flags) {
    before(async () => {
      this.model = await model();
      this.site = await site();
      const told = [...FRONT, "--llm-url", this.model.url, "--llm-model", "told"];
      this.service = await start(told);
      this.owner = client(this.service.service, this.service.secrets.api_key);
      this.browser = await launch(flags);
    });
    after(async () => {
      await this.browser?.close();
      await this.service?.stop();
      this.model?.close();
      this.site?.close();
    });
    beforeEach(() => {
      this.visitors += 1;
      this.parts.service.from = `198.51.100.${this.visitors}`;
      Object.assign(this.parts.model, {
        pause: async () => {},
        says: (/** @type {string} */ message) => [`You said: ${message}`],
      });
    });
  }

  /** All that it is made of. */
  get parts() {
    const { model, site, service, owner, browser } = this;
    if (!model || !site || !service || !owner || !browser) throw new Error("The shop is not open yet.");
    return { model, site, service, owner, browser };
  }

  /** An assistant that the site may embed; returns its id and UUID. @param {object} [settings] @param {object} [more] */
  async assistant(settings = {}, more = {}) {
    const { owner, site } = this.parts;
    const { data } = await owner("POST", "/user/assistant", {
      name: "Anna of the shop",
      voice_id: 1,
      language_id: 1,
      type: "outbound",
      mode: "pipeline",
      timezone: "Europe/Bucharest",
      llm_model_id: 1,
      initial_message: GREETING,
      system_prompt: "Be kind.",
      widget_settings: { enabled: true, allowed_origins: [site.url], ...settings },
      ...more,
    });
    await owner("PATCH", `/user/assistant/${data.id}`, { status: "active" });
    const { uuid } = await owner("GET", `/user/assistant/${data.id}`);
    return { id: data.id, uuid };
  }

  /** The line of a page. @param {string} uuid */
  line(uuid, kind = 'type="module"') {
    return `<script ${kind} src="${this.parts.service.url}/widget.js" data-assistant="${uuid}"></script>`;
  }

  /** Opens a page of the site as a new visitor. @param {string} path @param {string} body @param {Record<string, string>} [headers] */
  async visit(path, body, headers) {
    const { browser, site } = this.parts;
    const tab = await open(browser, site.url);
    await tab.page.goto(site.page(path, body, headers));
    return tab;
  }

  /** Leaves, and says what should not have happened; the service may be asked, and who else is named.
   * @param {import("./browser.js").Tab} tab @param {string[]} others */
  async leave(tab, ...others) {
    const asked = [this.parts.service.url, ...others].map((url) => `foreign request: ${url}/`);
    const faults = tab.faults.filter((one) => !asked.some((url) => one.startsWith(url)));
    faultless({ ...tab, faults }, tab.page.url());
    await tab.context.close();
  }
}

/** An element of the widget, once it is there: Puppeteer's own waits do not see changes in a shadow root.
 * @param {Page} page @param {string} selector */
export const there = (page, selector) => until(() => page.$(`>>> ${selector}`), selector, PATIENCE_MS);

/** Opens the panel, and waits for the greeting. @param {Page} page */
export async function opened(page) {
  await (await there(page, ".launcher")).click();
  await there(page, "li.assistant");
}

/** Writes a message, once the one before is answered. @param {Page} page @param {string} message */
export async function write(page, message) {
  await typed(page, message);
  await page.keyboard.press("Enter");
}

/** Types a message, and does not send it. @param {Page} page @param {string} message */
export async function typed(page, message) {
  await there(page, "ol:not([aria-busy=true])");
  await page.type(">>> textarea", message);
}

/** What a look into the shadow root gives; null where there is no widget. It is sent as text, which no policy of the page
 * keeps out. @template T @param {Page} page @param {((root: ShadowRoot) => T) | string} look @returns {Promise<T | null>} */
export const inside = (page, look) =>
  /** @type {Promise<T | null>} */ (
    page.evaluate(`(() => {
      const host = [...document.body.children].find(({ shadowRoot }) => shadowRoot);
      return host ? (${look})(host.shadowRoot) : null;
    })()`)
  );

/** The messages that are shown. @param {Page} page @returns {Promise<string[]>} */
const shown = async (page) =>
  (await inside(page, (root) =>
    [...root.querySelectorAll("li:not([hidden]) .words")].map(({ textContent }) => textContent ?? ""),
  )) ?? [];

/** Waits until something is what it should be. @template T @param {() => Promise<T>} read @param {(now: T) => void} check */
async function becomes(read, check) {
  const end = Date.now() + PATIENCE_MS;
  for (;;) {
    const now = await read();
    try {
      return check(now);
    } catch (error) {
      if (Date.now() > end) throw error;
      await new Promise((resolve) => setTimeout(resolve, 50));
    }
  }
}

/** Waits until the messages are these. @param {Page} page @param {string[]} messages */
export const says = (page, messages) =>
  becomes(
    () => shown(page),
    (now) => assert.deepEqual(now, messages),
  );

/** Waits for a text in an element. @param {Page} page @param {string} selector @param {RegExp} text */
export const reads = (page, selector, text) =>
  becomes(
    () => inside(page, `(root) => root.querySelector(${JSON.stringify(selector)})?.textContent ?? ""`),
    (now) => assert.match(String(now), text),
  );

/** Waits for a sentence above the field. @param {Page} page @param {RegExp} sentence */
export const notice = (page, sentence) => reads(page, ".notice:not([hidden])", sentence);
