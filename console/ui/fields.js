// One control for each kind of member that the document knows, with its label, its hint and its errors.

import { count, label } from "../format.js";
import { text } from "../text.js";
import { html, useId } from "./base.js";
import { useIds } from "./controls.js";
import { Listen } from "./listen.js";
import { Items, Variables, Variants } from "./lists.js";
import { Many } from "./many.js";
import { Picker } from "./picker.js";
import { useOptions } from "./references.js";

/** What every control gets.
 * @typedef {object} Control
 * @property {import("../schema.js").Field} field
 * @property {any} value
 * @property {string} path dotted name, as errors have it
 * @property {(path: string, value: any) => void} set
 * @property {Record<string, string[]>} errors
 * @property {Record<string, any>} values of the whole form
 * @property {import("../checks.js").Narrow} [narrow] what rules between members ask
 * @property {boolean} [bare] no label of its own */

/** Words of a hint; what stands in backticks is code. @param {{ words: string }} props */
export function Hint({ words }) {
  return words.split("`").map((part, at) => (at % 2 ? html`<code key=${at}>${part}</code>` : part));
}

/** @param {Control} props */
export function FieldOf(props) {
  const { field } = props;
  switch (field.kind) {
    case "boolean":
      return html`<${Switch} ...${props} />`;
    case "record":
      return html`<${Group} ...${props}><div class="item"><${Fields} fields=${field.fields}
        values=${props.value ?? {}} path=${`${props.path}.`} set=${props.set}
        errors=${props.errors} whole=${props.values} /></div><//>`;
    case "list":
      return field.item?.kind === "record" || field.item?.kind === "text" || field.item?.kind === "long"
        ? html`<${Group} ...${props}><${Items} ...${props} /><//>`
        : html`<${Several} ...${props} />`;
    case "choices":
      return html`<${Several} ...${props} />`;
    case "variants":
      return html`<${Group} ...${props}><${Variants} ...${props} /><//>`;
    case "variables":
      return html`<${Group} ...${props}><${Variables} ...${props} /><//>`;
    default:
      return html`<${Single} ...${props} />`;
  }
}

const WIDE = new Set(["long", "record", "list", "choices", "variants", "variables", "json"]);

/** Members side by side. @param {{ fields: import("../schema.js").Field[], values: Record<string, any>, path?: string, set: Control["set"], errors: Control["errors"], whole?: Record<string, any>, narrow?: Record<string, import("../checks.js").Narrow> }} props */
export function Fields({ fields, values, path = "", set, errors, whole = values, narrow = {} }) {
  return html`<div class="grid-2">${fields.map(
    (field) => html`<div class=${WIDE.has(field.kind) ? "wide" : undefined} key=${field.name}>
    <${FieldOf} field=${field} value=${values[field.name]} path=${path + field.name} set=${set} errors=${errors}
      values=${whole} narrow=${narrow[field.name]} />
  </div>`,
  )}</div>`;
}

/** The ids of what describes a control: its hint, where it has one, and its errors. @param {string} id
 * @param {string[] | undefined} errors @param {string | false} [hint] */
const describing = (id, errors, hint) =>
  [hint && `${id}-hint`, errors?.length && `${id}-wrong`].filter(Boolean).join(" ") || undefined;

/** @param {{ path: string, errors: Record<string, string[]> }} props */
export function Wrong({ path, errors }) {
  const id = useIds()(path);
  return errors[path]?.length ? html`<p class="wrong" id=${`${id}-wrong`}>${errors[path].join(" ")}</p>` : null;
}

/** @param {Control & { children: import("preact").ComponentChildren }} props */
function Group({ field, path, errors, children, bare }) {
  const id = useIds()(path);
  return html`<fieldset class="field" id=${id} tabindex="-1"
    aria-describedby=${describing(id, errors[path], field.hint)}>
    <legend class=${bare ? "visually-hidden" : undefined}>${label(field.name)}</legend>
    ${field.hint && html`<p class="hint" id=${`${id}-hint`}><${Hint} words=${field.hint} /></p>`}
    ${children}<${Wrong} path=${path} errors=${errors} />
  </fieldset>`;
}

