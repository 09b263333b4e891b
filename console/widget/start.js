// Finds the lines of the page that ask for a widget, and mounts one for each.
//
// The file that is served has neither imports nor exports, so that it runs as a module and as a plain script. A module
// does not know its own element: it takes every line that no other run took.

import { Conversation } from "./conversation.js";
import { Panel } from "./panel.js";

/** The lines that this run is for. @returns {HTMLScriptElement[]} */
function lines() {
  const own = document.currentScript;
  if (own instanceof HTMLScriptElement) return own.dataset.assistant ? [own] : [];
  return [...document.querySelectorAll(/** @type {"script"} */ ("script[type=module][data-assistant]"))].filter(
    ({ src }) => /\/widget\.js$/.test(URL.canParse(src) ? new URL(src).pathname : ""),
  );
}

/** What whoever made the page can do, by status. @type {Record<number, string>} */
const REASONS = {
  403: `name ${location.origin} in allowed_origins of its widget_settings`,
  404: "there is none, or it is not active, or its widget_settings are not enabled",
};

/** @param {HTMLScriptElement} line */
async function mount({ src, dataset }) {
  try {
    const service = new URL(dataset.service ?? ".", src);
    if (!service.pathname.endsWith("/")) service.pathname += "/";
    const conversation = new Conversation(service, dataset.assistant ?? "");
    const looks = await conversation.looks();
    if (!document.body) await new Promise((resolve) => addEventListener("DOMContentLoaded", resolve, { once: true }));
    new Panel(conversation, looks);
  } catch (error) {
    // Visitors are told nothing of a widget that is not there; who made the page looks into the console.
    const why = REASONS[/** @type {{ status?: number }} */ (error).status ?? 0] ?? error;
    console.warn(`Switchboard's widget for the assistant ${dataset.assistant} is not shown:`, why);
  }
}

for (const line of lines()) {
  if (line.dataset.state) continue;
  line.dataset.state = "taken";
  void mount(line);
}
