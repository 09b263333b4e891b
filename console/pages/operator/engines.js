// Engines that are attached, and the tokens that they attach with.

import { post, remove } from "../../api.js";
import { count, percent } from "../../format.js";
import { text } from "../../text.js";
import { html, useState } from "../../ui/base.js";
import { confirm, Dialog } from "../../ui/dialog.js";
import { SchemaForm } from "../../ui/form.js";
import { Await, Badge, Copy, Empty, Head, Notice, Panel, Time } from "../../ui/parts.js";
import { useAction, useEvery, useGet } from "../../ui/resource.js";
import { Table } from "../../ui/table.js";

export default function Engines() {
  const list = useGet("/admin/engines");
  useEvery(list.reload, 4_000);
  const [drain, busy] = useAction(async (/** @type {any} */ row) => {
    const title = `${text.operator.drain}: ${row.name}`;
    if (!row.draining && !(await confirm({ title, words: text.operator.drainEngine, verb: text.operator.drain })))
      return undefined;
    const { message } = await post(`/admin/engines/${row.id}/drain`, { drain: !row.draining });
    await list.reload();
    return message;
  });
  return html`<${Head} title=${text.operator.engines} />
    <section class="panel" aria-label=${text.operator.engines}><${Await}
      of=${list}>${(/** @type {any} */ { data }) => html`<${Table} label=${text.operator.engines}
      columns=${columns(drain, busy)} rows=${data} empty=${html`<${Empty} title=${text.operator.noEngines}
      words=${text.operator.noEnginesWords} />`} />`}<//></section>
    <${Tokens} />`;
}

/** @param {(row: any) => void} drain @param {boolean} busy @returns {import("../../ui/table.js").Column[]} */
const columns = (drain, busy) => [
  {
    name: text.operator.name,
    cell: (row) =>
      html`<strong>${row.name}</strong> ${
        row.draining &&
        html`<${Badge} state="draining"
        words=${text.operator.draining} />`
      }`,
    clip: true,
  },
  { name: text.operator.version, cell: (row) => row.version ?? "–" },
  { name: text.operator.host, cell: (row) => row.host ?? "–" },
  { name: text.operator.legs, cell: (row) => row.legs.join(", ") || "–" },
  { name: text.operator.calls, cell: (row) => `${count(row.running)} / ${count(row.capacity)}`, number: true },
  { name: text.operator.load, cell: (row) => (row.load === null ? "–" : percent(row.load, 1)), number: true },
  { name: text.operator.seen, cell: (row) => html`<${Time} at=${row.seen_at} />` },
  {
    name: "",
    cell: (row) =>
      html`<button type="button" disabled=${busy}
        aria-label=${`${row.draining ? text.operator.undrain : text.operator.drain}: ${row.name}`}
        onClick=${() => drain(row)}>${row.draining ? text.operator.undrain : text.operator.drain}</button>`,
  },
];

function Tokens() {
  const list = useGet("/admin/engine-tokens");
  const [adding, setAdding] = useState(false);
  const [token, setToken] = useState(/** @type {string | null} */ (null));
  const close = () => (setAdding(false), setToken(null));
  const save = async (/** @type {any} */ body) => {
    setToken((await post("/admin/engine-tokens", body)).token);
    await list.reload();
  };
  const [drop] = useAction(async (/** @type {any} */ row) => {
    if (!(await confirm({ title: text.keys.erase(row.name), words: text.keys.eraseWords, verb: text.erase })))
      return undefined;
    const { message } = await remove(`/admin/engine-tokens/${row.id}`);
    await list.reload();
    return message;
  });
  return html`<${Panel} title=${text.operator.tokens} flush actions=${html`<button type="button"
    onClick=${() => setAdding(true)}>${text.operator.newToken}</button>`}>
    <${Await} of=${list}>${(/** @type {any} */ { data }) =>
      html`<${Table} label=${text.operator.tokens} rows=${data} empty=${html`<p
        class="loading">${text.operator.noEnginesWords}</p>`} columns=${[
        { name: text.operator.name, cell: (/** @type {any} */ row) => row.name, clip: true },
        { name: text.operator.telephony, cell: (/** @type {any} */ row) => (row.telephony ? text.yes : text.no) },
        {
          name: text.operator.created,
          cell: (/** @type {any} */ row) => html`<${Time} at=${row.created_at} />`,
        },
        {
          name: "",
          cell: (/** @type {any} */ row) =>
            html`<button type="button" class="quiet danger" aria-label=${`${text.erase}: ${row.name}`}
              onClick=${() => drop(row)}>${text.erase}</button>`,
        },
      ]} />`}<//><//>
    ${
      adding &&
      html`<${Dialog} title=${text.operator.newToken} once=${token !== null} close=${close}>${
        token
          ? html`<${Notice} tone="warn"
      role="alert">${text.keys.once}<//><${Copy} value=${token} name=${text.keys.token} /><div class="row"><button
      type="button" onClick=${close}>${text.close}</button></div>`
          : html`<${SchemaForm} schema="NewEngineToken"
      save=${save} verb=${text.operator.newToken} cancel=${close} />`
      }<//>`
    }`;
}
