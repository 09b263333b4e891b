// An input whose value counts once it is left, or at Enter.

import { html, useState } from "./base.js";

/** What is typed stays there while all around it is shown anew. `change` is told of it when it counts.
 * @param {{ value: string, change: (typed: string) => void, [attribute: string]: any }} props */
export function Typed({ value, change, ...attributes }) {
  const [typed, setTyped] = useState(/** @type {string | null} */ (null));
  return html`<input ...${attributes} value=${typed ?? value}
    onInput=${(/** @type {any} */ event) => setTyped(event.target.value)}
    onChange=${(/** @type {any} */ event) => (setTyped(null), change(event.target.value))}
    onBlur=${() => setTyped(null)} />`;
}
