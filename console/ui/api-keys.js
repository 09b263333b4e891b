// API keys of an account: by the account itself and by the operator.

import { post, remove } from "../api.js";
import { text } from "../text.js";
import { html, useState } from "./base.js";
import { confirm, Dialog } from "./dialog.js";
import { SchemaForm } from "./form.js";
import { Await, Badge, Copy, Empty, Notice, Time } from "./parts.js";
import { useAction, useGet } from "./resource.js";
import { Table } from "./table.js";

/** @param {{ path: string, title: string }} props */
export function ApiKeys({ path, title }) {
  const list = useGet(path);
  const [adding, setAdding] = useState(false);
  const [token, setToken] = useState(/** @type {string | null} */ (null));
  const close = () => (setAdding(false), setToken(null));
  const save = async (/** @type {any} */ body) => {
    setToken((await post(path, body)).api_key.token);
    await list.reload();
  };
  const [drop] = useAction(async (/** @type {any} */ row) => {
    if (!(await confirm({ title: text.keys.erase(row.name), words: text.keys.eraseWords, verb: text.erase })))
      return undefined;
    const { message } = await remove(`${path}/${row.id}`);
    await list.reload();
    return message;
  });
  return html`<section class="panel" aria-label=${title}><header><h2>${title}</h2><button type="button" class="primary"
    onClick=${() => setAdding(true)}>${text.keys.new}</button></header>
    <${Await} of=${list}>${(/** @type {any} */ { api_keys: rows }) => html`<${Table} label=${title} rows=${rows}
      columns=${columns(drop)} empty=${html`<${Empty} title=${text.keys.none}
      words=${text.keys.noneWords} />`} />`}<//></section>
    ${
      adding &&
      html`<${Dialog} title=${text.keys.new} once=${token !== null} close=${close}>${
        token
          ? html`<${Notice} tone="warn"
      role="alert">${text.keys.once}<//><${Copy} value=${token} name=${text.keys.token} /><div class="row"><button
      type="button" onClick=${close}>${text.close}</button></div>`
          : html`<${SchemaForm} schema="NewKey" save=${save}
      verb=${text.keys.create} cancel=${close} />`
      }<//>`
    }`;
}

/** @param {(row: any) => void} drop @returns {import("./table.js").Column[]} */
const columns = (drop) => [
  { name: text.keys.name, cell: (row) => row.name, clip: true },
  {
    name: text.keys.scope,
    cell: (row) =>
      html`<${Badge} state="" tone="plain" words=${row.read_only ? text.keys.readOnly : text.keys.readWrite} />`,
  },
  {
    name: text.keys.used,
    cell: (row) => (row.last_used_at ? html`<${Time} at=${row.last_used_at} />` : text.keys.never),
  },
  { name: text.keys.created, cell: (row) => html`<${Time} at=${row.created_at} />` },
  {
    name: text.keys.expires,
    cell: (row) => (row.expires_at ? html`<${Time} at=${row.expires_at} />` : text.keys.never),
  },
  {
    name: "",
    cell: (row) =>
      html`<button type="button" class="quiet danger" aria-label=${`${text.erase}: ${row.name}`}
        onClick=${() => drop(row)}>${text.erase}</button>`,
  },
];
