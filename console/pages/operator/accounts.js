// Accounts that the operator hosts, and the way to a new one.

import { create } from "../../api.js";
import { money } from "../../format.js";
import { route, to } from "../../router.js";
import { text } from "../../text.js";
import { html, useState } from "../../ui/base.js";
import { Dialog } from "../../ui/dialog.js";
import { SchemaForm } from "../../ui/form.js";
import { Await, Badge, Copy, Empty, Facts, Head, Notice, Time } from "../../ui/parts.js";
import { useGet } from "../../ui/resource.js";
import { Pager, Table } from "../../ui/table.js";

export default function Accounts() {
  const list = useGet("/admin/accounts", { page: route.value.query.page, per_page: 25 });
  const [adding, setAdding] = useState(false);
  const [made, setMade] = useState(/** @type {any} */ (null));
  const close = () => (setAdding(false), setMade(null));
  const save = async (/** @type {any} */ body) => {
    setMade(await create("/admin/accounts", body));
    await list.reload();
  };
  return html`<${Head} title=${text.operator.accounts}><button type="button" class="primary"
    onClick=${() => setAdding(true)}>${text.operator.newAccount}</button><//>
    <section class="panel" aria-label=${text.operator.accounts}><${Await}
      of=${list}>${(/** @type {any} */ page) => html`<${Table} label=${text.operator.accounts} columns=${columns()}
      rows=${page.data} href=${(/** @type {any} */ row) => to(`/operator/accounts/${row.id}`)} empty=${html`<${Empty}
      title=${text.operator.accounts} words="" />`} /><${Pager} of=${page} />`}<//></section>
    ${
      adding &&
      html`<${Dialog} title=${text.operator.newAccount} kind="broad" once=${made !== null} close=${close}>${
        made
          ? html`<${Made}
      of=${made} close=${close} />`
          : html`<${SchemaForm} schema="NewAccount" draft="account" save=${save}
      verb=${text.operator.create} cancel=${close} />`
      }<//>`
    }`;
}

/** @param {{ of: any, close: () => void }} props */
const Made = ({ of, close }) => html`<${Notice} tone="warn" role="alert">${text.operator.made}<//>
  <${Facts} of=${[
    [
      text.operator.email,
      html`<${Copy} value=${of.email}
    name=${text.operator.email} />`,
    ],
    of.password && [
      text.operator.password,
      html`<${Copy} value=${of.password}
    name=${text.operator.password} />`,
    ],
    [
      text.operator.firstKey,
      html`<${Copy} value=${of.api_key}
    name=${text.operator.firstKey} />`,
    ],
  ]} />
  <div class="row"><a class="button" href=${to(`/operator/accounts/${of.id}`)}>${text.operator.openAccount}</a><button type="button"
    onClick=${close}>${text.close}</button></div>`;

/** @returns {import("../../ui/table.js").Column[]} */
const columns = () => [
  { name: text.operator.name, cell: (row) => row.name, clip: true },
  { name: text.operator.email, cell: (row) => row.email, clip: true },
  { name: text.operator.state, cell: (row) => html`<${Badge} state=${row.status} />` },
  { name: text.operator.plan, cell: (row) => row.plan },
  {
    name: text.operator.balance,
    cell: (row) => (row.balance === null ? text.operator.unmetered : money(row.balance)),
    number: true,
  },
  { name: text.operator.created, cell: (row) => html`<${Time} at=${row.created_at} />` },
];
