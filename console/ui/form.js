// A form made of the document: its members in sections, the rules between them, what the service says beside each field,
// and a draft of what was typed.

import { ApiError } from "../api.js";
import { check, narrowed } from "../checks.js";
import { label } from "../format.js";
import { body, changes, form, initial, same } from "../schema.js";
import { text } from "../text.js";
import { html, useContext, useEffect, useLayoutEffect, useMemo, useRef, useState } from "./base.js";
import { Ids, place, useIds } from "./controls.js";
import { drafted, forget, keep, keyOf } from "./drafts.js";
import { Fields } from "./fields.js";
import { Notice, Panel } from "./parts.js";
import { useValues } from "./values.js";

/** @typedef {{ title: string, words?: string, has: (name: string) => boolean }} Section */
/** @typedef {object} FormProps
 * @property {string | import("../schema.js").Form} schema name of the body in the document; or the form itself, of what is
 *   not sent as JSON
 * @property {any} [stored] the row that is changed; none: one is made
 * @property {(body: any) => Promise<void>} save is given all members, or those that changed
 * @property {string} verb what the button says
 * @property {string} [draft] name under which what was typed is kept
 * @property {(name: string, values: Record<string, any>) => boolean} [show] which members the form has, as it stands
 * @property {(name: string) => number} [order] where a member stands among the others
 * @property {Section[] | ((values: Record<string, any>) => Section[])} [sections] a panel each; what none has goes into the last
 *   (or what they are, as the form stands)
 * @property {Record<string, any>} [preset] values that a new row starts with
 * @property {() => void} [cancel]
 * @property {string} [ids] what the ids of its controls begin with, where another form stands beside it
 * @property {(values: Record<string, any>) => void} [watch] is told of every change
 * @property {boolean} [bar] the button stays in view */

/** @param {FormProps} props */
export function SchemaForm(props) {
  const { schema, stored, show = () => true, order, sections, preset, watch } = props;
  const draft = useMemo(() => props.draft && keyOf(props.draft), [props.draft]);
  const whole = useMemo(() => {
    const { fields, rules } = typeof schema === "string" ? form(schema) : schema;
    return { fields: order ? [...fields].sort((a, b) => order(a.name) - order(b.name)) : fields, rules };
  }, [schema]);
  const start = useSame(initial(whole.fields, stored ?? preset));
  const found = useMemo(() => (draft ? drafted(draft, start) : null), []);
  const held = useValues(found?.values ?? start, start, stored);
  const { values, setValues } = held;
  const [restored, setRestored] = useState(found?.lacks || !same(values, start));
  const [errors, setErrors] = useState(/** @type {Record<string, string[]>} */ ({}));
  const asked = { fields: whole.fields.filter(({ name }) => show(name, values)), rules: whole.rules };
  const dirty = !same(values, start);
  const kept = useDraft(draft, values, dirty, held.sent);
  useEffect(() => watch?.(values), [values]);
  const set = (/** @type {string} */ path, /** @type {any} */ value) => {
    setValues((/** @type {any} */ now) => changed(now, path.split("."), value));
    if (errors[path]) setErrors(({ [path]: _, ...rest }) => rest);
  };
  const discard = () => {
    if (draft) forget(draft);
    held.rest();
    setValues(start);
    setErrors({});
    setRestored(false);
  };
  const [submit, busy, failure] = useSubmit({
    ...props,
    asked,
    start,
    values,
    setErrors,
    send: held.send,
    refused: () => (held.rest(), kept.write()),
    saved: () => (kept.settle(stored ? values : null), held.saved(), setRestored(false)),
  });
  const narrow = narrowed(asked.rules, values);
  const parts = partsOf(asked.fields, typeof sections === "function" ? sections(values) : sections);
  const around = useContext(Ids);
  return html`<${Ids.Provider} value=${props.ids ?? around}><form class="stack" noValidate onSubmit=${submit} aria-label=${props.verb}>
    ${
      restored &&
      html`<${Notice} tone="warn" role="status">${text.form.restored} ${found?.lacks && text.form.lacks} <button type="button" class="link"
      onClick=${discard}>${text.form.discard}</button><//>`
    }
    <${Summary} failure=${failure} errors=${errors} values=${values} />
    ${
      parts.length > 4 &&
      html`<nav class="jump small"
      aria-label=${text.form.sections}>${parts.map(
        ({ title }) => html`<button type="button" class="quiet" key=${title}
      onClick=${() => reachPart(title)}>${title}</button>`,
      )}</nav>`
    }
    ${parts.map(({ title, words, fields }) => {
      const inner = html`${words && html`<p class="rule">${words}</p>`}<${Fields} fields=${fields} values=${values}
        set=${set} errors=${errors} narrow=${narrow} />`;
      return title ? html`<${Panel} key=${title} title=${title}>${inner}<//>` : inner;
    })}
    <${Buttons} ...${props} busy=${busy} dirty=${dirty} discard=${discard} />
  </form><//>`;
}

/** The same object as long as it holds the same. @template T @param {T} value @returns {T} */
function useSame(value) {
  const held = useRef(value);
  if (!same(held.current, value)) held.current = value;
  return held.current;
}

/** Keeps what was typed: a moment after it was, and when the form or the whole page goes, but not once it was sent and the
 * form is gone. @param {string | undefined} name @param {Record<string, any>} values @param {boolean} dirty
 * @param {() => Record<string, any> | undefined} sent what is being saved */
