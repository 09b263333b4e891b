// The widget in pages of another origin, against the real binary: who may embed it, what it shows, and to whom.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { gzipSync } from "node:zlib";
import { findings, go, open, overflow, settled, signIn } from "./tools/browser.js";
import { pause } from "./tools/elsewhere.js";
import { GREETING, Shop, inside, notice, opened, reads, says, there, write } from "./tools/shop.js";

const BYTES_MAX = 30_000;
const HOSTILE = '<img src=x onerror="alert(1)"></li><script>alert(2)</script>\u202Eevil ' + "a".repeat(120);
const shop = new Shop();

describe("the file", () => {
  test("is small, cached, and for pages of every origin", async () => {
    const answer = await fetch(`${shop.parts.service.service}/widget.js`);
    const text = await (await fetch(`${shop.parts.service.url}/widget.js`)).text();
    const packed = gzipSync(text, { level: 9 }).length;
    console.log(`# widget.js: ${text.length} bytes, ${packed} compressed`);
    assert.ok(Buffer.byteLength(text) <= BYTES_MAX, `${text.length} bytes`);
    assert.equal(answer.headers.get("content-type"), "text/javascript; charset=utf-8");
    assert.equal(answer.headers.get("access-control-allow-origin"), "*");
    assert.equal(answer.headers.get("cross-origin-resource-policy"), "cross-origin");
    assert.match(answer.headers.get("cache-control") ?? "", /max-age=300/);
    const etag = answer.headers.get("etag") ?? "";
    const again = await fetch(`${shop.parts.service.service}/widget.js`, { headers: { "if-none-match": etag } });
    assert.equal(again.status, 304);
    assert.doesNotMatch(text, /^(import|export) |innerHTML|\beval\(|new Function\(/m);
  });
});

describe("on an allowed page", () => {
  test("it greets, answers as it is written, and is there on the next page of the tab", async () => {
    const { uuid } = await shop.assistant();
    shop.parts.site.page("/next", shop.line(uuid));
    const tab = await shop.visit("/", `<a href="/next">Next</a>${shop.line(uuid)}`);
    await opened(tab.page);
    await says(tab.page, [GREETING]);
    const { pause: wait, end } = pause();
    Object.assign(shop.parts.model, { pause: wait, says: () => ["We open ", "at nine."] });
    await write(tab.page, "When do you open?");
    await says(tab.page, [GREETING, "When do you open?", "We open "]);
    end();
    await says(tab.page, [GREETING, "When do you open?", "We open at nine."]);
    await reads(tab.page, "[aria-live]", /^Anna of the shop: We open at nine\.$/);
    await tab.page.goto(`${shop.parts.site.url}/next`);
    await says(tab.page, [GREETING, "When do you open?", "We open at nine."]);
    const names = await tab.page.evaluate(() => Object.getOwnPropertyNames(window).join());
    const bare = await shop.visit("/bare", "");
    assert.equal(names, await bare.page.evaluate(() => Object.getOwnPropertyNames(window).join()), "names of the page");
    await bare.context.close();
    assert.equal(await tab.page.evaluate(() => document.activeElement?.tagName), "BODY", "focus stays in the page");
    await shop.leave(tab);
  });

  test("a plain script does the same, before the page is whole", async () => {
    const { uuid } = await shop.assistant();
    const tab = await shop.visit("/plain", shop.line(uuid, "async"));
    await opened(tab.page);
    await write(tab.page, "Hello");
    await says(tab.page, [GREETING, "Hello", "You said: Hello"]);
    await shop.leave(tab);
  });

  test("two lines are two widgets, and one line is one", async () => {
    const [one, other] = [await shop.assistant(), await shop.assistant({ position: "left", title: "Other" })];
    const tab = await shop.visit("/two", shop.line(one.uuid) + shop.line(other.uuid));
    await tab.page.waitForFunction(
      () => [...document.body.children].filter(({ shadowRoot }) => shadowRoot).length === 2,
    );
    const sides = await tab.page.evaluate(() =>
      [...document.body.children].flatMap(({ shadowRoot }) => shadowRoot?.querySelector("div")?.className ?? []),
    );
    assert.deepEqual(sides.sort(), ["left", "right"]);
    await shop.leave(tab);
  });
});

test("the console shows the line, and a page that has it shows the widget", async () => {
  const { browser, service } = shop.parts;
  const { id, uuid } = await shop.assistant();
  const owner = await open(browser, service.url);
  await signIn(owner, service.secrets);
  await go(owner, `/assistants/${id}`);
  await settled(owner.page);
  await owner.page.setViewport({ width: 390, height: 844 });
  assert.equal(await overflow(owner.page), null);
  assert.deepEqual(await findings(owner.page), []);
  const codes = await owner.page.$$eval("main .copy code", (all) => all.map(({ textContent }) => textContent ?? ""));
  const line = codes.find((one) => one.includes("widget.js")) ?? "";
  assert.ok(line.includes(uuid), line);
  await shop.leave(owner);
  const tab = await shop.visit("/copied", line);
  await opened(tab.page);
  await shop.leave(tab);
});

describe("elsewhere", () => {
  for (const [name, settings, why] of /** @type {const} */ ([
    ["of another origin", { allowed_origins: ["https://shop.example"] }, "allowed_origins"],
    ["whose assistant is closed", { enabled: false }, "not enabled"],
  ])) {
    test(`a page ${name} shows nothing, and says why in its console`, async () => {
      const { uuid } = await shop.assistant(settings);
      const tab = await shop.visit("/refused", shop.line(uuid));
      tab.expected.push(/widgets\//);
      /** @type {string[]} */
      const told = [];
      tab.page.on("console", (message) => told.push(message.text()));
      await tab.page.reload();
      for (
        const end = Date.now() + 10_000;
        !told.some((one) => one.includes(uuid) && one.includes(why)) && Date.now() < end;
      ) {
        await new Promise((resolve) => setTimeout(resolve, 50));
      }
      assert.ok(
        told.some((one) => one.includes(uuid) && one.includes(why)),
        told.join("\n"),
      );
      assert.equal(await inside(tab.page, () => true), null);
      await tab.context.close();
    });
  }
});

describe("its settings", () => {
  test("are its title, colour, side and theme", async () => {
    const { uuid } = await shop.assistant({
      title: "Ask Anna",
      color: "oklch(0.9 0.2 110)",
      position: "left",
      theme: "dark",
    });
    const tab = await shop.visit("/looks", shop.line(uuid));
    await opened(tab.page);
    const looks = await inside(tab.page, (root) => {
      const style = (/** @type {string} */ name) => getComputedStyle(/** @type {Element} */ (root.querySelector(name)));
      return {
        title: root.querySelector("h2")?.textContent,
        header: style("header").backgroundColor,
        words: style("header").color,
        surface: style("dialog").backgroundColor,
        isLeft: /** @type {Element} */ (root.querySelector("dialog")).getBoundingClientRect().left < 100,
      };
    });
    const [red, green, blue] = (looks?.header.match(/\d+/g) ?? []).map(Number);
    assert.ok(green > 200 && red > 150 && blue < 120, looks?.header);
    assert.deepEqual(
      { ...looks, header: "" },
      { title: "Ask Anna", header: "", words: "rgb(0, 0, 0)", surface: "rgb(26, 29, 32)", isLeft: true },
    );
    await shop.leave(tab);
  });

  test("are text and colour, whatever they hold", async () => {
    const title = HOSTILE.slice(0, 255);
    const { uuid } = await shop.assistant({ title, color: "red} *{display:none} a{background:url(//evil.example/)" });
    const tab = await shop.visit("/hostile-looks", shop.line(uuid));
    await opened(tab.page);
    const looks = await inside(tab.page, (root) => [
      root.querySelector("h2")?.textContent,
      getComputedStyle(/** @type {Element} */ (root.querySelector("header"))).backgroundColor,
    ]);
    assert.deepEqual(looks, [title, "rgb(10, 99, 112)"]);
    await shop.leave(tab);
  });
});

test("texts that try to be more than text are shown as they are", async () => {
  const { uuid } = await shop.assistant({}, { initial_message: HOSTILE });
  const tab = await shop.visit("/hostile", shop.line(uuid));
  shop.parts.model.says = () => [HOSTILE, "\n\n", "**bold** [link](javascript:alert(3))"];
  await opened(tab.page);
  await write(tab.page, "<b>Hi</b>");
  await says(tab.page, [HOSTILE, "<b>Hi</b>", `${HOSTILE}\n\n**bold** [link](javascript:alert(3))`]);
  assert.equal(await inside(tab.page, (root) => root.querySelectorAll("img, script, a, b").length), 0);
  assert.equal(
    await inside(tab.page, (root) => {
      const list = /** @type {Element} */ (root.querySelector("ol"));
      return list.scrollWidth > list.clientWidth;
    }),
    false,
    "nothing is wider than the panel",
  );
  await shop.leave(tab);
});

test("a page with a strict policy needs to name the script and the service alone", async () => {
  const { uuid } = await shop.assistant();
  const policy = `default-src 'none'; script-src ${shop.parts.service.url}/widget.js; connect-src ${shop.parts.service.url}; img-src data:; base-uri 'none'; form-action 'none'; require-trusted-types-for 'script'; trusted-types 'none'`;
  for (const kind of ["async", 'type="module"']) {
    const headers = { "content-security-policy": policy, "cross-origin-embedder-policy": "require-corp" };
    const tab = await shop.visit("/strict", shop.line(uuid, kind), headers);
    await opened(tab.page);
    await write(tab.page, "Hello");
    await says(tab.page, [GREETING, "Hello", "You said: Hello"]);
    const [width, color] =
      (await inside(tab.page, (root) => {
        const { width, backgroundColor } = getComputedStyle(/** @type {Element} */ (root.querySelector(".launcher")));
        return [width, backgroundColor];
      })) ?? [];
    assert.deepEqual([width, color], ["56px", "rgb(10, 99, 112)"]);
    await shop.leave(tab);
  }
});

test("styles of the page do not get in", async () => {
  const { uuid } = await shop.assistant();
  const style =
    "<style>* { color: red !important; font: 3px serif !important } div, dialog, button, :has(*) { display: none !important } main { display: block !important }</style>";
  const tab = await shop.visit("/styled", style + shop.line(uuid));
  await tab.page.waitForFunction(() => [...document.body.children].some(({ shadowRoot }) => shadowRoot));
  const hidden = "html, body { display: block !important }";
  await tab.page.addStyleTag({ content: hidden });
  await opened(tab.page);
  const text = await inside(tab.page, (root) => {
    const { color, fontSize, display } = getComputedStyle(/** @type {Element} */ (root.querySelector("li")));
    return [color === "rgb(255, 0, 0)", fontSize, display];
  });
  assert.deepEqual(text, [false, "16px", "list-item"]);
  await tab.context.close();
});

describe("for everybody", () => {
  for (const scheme of ["light", "dark"]) {
    for (const [width, height] of [
      [1200, 800],
      [360, 640],
      [320, 400],
    ]) {
      test(`axe finds nothing, ${scheme}, ${width} by ${height}`, async () => {
        const { uuid } = await shop.assistant();
        const tab = await shop.visit("/axe", shop.line(uuid));
        await tab.page.emulateMediaFeatures([{ name: "prefers-color-scheme", value: scheme }]);
        await tab.page.setViewport({ width, height });
        await there(tab.page, ".launcher");
        assert.deepEqual(await findings(tab.page), [], "closed");
        await opened(tab.page);
        shop.parts.model.says = (message) => (message === "fail" ? 500 : ["A long answer. ".repeat(60)]);
        await write(tab.page, "Tell me all of it");
        await says(tab.page, [GREETING, "Tell me all of it", "A long answer. ".repeat(60)]);
        tab.expected.push(/messages$/);
        await write(tab.page, "fail");
        await notice(tab.page, /no answer right now.*Try again/);
        assert.deepEqual(await findings(tab.page), [], "open");
        assert.equal(await overflow(tab.page), null);
        await shop.leave(tab);
      });
    }
  }

  test("all of it is done by keyboard, and focus comes back", async () => {
    const { uuid } = await shop.assistant();
    const tab = await shop.visit("/keys", `<a href="#x">A link</a>${shop.line(uuid)}`);
    const { page } = tab;
    await there(page, ".launcher");
    const focused = () =>
      inside(page, (root) => root.activeElement?.getAttribute("aria-label") ?? root.activeElement?.id ?? null);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Tab");
    assert.equal(await focused(), "Chat: Anna of the shop");
    await page.keyboard.press("Enter");
    await says(page, [GREETING]);
    assert.equal(await focused(), "field");
    await page.keyboard.type("one");
    await page.keyboard.down("Shift");
    await page.keyboard.press("Enter");
    await page.keyboard.up("Shift");
    await page.keyboard.type("two");
    await page.keyboard.press("Tab");
    assert.equal(await focused(), "Send");
    await page.keyboard.press("Space");
    await says(page, [GREETING, "one\ntwo", "You said: one\ntwo"]);
    await page.keyboard.press("Escape");
    assert.equal(await focused(), "Chat: Anna of the shop");
    assert.equal(await inside(page, (root) => root.querySelector("dialog")?.open), false);
    await shop.leave(tab);
  });

  test("a narrow screen is filled, and keys stay in the panel until it is closed", async () => {
    const { uuid } = await shop.assistant();
    const tab = await shop.visit("/narrow", `<a href="#x">A link</a>${shop.line(uuid)}`);
    const { page } = tab;
    await page.setViewport({ width: 360, height: 640, hasTouch: true, isMobile: true });
    await opened(page);
    const box = await inside(page, (root) => {
      const { left, top, width, height } = /** @type {Element} */ (
        root.querySelector("dialog")
      ).getBoundingClientRect();
      return [left, top, width, height];
    });
    assert.deepEqual(box, [0, 0, 360, 640]);
    for (let at = 0; at < 8; at += 1) {
      await page.keyboard.press("Tab");
      assert.notEqual(await page.evaluate(() => document.activeElement?.tagName), "A");
    }
    await (await there(page, 'button[aria-label="Close the chat"]')).click();
    assert.equal(await inside(page, (root) => root.activeElement?.className), "launcher");
    await shop.leave(tab);
  });
});
