// One tool: its form, and a real request with arguments of one's choice.

import { patch, post, remove } from "../api.js";
import { span } from "../format.js";
import { go, to } from "../router.js";
import { text } from "../text.js";
import { html, useState } from "../ui/base.js";
import { confirm } from "../ui/dialog.js";
import { Hint } from "../ui/fields.js";
import { Await, Badge, Copy, Failure, Head, Json, Panel } from "../ui/parts.js";
import { SchemaForm } from "../ui/form.js";
import { useAction, useGet } from "../ui/resource.js";
import { toast } from "../ui/toast.js";

/** @param {{ params: { id: string } }} props */
export default function ToolPage({ params: { id } }) {
  const one = useGet(`/user/tools/${id}`);
  return html`<${Await} page of=${one}>${(/** @type {any} */ row) => html`<${One} row=${row} reload=${one.reload} />`}<//>`;
}

/** @param {{ row: any, reload: () => Promise<void> }} props */
function One({ row, reload }) {
  const save = async (/** @type {any} */ body) => {
    const { message } = await patch(`/user/tools/${row.id}`, body);
    await reload();
    toast(message);
  };
  const [erase, busy] = useAction(async () => {
    if (!(await confirm({ title: text.tools.erase, words: text.tools.eraseWords, name: row.name, verb: text.erase })))
      return undefined;
    const { message } = await remove(`/user/tools/${row.id}`);
    go(to("/tools"));
    return message;
  });
  return html`<${Head} title=${row.name} up=${["/tools", text.tools.title]} sub=${html`<code>${row.method}</code>
    <${Copy} value=${row.id} name=${text.tools.title} />`}><button type="button" class="danger" disabled=${busy}
    onClick=${erase}>${text.erase}</button><//>
    <div class="columns"><${Panel} title=${text.tools.settings}><${SchemaForm} schema="ToolChanges" stored=${row}
      draft=${`tool:${row.id}`} save=${save} verb=${text.save} /><//><${Test} row=${row} /></div>`;
}

/** An argument as its type wants it. @param {string} type @param {string} typed @returns {any} */
function argument(type, typed) {
  if (type === "number" && typed.trim() !== "" && Number.isFinite(Number(typed))) return Number(typed);
  if (type === "boolean" && /^(true|false)$/.test(typed)) return typed === "true";
  return typed;
}

/** A request as it goes over the line. @param {any} request */
function made({ method, url, headers, body }) {
  const lines = Object.entries(headers ?? {}).map(([name, value]) => `${name}: ${value}`);
  return [`${method} ${url}`, ...lines, ...(body ? ["", body] : [])].join("\n");
}

/** @param {{ row: any }} props */
function Test({ row }) {
  const [told, setTold] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const [run, busy] = useAction(async (/** @type {HTMLFormElement} */ form) => {
    const typed = new FormData(form);
    const given = row.schema
      .map((/** @type {any} */ one) => [one.name, argument(one.type, String(typed.get(one.name) ?? ""))])
      .filter((/** @type {[string, any]} */ [, value]) => value !== "");
    setTold(null);
    setError(null);
    await post(`/user/tools/${row.id}/test`, given.length ? { arguments: Object.fromEntries(given) } : {}).then(
      setTold,
      setError,
    );
  });
  return html`<${Panel} title=${text.tools.test}><p class="muted small">${text.tools.testWords}</p>
    <form class="stack" onSubmit=${(/** @type {any} */ event) => (event.preventDefault(), run(event.currentTarget))}>
      ${row.schema.map(
        (/** @type {any} */ one) => html`<label class="field" key=${one.name}><span><code>${one.name}</code> <span
          class="optional">${one.type}</span></span>
        ${
          one.type === "boolean"
            ? html`<select name=${one.name}><option value="">–</option><option
          value="true">${text.yes}</option><option value="false">${text.no}</option></select>`
            : html`<input
          name=${one.name} autocomplete="off" inputmode=${one.type === "number" ? "decimal" : undefined} />`
        }
        <span class="hint"><${Hint} words=${one.description} /></span></label>`,
      )}
      <div><button type="submit" class="primary"
        disabled=${busy}>${busy ? text.loading : text.tools.run}</button></div></form>
    ${error && html`<${Failure} error=${error} />`}
    ${
      told &&
      html`<div class="stack tight" role="status"><p class="row"><${Badge} state=${told.status < 400 ? "ok" : "failed"}
        words=${String(told.status)} /> <span class="muted">${text.tools.took(span(told.duration_ms))}</span></p>
      <details class="small"><summary>${text.tools.made}</summary><${Json} value=${made(told.request)}
        name=${text.tools.made} /></details>
      ${
        told.headers &&
        html`<details class="small"><summary>${text.tools.headers}</summary><${Json}
        value=${told.headers} name=${text.tools.headers} /></details>`
      }
      <h3>${text.tools.body}</h3><${Json} value=${told.body} name=${text.tools.body} /></div>`
    }<//>`;
}
