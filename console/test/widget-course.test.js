// What goes wrong in a widget's conversation: connections, models, limits, and conversations that are gone.

import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { pause } from "./tools/elsewhere.js";
import { GREETING, Shop, inside, notice, opened, reads, says, there, typed, write } from "./tools/shop.js";

const shop = new Shop();

describe("what breaks off", () => {
  /** What the service has of the newest conversation. @param {string} uuid @returns {Promise<string[]>} */
  const stored = async (uuid) => {
    const { data } = await shop.parts.owner("GET", `/user/conversations?assistant_id=${uuid}&cursor=`);
    const { history } = await shop.parts.owner("GET", `/user/conversations/${data[0].id}`);
    return history.map((/** @type {{ content: string }} */ { content }) => content);
  };
  const whole = [GREETING, "Slowly", "One. Two. Three."];
  const slowly = () => {
    const { pause: wait, end } = pause();
    Object.assign(shop.parts.model, { pause: wait, says: () => ["One. ", "Two. ", "Three."] });
    return end;
  };

  test("is taken up again, and said once", async () => {
    const { uuid } = await shop.assistant();
    const tab = await shop.visit("/cut", shop.line(uuid));
    tab.expected.push(/messages$/);
    await opened(tab.page);
    const goOn = slowly();
    const asked = shop.parts.model.asked;
    await write(tab.page, "Slowly");
    await says(tab.page, [GREETING, "Slowly", "One. "]);
    shop.parts.service.cut();
    await notice(tab.page, /connection broke off/);
    goOn();
    await says(tab.page, whole);
    assert.deepEqual(await stored(uuid), whole);
    assert.equal(shop.parts.model.asked, asked + 1);
    assert.equal(await inside(tab.page, (root) => root.querySelector(".notice")?.getAttribute("hidden")), "");
    await shop.leave(tab);
  });

  test("goes on after the page was left", async () => {
    const { uuid } = await shop.assistant();
    const tab = await shop.visit("/left", shop.line(uuid));
    tab.expected.push(/messages$/);
    await opened(tab.page);
    const goOn = slowly();
    await write(tab.page, "Slowly");
    await says(tab.page, [GREETING, "Slowly", "One. "]);
    await tab.page.reload();
    goOn();
    await says(tab.page, whole);
    assert.deepEqual(await stored(uuid), whole);
    await shop.leave(tab);
  });

  test("waits for a network", async () => {
    const { uuid } = await shop.assistant();
    const tab = await shop.visit("/offline", shop.line(uuid));
    tab.expected.push(/messages$/);
    await opened(tab.page);
    await tab.page.setOfflineMode(true);
    await write(tab.page, "Hello");
    await notice(tab.page, /You are offline/);
    await tab.page.setOfflineMode(false);
    await says(tab.page, [GREETING, "Hello", "You said: Hello"]);
    await shop.leave(tab);
  });

  test("is tried again by a button where the model failed", async () => {
    const { uuid } = await shop.assistant();
    const tab = await shop.visit("/failed", shop.line(uuid));
    tab.expected.push(/messages$/);
    await opened(tab.page);
    shop.parts.model.says = () => 500;
    await write(tab.page, "Hello");
    await notice(tab.page, /no answer right now/);
    shop.parts.model.says = () => ["Here I am."];
    await (await there(tab.page, ".notice button")).click();
    await says(tab.page, [GREETING, "Hello", "Here I am."]);
    assert.deepEqual(await stored(uuid), [GREETING, "Hello", "Here I am."]);
    await shop.leave(tab);
  });
});

describe("what the service refuses", () => {
  test("too many messages, with the time to wait", async () => {
    const { uuid } = await shop.assistant();
    const tab = await shop.visit("/many", shop.line(uuid));
    tab.expected.push(/messages$/);
    await opened(tab.page);
    const { data } = await shop.parts.owner("GET", `/user/conversations?assistant_id=${uuid}&cursor=`);
    // With a person there is no answer to wait for: more than are taken come at once, just before Enter.
    await shop.parts.owner("POST", `/automate/conversations/${data[0].id}/disable-ai`, {});
    await typed(tab.page, "One more");
    const messages = Array.from({ length: 40 }, (_, at) => ({ message: `Message ${at}` }));
    await Promise.allSettled(
      messages.map((message) => shop.parts.owner("POST", `/conversations/${data[0].id}/messages`, message)),
    );
    await tab.page.keyboard.press("Enter");
    await notice(tab.page, /try again in \d+ seconds/);
    await shop.leave(tab);
  });

  test("a conversation that is gone goes on in a new one", async () => {
    const { uuid } = await shop.assistant();
    const tab = await shop.visit("/gone", shop.line(uuid));
    tab.expected.push(/conversations\//);
    await opened(tab.page);
    const { data } = await shop.parts.owner("GET", `/user/conversations?assistant_id=${uuid}&cursor=`);
    await shop.parts.owner("DELETE", `/user/conversations/${data[0].id}`);
    await write(tab.page, "Are you there?");
    await says(tab.page, [GREETING, "Are you there?", "You said: Are you there?"]);
    await reads(tab.page, ".note", /this is a new one/);
    await shop.leave(tab);
  });

  test("an assistant that was closed meanwhile, and a person who took over", async () => {
    const { id, uuid } = await shop.assistant();
    const tab = await shop.visit("/closed", shop.line(uuid));
    tab.expected.push(/conversations/);
    await opened(tab.page);
    const { data } = await shop.parts.owner("GET", `/user/conversations?assistant_id=${uuid}&cursor=`);
    await shop.parts.owner("POST", `/automate/conversations/${data[0].id}/disable-ai`, {});
    await write(tab.page, "A person, please");
    await reads(tab.page, ".note", /passed on to a person/);
    await shop.parts.owner("PATCH", `/user/assistant/${id}`, { widget_settings: { enabled: false } });
    await write(tab.page, "Hello?");
    await notice(tab.page, /not available/);
    await shop.leave(tab);
  });
});
