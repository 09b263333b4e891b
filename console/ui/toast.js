// Short messages of what was done, read out by screen readers; one may carry a way back.

import { text } from "../text.js";
import { html, signal } from "./base.js";

/** @typedef {{ id: number, words: string, undo?: () => void }} Toast */

/** @type {import("@preact/signals").Signal<Toast[]>} */
const toasts = signal([]);
let next = 1;

/** How long a message stays, milliseconds; one with a way back stays longer. */
const STAY_MS = 5_000;
const STAY_UNDO_MS = 12_000;

/** @param {string} words @param {() => void} [undo] */
export function toast(words, undo) {
  const id = next++;
  toasts.value = [...toasts.value.slice(-2), { id, words, undo }];
  setTimeout(() => drop(id), undo ? STAY_UNDO_MS : STAY_MS);
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
