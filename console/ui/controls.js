// What controls of forms share: ids, the focus, and an input whose value counts once it is left.

import { createContext, html, useContext, useLayoutEffect, useRef, useState } from "./base.js";

/** What the ids of a form's controls begin with: forms that are open at once have their own, so that each label leads to
 * its own control. */
export const Ids = createContext("field");

/** Gives the id of the control of a path, as errors have it too. @returns {(path: string) => string} */
export function useIds() {
  const ids = useContext(Ids);
  return (path) => `${ids}-${path.replaceAll(".", "-")}`;
}

/** Gives who asks that the control of an id has focus as soon as it is rendered. It has it before a key can be pressed:
 * a frame later, what is typed meanwhile would go astray. @returns {(id: string) => void} */
export function useFocus() {
  const asked = useRef("");
  useLayoutEffect(() => {
    if (asked.current) document.getElementById(asked.current)?.focus();
    asked.current = "";
  });
  return (id) => {
    asked.current = id;
  };
}

/** Remembers what has focus while something is waited for. What it gives tells whether that has it still, as it was, or
 * nothing has: who went on, to something else or there, is left alone. @returns {() => boolean} */
export function place() {
  const from = /** @type {any} */ (document.activeElement);
  const held = from?.value;
  return () => document.activeElement === document.body || (document.activeElement === from && from.value === held);
}

/** An input whose value counts once it is left, or at Enter: `change` is told of it then. What is typed stays there while
 * all around it is shown anew, or another window is looked at.
 * @param {{ value: string, change: (typed: string) => void, [attribute: string]: any }} props */
export function Typed({ value, change, ...attributes }) {
  const [typed, setTyped] = useState(/** @type {string | null} */ (null));
  return html`<input ...${attributes} value=${typed ?? value}
    onInput=${(/** @type {any} */ event) => setTyped(event.target.value)}
    onChange=${(/** @type {any} */ event) => (setTyped(null), change(event.target.value))}
    onBlur=${() => document.hasFocus() && setTyped(null)} />`;
}
