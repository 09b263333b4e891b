// Short messages of what was done, read out by screen readers, at once where something went wrong; one may carry a way
// back.

import { text } from "../text.js";
import { html, signal } from "./base.js";

/** @typedef {{ id: number, words: string, undo?: () => void, bad?: boolean }} Toast */

/** @type {import("@preact/signals").Signal<Toast[]>} */
const toasts = signal([]);
let next = 1;

/** How long a message stays, milliseconds; one with a way back, or of what went wrong, stays longer. */
const STAY_MS = 5_000;
const STAY_LONG_MS = 15_000;

/** @param {Error} error */
export const complain = (error) => add({ words: error.message, bad: true }, STAY_LONG_MS);

/** @param {string} words @param {() => void} [undo] */
export const toast = (words, undo) => add({ words, undo }, undo ? STAY_LONG_MS : STAY_MS);

/** @param {Omit<Toast, "id">} one @param {number} stayMs */
function add(one, stayMs) {
  const id = next++;
  toasts.value = [...toasts.value.slice(-2), { ...one, id }];
  setTimeout(() => drop(id), stayMs);
}

/** @param {number} id */
const drop = (id) => (toasts.value = toasts.value.filter((one) => one.id !== id));

/** @param {Toast} props */
const Told = ({
  id,
  words,
  undo,
  bad,
}) => html`<div class="toast" role=${bad ? "alert" : undefined}><span>${words}</span>
  ${undo && html`<button type="button" onClick=${() => (drop(id), undo())}>${text.undo}</button>`}
  <button type="button" aria-label=${text.close} onClick=${() => drop(id)}>✕</button></div>`;

export function Toasts() {
  const of = (/** @type {boolean} */ bad) =>
    toasts.value.filter((one) => Boolean(one.bad) === bad).map((one) => html`<${Told} key=${one.id} ...${one} />`);
  return html`<div class="toasts"><div role="status" aria-live="polite">${of(false)}</div>${of(true)}</div>`;
}
