// Short messages of what was done, read out by screen readers; one may carry a way back.

import { text } from "../text.js";
import { html, signal } from "./base.js";

/** @typedef {{ id: number, words: string, undo?: () => void }} Toast */

/** @type {import("@preact/signals").Signal<Toast[]>} */
const toasts = signal([]);
let next = 1;

/** How long a message stays, milliseconds; one with a way back, or of what went wrong, stays longer. */
const STAY_MS = 5_000;
const STAY_LONG_MS = 15_000;

/** @param {Error} error */
export const complain = (error) => toast(error.message, undefined, STAY_LONG_MS);

/** @param {string} words @param {() => void} [undo] @param {number} [stayMs] */
export function toast(words, undo, stayMs = undo ? STAY_LONG_MS : STAY_MS) {
  const id = next++;
  toasts.value = [...toasts.value.slice(-2), { id, words, undo }];
  setTimeout(() => drop(id), stayMs);
}

/** @param {number} id */
const drop = (id) => (toasts.value = toasts.value.filter((one) => one.id !== id));

export function Toasts() {
  return html`<div class="toasts" role="status" aria-live="polite">
    ${toasts.value.map(
      ({ id, words, undo }) => html`<div class="toast" key=${id}><span>${words}</span>
      ${undo && html`<button type="button" onClick=${() => (drop(id), undo())}>${text.undo}</button>`}
      <button type="button" aria-label=${text.close} onClick=${() => drop(id)}>✕</button></div>`,
    )}
  </div>`;
}
