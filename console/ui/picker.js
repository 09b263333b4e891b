// A choice out of more than a list holds: type a part of the name, choose by arrow and Enter.

import { get } from "../api.js";
import { text } from "../text.js";
import { html, useEffect, useId, useState } from "./base.js";
import { optionsOf, SOURCES } from "./references.js";

/** @typedef {import("./references.js").Option} Option */

/** @param {{ name: string, values: Record<string, any>, value: any, known: Option[], pick: (value: string) => void, control?: Record<string, any> }} props
 *   `known`: choices whose words are known; `control`: further attributes of the input */
export function Picker({ name, values, value, known, pick, control = {} }) {
  const [typed, setTyped] = useState(/** @type {string | null} */ (null));
  const [at, setAt] = useState(0);
  const [chosen, setChosen] = useState(/** @type {Option | null} */ (null));
  const { of, options: found } = useFound(name, values, typed, known);
  const list = useId();
  const current =
    [chosen, ...known].find((one) => one?.value === String(value))?.words ??
    (value ? text.form.other(String(value)) : "");
  const take = (/** @type {Option | undefined} */ one) => {
    if (!one) return;
    setChosen(one);
    pick(one.value);
    setTyped(null);
  };
  const keys = (/** @type {KeyboardEvent} */ event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step)
      (event.preventDefault(),
        typed === null ? (setAt(0), setTyped("")) : found.length && setAt((at + step + found.length) % found.length));
    else if (event.key === "Enter" && typed !== null) {
      event.preventDefault();
      // What fitted an earlier text is not what is meant.
      if (of === typed) take(found[at]);
    } else if (event.key === "Escape" && typed !== null)
      (event.preventDefault(), event.stopPropagation(), setTyped(null));
  };
  const open = typed !== null;
  return html`<div class="picker">
    <input ...${control} type="text" role="combobox" aria-expanded=${open ? "true" : "false"} aria-controls=${list}
      aria-autocomplete="list" aria-activedescendant=${open && found.length ? `${list}-${at}` : undefined}
      autocomplete="off"
      placeholder=${text.form.search} value=${typed ?? current}
        onInput=${(/** @type {any} */ event) => (setAt(0), setTyped(event.target.value), event.target.value || pick(""))}
        onKeyDown=${keys} onBlur=${() => setTyped(null)} />
    <ul class="list" role="listbox" id=${list} aria-label=${text.form.choose} hidden=${!open}>
      ${found.map(
        (one, index) => html`<li role="option" id=${`${list}-${index}`} key=${one.value}
        aria-selected=${index === at ? "true" : "false"}
        onMouseDown=${(/** @type {Event} */ event) => (event.preventDefault(), take(one))}>${one.words}</li>`,
      )}
      ${
        !found.length &&
        html`<li role="option" aria-selected="false" aria-disabled="true"
        class="muted">${text.palette.nothing}</li>`
      }
    </ul></div>`;
}

/** Choices, and the text that they are of. @param {string} name @param {Record<string, any>} values @param {string | null} typed
 * @param {Option[]} known */
function useFound(name, values, typed, known) {
  const [found, setFound] = useState({ of: "", options: known.slice(0, 20) });
  useEffect(() => {
    if (!typed) return setFound({ of: "", options: known.slice(0, 20) });
    const stop = new AbortController();
    const source = SOURCES[name];
    const timer = setTimeout(() => {
      get(source.path, { ...source.query?.(values), search: typed, per_page: 20 }, stop.signal).then(
        ({ data }) => setFound({ of: typed, options: optionsOf(source, data) }),
        () => {},
      );
    }, 120);
    return () => (clearTimeout(timer), stop.abort());
  }, [typed, known]);
  return found;
}
