// Dialogs: the browser's own modal, so that focus stays inside. Escape and a press on what is behind close one; where
// something was typed, or is shown this once, Escape asks first and a press behind does nothing.

import { text } from "../text.js";
import { html, signal, useLayoutEffect, useId, useRef, useState } from "./base.js";
import { Ids } from "./controls.js";

/** @typedef {object} DialogProps
 * @property {string} title
 * @property {() => void} close
 * @property {string} [kind]
 * @property {boolean} [hideTitle]
 * @property {boolean} [once] it shows what is never shown again
 * @property {boolean} [light] what is typed into it is worth nothing, such as a search
 * @property {import("preact").ComponentChildren} [children] */

/** @param {DialogProps} props */
export function Dialog({ title, close, kind, hideTitle, once, light, children }) {
  const ref = useRef(/** @type {HTMLDialogElement | null} */ (null));
  const typed = useRef(false);
  const began = useRef(false);
  const id = useId();
  useLayoutEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    // One that is closed before it goes gives the focus back to what had it.
    return () => dialog?.close();
  }, []);
  const loss = () => (once ? text.leave.once : typed.current && !light ? text.leave.typed : null);
  const leave = async () => {
    const words = loss();
    if (words === null || (await confirm({ title: text.leave.title, words, verb: text.leave.verb }))) close();
  };
  /** The margin around the content is the dialog's own, so the place of the press decides. @param {MouseEvent} event */
  const isBehind = ({ target, clientX: x, clientY: y }) => {
    if (!ref.current || target !== ref.current) return false;
    const { left, right, top, bottom } = ref.current.getBoundingClientRect();
    return x < left || x > right || y < top || y > bottom;
  };
  return html`<dialog class=${kind} ref=${ref} aria-labelledby=${id}
    onInput=${() => (typed.current = true)}
    onKeyDown=${(/** @type {KeyboardEvent} */ event) => {
      // A browser closes a dialog at the second Escape, whatever its page says to `cancel`.
      if (event.key !== "Escape" || event.defaultPrevented) return;
      event.preventDefault();
      leave();
    }}
    onCancel=${(/** @type {Event} */ event) => {
      if (event.target !== ref.current) return;
      event.preventDefault();
      leave();
    }}
    onMouseDown=${(/** @type {MouseEvent} */ event) => (began.current = isBehind(event))}
    onClick=${(/** @type {MouseEvent} */ event) => began.current && isBehind(event) && loss() === null && close()}>
    <div class="stack"><h2 id=${id} class=${hideTitle ? "visually-hidden" : undefined}>${title}</h2><${Ids.Provider}
      value="dialog">${children}<//></div>
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
  return html`<${Dialog} title=${title} light close=${() => answer(false)}>
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
