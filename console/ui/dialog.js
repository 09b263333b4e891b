// Dialogs: the browser's own modal, so that focus stays inside and Escape closes it.

import { text } from "../text.js";
import { html, signal, useEffect, useId, useRef, useState } from "./base.js";

/** @param {{ title: string, close: () => void, kind?: string, hideTitle?: boolean, children?: import("preact").ComponentChildren }} props */
export function Dialog({ title, close, kind, hideTitle, children }) {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const id = useId();
  useEffect(() => {
    const before = document.activeElement;
    ref.current?.showModal();
    return () => {
      if (before instanceof HTMLElement) before.focus();
    };
  }, []);
  return html`<dialog class=${kind} ref=${ref} aria-labelledby=${id} onCancel=${(/** @type {Event} */ event) => {
    event.preventDefault();
    close();
  }} onClick=${(/** @type {MouseEvent} */ event) => event.target === ref.current && close()}>
    <div class="stack"><h2 id=${id} class=${hideTitle ? "visually-hidden" : undefined}>${title}</h2>${children}</div>
  </dialog>`;
}

/** A question before something is destroyed. @typedef {{ title: string, words: string, name?: string, verb: string, done: (yes: boolean) => void }} Question */

/** @type {import("@preact/signals").Signal<Question | null>} */
const question = signal(null);

/** Asks whether to go on; where a `name` is given, it has to be typed.
 * @param {{ title: string, words: string, name?: string, verb: string }} asked @returns {Promise<boolean>} */
export function confirm(asked) {
  return new Promise((done) => (question.value = { ...asked, done }));
}

export function Confirmation() {
  const asked = question.value;
  return asked ? html`<${Ask} key=${asked.title + asked.words} ...${asked} />` : null;
}

/** @param {Question} props */
function Ask({ title, words, name, verb, done }) {
  const [typed, setTyped] = useState("");
  const answer = (/** @type {boolean} */ yes) => {
    question.value = null;
    done(yes);
  };
  return html`<${Dialog} title=${title} close=${() => answer(false)}>
    <form class="stack" method="dialog"
      onSubmit=${(/** @type {Event} */ event) => (event.preventDefault(), answer(true))}>
      <p>${words}</p>
      ${
        name !== undefined &&
        html`<label class="field"><span>${text.typeName} <code>${name}</code></span>
        <input value=${typed} autocomplete="off"
          onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} /></label>`
      }
      <div class="row"><button type="submit" class="primary danger"
        disabled=${name !== undefined && typed.trim() !== name.trim()}>${verb}</button>
        <button type="button" onClick=${() => answer(false)}>${text.cancel}</button></div>
    </form>
  <//>`;
}