function useDraft(name, values, dirty, sent) {
  const now = useRef({ values, dirty, saved: /** @type {any} */ (null) });
  Object.assign(now.current, { values, dirty });
  const write = () => {
    if (!name || now.current.saved === now.current.values) return;
    if (now.current.dirty) keep(name, now.current.values);
    else forget(name);
  };
  useEffect(() => {
    const timer = setTimeout(write, 300);
    return () => clearTimeout(timer);
  }, [values]);
  useEffect(() => {
    addEventListener("pagehide", write);
    return () => {
      removeEventListener("pagehide", write);
      if (sent() !== now.current.values) write();
      else if (name) forget(name);
    };
  }, []);
  return {
    write,
    /** These were saved; null: whatever there is was, since it made something. @param {Record<string, any> | null} saved */
    settle(saved) {
      now.current.saved = saved ?? now.current.values;
      if (name && now.current.values === now.current.saved) forget(name);
    },
  };
}

/** @param {FormProps & { busy: boolean, dirty: boolean, discard: () => void }} props */
function Buttons({ bar, stored, verb, busy, dirty, discard, cancel }) {
  return html`<div class=${bar ? "savebar" : "row"}>
    <button type="submit" class="primary"
      disabled=${busy || (stored && !dirty)}>${busy ? text.form.saving : verb}</button>
    ${stored && dirty && html`<button type="button" onClick=${discard}>${text.form.discard}</button>`}
    ${cancel && html`<button type="button" onClick=${cancel}>${text.cancel}</button>`}
    ${
      bar &&
      html`<span class="muted small"
      role="status">${dirty ? text.form.unsaved : stored ? text.form.clean : ""}</span>`
    }
  </div>`;
}

/** @param {FormProps & { asked: import("../schema.js").Form, start: any, values: any, setErrors: (errors: Record<string, string[]>) => void, send: () => void, refused: () => void, saved: () => void }} props
 * @returns {[(event: Event) => Promise<void>, boolean, Failure | null]} */
function useSubmit({ asked, start, values, stored, save, setErrors, send, refused, saved }) {
  const [busy, setBusy] = useState(false);
  const [failure, setFailure] = useState(/** @type {Failure | null} */ (null));
  const refuse = (/** @type {Failure} */ why, /** @type {Record<string, string[]>} */ errors) => {
    setFailure(why);
    setErrors(errors);
  };
  return [
    async (event) => {
      event.preventDefault();
      if (busy) return;
      const wrong = check(asked, values);
      const of = { values, isStill: place() };
      if (Object.keys(wrong).length) return refuse({ ...of, message: text.form.wrong }, wrong);
      setBusy(true);
      setFailure(null);
      setErrors({});
      send();
      try {
        await save(stored ? changes(asked.fields, start, values) : body(asked.fields, values));
        saved();
      } catch (error) {
        refused();
        const { message } = /** @type {Error} */ (error);
        refuse({ ...of, message }, error instanceof ApiError ? error.errors : {});
      } finally {
        setBusy(false);
      }
    },
    busy,
    failure,
  ];
}

/** Why nothing was saved, of which values, and whether the focus is still where it was. Each try has its own.
 * @typedef {{ message: string, values: Record<string, any>, isStill: () => boolean }} Failure */

/** Takes the focus with each failure, but from nobody who goes on to type.
 * @param {{ failure: Failure | null, errors: Record<string, string[]>, values: Record<string, any> }} props */
function Summary({ failure, errors, values }) {
  const [idOf, box] = [useIds(), useRef(/** @type {HTMLElement | null} */ (null))];
  useLayoutEffect(() => {
    if (failure?.values === values && failure.isStill()) box.current?.focus();
  }, [failure]);
  const all = Object.entries(errors);
  if (!failure) return null;
  return html`<div class="notice bad" role="alert" tabindex="-1" data-summary ref=${box}>${failure.message}
    ${
      all.length > 0 &&
      html`<ul>${all.map(
        ([path, sentences]) =>
          html`<li key=${path}><a href=${`#${idOf(path)}`} onClick=${(/** @type {Event} */ event) => {
            event.preventDefault();
            reach(path, idOf);
          }}>${label(path.split(".")[0])}</a>: ${sentences.join(" ")}</li>`,
      )}</ul>`
    }
  </div>`;
}

/** Goes to the control of an error, or to the nearest one that holds it. @param {string} path
 * @param {(path: string) => string} idOf */
function reach(path, idOf) {
  for (let parts = path.split("."); parts.length; parts = parts.slice(0, -1)) {
    const control = document.getElementById(idOf(parts.join(".")));
    if (control) {
      control.closest("details")?.setAttribute("open", "");
      return control.focus();
    }
  }
}

/** Goes to a section. @param {string} title */
function reachPart(title) {
  const panel = [...document.querySelectorAll("form .panel")].find((one) => one.getAttribute("aria-label") === title);
  panel?.scrollIntoView();
  panel?.querySelector("h2")?.setAttribute("tabindex", "-1");
  panel?.querySelector("h2")?.focus({ preventScroll: true });
}

/** @param {import("../schema.js").Field[]} fields @param {Section[]} [sections] */
function partsOf(fields, sections) {
  if (!sections) return [{ title: "", words: "", fields }];
  const left = new Set(fields);
  const parts = sections.map((section, at) => {
    const own = [...left].filter(({ name }) => at === sections.length - 1 || section.has(name));
    for (const one of own) left.delete(one);
    return { ...section, fields: own };
  });
  return parts.filter((part) => part.fields.length);
}

/** A copy with one value changed, deep inside. @param {any} now @param {string[]} path @param {any} value @returns {any} */
function changed(now, [head, ...rest], value) {
  const next = rest.length ? changed(now?.[head] ?? {}, rest, value) : value;
  if (Array.isArray(now)) return now.map((one, at) => (String(at) === head ? next : one));
  return { ...now, [head]: next };
}
