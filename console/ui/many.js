// A set to choose several of: a long one is folded away, and found in by a part of the name.

import { count } from "../format.js";
import { text } from "../text.js";
import { html, useState } from "./base.js";

/** @typedef {import("./references.js").Option} Option */

/** Choices that are shown without being folded away, and at once. */
const FEW = 12;
const SHOWN = 100;

/** @param {{ options: Option[], chosen: Set<string>, cut?: boolean, children: (one: Option) => import("preact").ComponentChildren }} props
 *   `cut`: there are more than the options */
export function Many({ options, chosen, cut, children }) {
  const [typed, setTyped] = useState("");
  if (options.length <= FEW) return html`<div class="choices">${options.map(children)}</div>`;
  const part = typed.trim().toLowerCase();
  const fit = options.filter(({ words }) => words.toLowerCase().includes(part));
  // What is chosen is always among them.
  const shown = fit.filter((one, at) => at < SHOWN || chosen.has(one.value));
  return html`<details><summary>${text.form.chosen(chosen.size, options.length)}</summary><div class="stack tight">
    <input type="search" aria-label=${text.form.search} placeholder=${text.form.search} autocomplete="off" value=${typed}
      onInput=${(/** @type {any} */ event) => setTyped(event.target.value)}
      onKeyDown=${(/** @type {KeyboardEvent} */ event) => event.key === "Enter" && event.preventDefault()} />
    <div class="choices">${shown.map(children)}</div>
    <p class="muted small" role="status">${
      !fit.length
        ? text.palette.nothing
        : shown.length < fit.length && text.form.further(count(fit.length - shown.length))
    } ${cut && text.form.cut(count(options.length))}</p></div></details>`;
}
