// Keys that work everywhere. Those of a single letter can be switched off (WCAG 2.1.4).

import { go, to } from "../router.js";
import { signal } from "./base.js";

/** What is open above the page. @type {import("@preact/signals").Signal<null | "palette" | "help">} */
export const above = signal(null);

const KEY = "switchboard.keys";

/** Whether keys of a single letter work. */
export const letters = signal(localStorage.getItem(KEY) !== "off");

/** @param {boolean} on */
export function setLetters(on) {
  letters.value = on;
  localStorage.setItem(KEY, on ? "on" : "off");
}

/** The letter after `g`, and where it goes. @type {Record<string, string>} */
export const PLACES = {
  h: "/",
  c: "/calls",
  a: "/assistants",
  p: "/campaigns",
  n: "/numbers",
  k: "/knowledge",
  t: "/tools",
  w: "/webhooks",
  o: "/operator",
};

/** After a `g`, how long the next letter may take, milliseconds. */
const SEQUENCE_MS = 1_200;
let since = 0;

/** @param {KeyboardEvent} event */
function pressed(event) {
  if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
    event.preventDefault();
    above.value = above.value === "palette" ? null : "palette";
    return;
  }
  const target = event.target instanceof Element ? event.target : null;
  if (
    !letters.value ||
    event.ctrlKey ||
    event.metaKey ||
    event.altKey ||
    target?.closest("input, textarea, select") ||
    document.querySelector("dialog[open]")
  )
    return;
  if (event.key === "?") above.value = "help";
  else if (event.key === "/") {
    const field = document.querySelector("main .filters input, main .filters select");
    if (field instanceof HTMLElement) (event.preventDefault(), field.focus());
  } else if (event.key === "g") since = Date.now();
  else if (Date.now() - since < SEQUENCE_MS && PLACES[event.key]) ((since = 0), go(to(PLACES[event.key])));
}

export const listen = () => document.addEventListener("keydown", pressed);