/** @param {Control} props */
function Switch({ field, value, path, set, errors, narrow }) {
  const fixed = narrow?.allowed?.length === 1;
  const id = useIds()(path);
  return html`<div class="field"><div class="choice">
    <input type="checkbox" id=${id} checked=${fixed ? narrow?.allowed?.[0] === true : Boolean(value)} disabled=${fixed}
      aria-describedby=${describing(id, errors[path], field.hint)} aria-invalid=${errors[path] ? "true" : undefined}
      onChange=${(/** @type {any} */ event) => set(path, event.target.checked)} />
    <label for=${id}>${label(field.name)}</label></div>
    <p class="hint" id=${`${id}-hint`}><${Hint} words=${field.hint} /></p>
    ${fixed && html`<p class="rule">${text.form.fixed}</p>`}<${Wrong} path=${path} errors=${errors} /></div>`;
}

/** Larger bounds are nobody's concern. */
const BOUND = 1_000_000;

/** Which numbers a field takes. @param {import("../schema.js").Field} field */
function range({ kind, min, max }) {
  if (kind !== "number" || min === undefined || max === undefined || max > BOUND) return "";
  return text.form.range(count(min), count(max));
}

/** @param {Control} props */
function Single(props) {
  const { field, path, errors, narrow, bare } = props;
  const id = useIds()(path);
  const required = field.required || narrow?.required;
  const allowed = narrow?.allowed;
  const hint = [field.hint, range(field)].filter(Boolean).join(" ");
  const described = describing(id, errors[path], hint);
  return html`<div class="field">
    <label for=${id} class=${bare ? "visually-hidden" : undefined}>${label(field.name)} ${
      required &&
      html`<span
      class="optional">${text.form.needed}</span>`
    }</label>
    <${Input} ...${props} id=${id} required=${required} described=${described} />
    ${hint && html`<p class=${bare ? "visually-hidden" : "hint"} id=${`${id}-hint`}><${Hint} words=${hint} /></p>`}
    ${allowed && html`<p class="rule">${text.form.only(allowed.map((one) => text.states[one] ?? String(one)))}</p>`}
    <${Wrong} path=${path} errors=${errors} />
  </div>`;
}

/** @param {Control & { id: string, required: boolean, described?: string }} props */
function Input({ field, value, path, set, errors, values, narrow, id, required, described }) {
  const found = useOptions(field.name, values);
  const common = {
    id,
    "aria-required": required ? "true" : undefined,
    "aria-invalid": errors[path] ? "true" : undefined,
    "aria-describedby": described,
    onInput: (/** @type {any} */ event) => set(path, event.target.value),
  };
  if (found?.more) {
    const { onInput, ...control } = common;
    return html`<${Picker} name=${field.name} values=${values} value=${value} known=${found.options}
      pick=${(/** @type {string} */ one) => set(path, one)} control=${control} />`;
  }
  // What cannot be null keeps a value once it has one.
  const stays = !field.nullable && value !== undefined && value !== null && value !== "";
  if (found) {
    const heard = found.options.find((one) => one.sample && one.value === String(value));
    const choice = html`<${Choice} ...${common} value=${value} required=${required || stays} options=${found.options}
      loaded=${found.loaded} />`;
    return found.audible
      ? html`<div class="heard">${choice}${heard && html`<${Listen} url=${heard.sample} name=${heard.words} />`}</div>`
      : choice;
  }
  if (field.choices) {
    const options = field.choices.map((one) => ({
      value: one,
      words: text.states[one] ?? one,
      off: narrow?.allowed && !narrow.allowed.includes(one),
    }));
    return html`<${Choice} ...${common} value=${value} required=${required || stays || field.standard !== undefined}
      options=${options} loaded />`;
  }
  if (field.kind === "long" || field.kind === "json") {
    return html`<textarea ...${common} class=${field.kind === "json" ? "mono" : undefined}
      rows=${(field.max ?? 0) > 10_000 ? 14 : (field.max ?? 0) > 2_048 ? 4 : 2} spellcheck=${field.kind === "long"}
      value=${value ?? ""}></textarea>`;
  }
  if (field.kind === "number") {
    return html`<input ...${common} type="text" inputmode=${field.integer ? "numeric" : "decimal"}
      value=${value ?? ""} />`;
  }
  if (field.kind === "file") {
    const { onInput, ...control } = common;
    return html`<input ...${control} type="file" accept=${field.accept}
      onChange=${(/** @type {any} */ event) => set(path, event.target.files[0] ?? "")} />`;
  }
  if (field.name === "timezone") return html`<${Zone} common=${common} value=${value ?? ""} />`;
  const type = field.kind === "secret" ? "password" : /(^|_)email$/.test(field.name) ? "email" : "text";
  return html`<input ...${common} type=${type} autocomplete=${field.kind === "secret" ? "new-password" : "off"}
    value=${value ?? ""} />`;
}

