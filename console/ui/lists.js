// Members that hold several values: lists, built-in tools of several types, and variables by name.

import { label } from "../format.js";
import { initial } from "../schema.js";
import { text } from "../text.js";
import { html, useRef, useState } from "./base.js";
import { Typed, useFocus, useIds } from "./controls.js";
import { FieldOf, Fields } from "./fields.js";

/** @typedef {import("./fields.js").Control} Control */

/** @param {{ path: string, at: number, name: string, value: any[], set: Control["set"] }} props */
const Drop = ({ path, at, name, value, set }) =>
  html`<button type="button" class="quiet" aria-label=${text.form.drop(name, at + 1)} onClick=${() =>
    set(
      path,
      value.filter((_, other) => other !== at),
    )}>${text.remove}</button>`;

/** A list of texts or of records. @param {Control} props */
export function Items({ field, value, path, set, errors, values }) {
  const rows = value ?? [];
  const item = /** @type {import("../schema.js").Field} */ (field.item);
  const name = label(field.name);
  const [idOf, focus] = [useIds(), useFocus()];
  const add = () => {
    set(path, [...rows, item.kind === "record" ? initial(item.fields ?? [], {}) : ""]);
    focus(idOf(`${path}.${rows.length}${item.kind === "record" ? `.${item.fields?.[0]?.name}` : ""}`));
  };
  return html`<div class="stack tight">
    ${rows.map((/** @type {any} */ one, /** @type {number} */ at) =>
      item.kind === "record"
        ? html`<div class="item" role="group" aria-label=${`${name} ${at + 1}`} key=${at}>
          <${Fields} fields=${item.fields} values=${one} path=${`${path}.${at}.`} set=${set}
            errors=${errors} whole=${values} />
          <div><${Drop} path=${path} at=${at} name=${name} value=${rows} set=${set} /></div></div>`
        : html`<div class="row" key=${at}><div style=${{ flex: 1 }}>
          <${FieldOf} field=${{ ...item, name: `${field.name} ${at + 1}`, hint: "" }} bare
          value=${one} path=${`${path}.${at}`} set=${set} errors=${errors} values=${values} /></div>
          <${Drop} path=${path} at=${at} name=${name} value=${rows} set=${set} /></div>`,
    )}
    <div><button type="button" onClick=${add}>${text.form.add(name)}</button></div>
  </div>`;
}

/** Records of several types, such as built-in tools. @param {Control} props */
export function Variants({ field, value, path, set, errors, values }) {
  const rows = value ?? [];
  const kinds = field.variants ?? [];
  const adder = useRef(/** @type {HTMLSelectElement | null} */ (null));
  const [idOf, focus] = [useIds(), useFocus()];
  const add = () => {
    const kind = kinds.find(({ type }) => type === adder.current?.value) ?? kinds[0];
    set(path, [...rows, { type: kind.type, ...initial(kind.fields, {}) }]);
    focus(idOf(`${path}.${rows.length}.${kind.fields[0]?.name}`));
  };
  return html`<div class="stack tight">
    ${rows.map((/** @type {any} */ one, /** @type {number} */ at) => {
      const kind = kinds.find(({ type }) => type === one.type);
      return html`<div class="item" role="group" aria-label=${`${label(one.type)} ${at + 1}`} key=${at}>
        <div class="row spread"><strong>${label(one.type)}</strong><${Drop} path=${path} at=${at}
          name=${label(one.type)} value=${rows} set=${set} /></div>
        <p class="muted small">${kind?.hint}</p>
        <${Fields} fields=${kind?.fields ?? []} values=${one} path=${`${path}.${at}.`} set=${set}
          errors=${errors} whole=${{ ...values, ...one }} />
      </div>`;
    })}
    <div class="row"><label class="visually-hidden" for=${`${idOf(path)}-kind`}>${text.form.kind}</label>
      <select id=${`${idOf(path)}-kind`} ref=${adder}
        style=${{ width: "auto" }}>${kinds.map(
          ({ type }) => html`<option
        value=${type}>${label(type)}</option>`,
        )}</select>
      <button type="button" onClick=${add}>${text.form.addOne}</button></div>
  </div>`;
}

/** Variables by name. A value that is no text is written as JSON. @param {Control} props */
export function Variables({ field, value, path, set, errors }) {
  const entries = Object.entries(value ?? {});
  const name = label(field.name);
  const [idOf, focus] = [useIds(), useFocus()];
  const put = (/** @type {[string, any][]} */ next) => set(path, Object.fromEntries(next));
  const change = (/** @type {number} */ at, /** @type {[string, any]} */ entry) =>
    put(entries.map((one, other) => (other === at ? entry : one)));
  /** Names that were typed but are of others, by the name that stays so long. */
  const [wanted, setWanted] = useState(/** @type {Record<string, string>} */ ({}));
  const isTaken = (/** @type {string} */ wish, /** @type {string} */ key) =>
    wish !== key && Object.hasOwn(value ?? {}, wish);
  const rename = (/** @type {number} */ at, /** @type {string} */ key, /** @type {string} */ wish) => {
    setWanted(({ [key]: _, ...others }) => (isTaken(wish, key) ? { ...others, [key]: wish } : others));
    if (!isTaken(wish, key)) change(at, [wish, entries[at][1]]);
  };
  return html`<div class="stack tight">
    ${entries.map(([key, held], at) => {
      const clash = key in wanted && isTaken(wanted[key], key);
      const id = idOf(`${path}.${at}.name`);
      return html`<div class="row" key=${at}>
      <${Typed} aria-label=${text.form.variableName(at + 1)} class="mono" style=${{ flex: "1 1 9rem", width: "auto" }}
        value=${clash ? wanted[key] : key} id=${id} maxlength="64"
        aria-invalid=${clash ? "true" : undefined} aria-describedby=${clash ? `${id}-wrong` : undefined}
        change=${(/** @type {string} */ typed) => rename(at, key, typed.trim())} />
      <${Typed} aria-label=${text.form.variableValue(key)} style=${{ flex: "2 1 12rem", width: "auto" }}
        value=${typeof held === "string" ? held : JSON.stringify(held)} id=${idOf(`${path}.${key}`)}
        aria-invalid=${errors[`${path}.${key}`] ? "true" : undefined}
        change=${(/** @type {string} */ typed) => change(at, [key, typeof held === "string" ? typed : valueOf(typed)])} />
      <button type="button" class="quiet" aria-label=${text.form.dropVariable(key)}
        onClick=${() => put(entries.filter((_, other) => other !== at))}>${text.remove}</button>
      ${errors[`${path}.${key}`] && html`<p class="wrong">${errors[`${path}.${key}`].join(" ")}</p>`}
      ${clash && html`<p class="wrong" id=${`${id}-wrong`} role="alert">${text.form.taken(wanted[key], key)}</p>`}
    </div>`;
    })}
    <div><button type="button" onClick=${() => {
      put([...entries, [unused(entries), ""]]);
      focus(idOf(`${path}.${entries.length}.name`));
    }}>${text.form.add(name)}</button></div>
  </div>`;
}

/** @param {string} typed @returns {any} */
function valueOf(typed) {
  try {
    return JSON.parse(typed);
  } catch {
    return typed;
  }
}

/** A name that is free. @param {[string, any][]} entries */
function unused(entries) {
  for (let at = entries.length + 1; ; at += 1)
    if (!entries.some(([name]) => name === `variable_${at}`)) return `variable_${at}`;
}
