// A page by keyboard alone: keys are pressed until a control has the focus, nothing is clicked.

import { settled } from "./browser.js";

/** @typedef {import("./browser.js").Tab} Tab */

/** Presses Tab until the control with this accessible name and role has the focus. @param {Tab} tab @param {string} role @param {string | RegExp} name */
export async function reach({ page }, role, name) {
  for (let step = 0; step < 400; step += 1) {
    const at = await page.evaluate(() => {
      const one = document.activeElement;
      if (!one || one === document.body) return { role: "", name: "" };
      const labels = /** @type {any} */ (one).labels;
      const told =
        one.getAttribute("aria-label") ??
        (labels?.length
          ? [...labels]
              .map((/** @type {any} */ each) =>
                [...each.childNodes]
                  .filter(
                    (/** @type {any} */ node) => !(node instanceof Element && node.matches(".hint, select, input")),
                  )
                  .map((/** @type {any} */ node) => node.textContent)
                  .join(""),
              )
              .join(" ")
          : one.textContent);
      return {
        role:
          one.getAttribute("role") ??
          { A: "link", BUTTON: "button", SELECT: "select", SUMMARY: "button" }[one.tagName] ??
          (one.matches("[type=checkbox]") ? "checkbox" : "field"),
        name: (told ?? "").trim().replace(/\s+/g, " "),
      };
    });
    if (at.role === role && (typeof name === "string" ? at.name === name : name.test(at.name))) return;
    await page.keyboard.press("Tab");
  }
  throw new Error(`No ${role} “${name}” is reached by Tab`);
}

/** @param {Tab} tab @param {string} role @param {string | RegExp} name @param {string} typed */
export async function write(tab, role, name, typed) {
  await reach(tab, role, name);
  await tab.page.keyboard.down("Control");
  await tab.page.keyboard.press("a");
  await tab.page.keyboard.up("Control");
  await tab.page.keyboard.type(typed);
}

/** Chooses by typing the beginning of a choice, once there are any. @param {Tab} tab @param {string | RegExp} name @param {string} typed */
export async function choose(tab, name, typed) {
  await reach(tab, "select", name);
  await tab.page.waitForFunction(
    (words) =>
      [.../** @type {HTMLSelectElement} */ (document.activeElement).options].some((one) => one.text.startsWith(words)),
    {},
    typed,
  );
  // A select forgets what was typed a second ago.
  for (let tries = 0; tries < 5; tries += 1) {
    await tab.page.keyboard.type(typed);
    const chosen = await tab.page.evaluate(
      () => /** @type {HTMLSelectElement} */ (document.activeElement).selectedOptions[0]?.text ?? "",
    );
    if (chosen.startsWith(typed)) return;
    await new Promise((resolve) => setTimeout(resolve, 1_500));
  }
  throw new Error(`“${typed}” of ${name} is not chosen by typing it`);
}

/** @param {Tab} tab @param {string} role @param {string | RegExp} name */
export async function press(tab, role, name) {
  await reach(tab, role, name);
  await tab.page.keyboard.press(role === "checkbox" ? "Space" : "Enter");
}

/** Opens the palette, types, and takes the first that fits. @param {Tab} tab @param {string} typed */
export async function palette({ page }, typed) {
  await page.keyboard.down("Control");
  await page.keyboard.press("k");
  await page.keyboard.up("Control");
  // What is typed before it has the focus goes elsewhere.
  await page.waitForFunction(() => document.activeElement?.matches("dialog.palette input"));
  await page.keyboard.type(typed);
  await page.waitForFunction(
    (words) =>
      document
        .querySelector("dialog.palette [role=option][aria-selected=true]")
        ?.textContent?.toLowerCase()
        .includes(words.toLowerCase()),
    {},
    typed,
  );
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => !document.querySelector("dialog.palette"));
  await settled(page);
}

/** @param {Tab} tab @param {string} words */
export const shows = ({ page }, words) =>
  page.waitForFunction(
    (wanted) => document.querySelector("#app")?.textContent?.includes(wanted),
    { timeout: 15_000 },
    words,
  );