/** @param {any} props */
function Choice({ value, required, options, loaded, ...common }) {
  const known = !value || options.some((/** @type {any} */ one) => one.value === String(value));
  return html`<select ...${common} value=${value ?? ""}>
    ${(!required || !value) && html`<option value="">${required ? text.form.choose : text.form.none}</option>`}
    ${!known && html`<option value=${value}>${loaded ? text.form.other(value) : "…"}</option>`}
    ${options.map(
      (/** @type {any} */ one) => html`<option key=${one.value} value=${one.value}
      disabled=${one.off} selected=${one.value === String(value)}>${one.words}</option>`,
    )}
  </select>`;
}

/** @type {string[] | null} */
let zones = null;

/** @param {{ common: any, value: string }} props */
function Zone({ common, value }) {
  const list = useId();
  zones ??= ["Etc/UTC", ...Intl.supportedValuesOf("timeZone").filter((one) => one.includes("/"))];
  return html`<input ...${common} type="text" list=${list} value=${value} autocomplete="off" spellcheck=${false} />
    <datalist id=${list}>${zones.map((one) => html`<option value=${one}></option>`)}</datalist>`;
}

/** Several of a set: of the document's words, or of resources. @param {Control} props */
function Several({ field, value, path, set, errors, values }) {
  const found = useOptions(field.name, values);
  const options =
    found?.options ?? (field.choices ?? []).map((one) => ({ value: one, words: text.states[one] ?? one }));
  const number = !field.choices;
  const chosen = new Set((value ?? []).map(String));
  const id = useIds()(path);
  const turn = (/** @type {string} */ one, /** @type {boolean} */ on) => {
    const kept = (value ?? []).filter((/** @type {any} */ held) => String(held) !== one);
    const next = on ? [...kept, number ? Number(one) : one] : kept;
    set(path, field.choices ? field.choices.filter((choice) => next.includes(choice)) : next);
  };
  return html`<fieldset class="field" id=${id} tabindex="-1" aria-describedby=${describing(id, errors[path], field.hint)}>
    <legend>${label(field.name)}</legend>
    <p class="hint" id=${`${id}-hint`}><${Hint} words=${field.hint} /></p>
    ${found?.loaded && !options.length && html`<p class="muted small">${text.form.nothing}</p>`}
    <${Many} options=${options} chosen=${chosen} cut=${found?.cut}>${(/** @type {any} */ one) => html`<div
      class="choice" key=${one.value}><input type="checkbox" id=${`${id}-${one.value}`} checked=${chosen.has(one.value)}
        onChange=${(/** @type {any} */ event) => turn(one.value, event.target.checked)} />
      <label for=${`${id}-${one.value}`}>${one.words}</label></div>`}<//>
    <${Wrong} path=${path} errors=${errors} />
  </fieldset>`;
}
