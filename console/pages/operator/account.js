// One account as the operator sees it: plan, balance, suspension, caller ids, keys, its end.

import { put, remove } from "../../api.js";
import { money } from "../../format.js";
import { go, to } from "../../router.js";
import { text } from "../../text.js";
import { html } from "../../ui/base.js";
import { ApiKeys } from "../../ui/api-keys.js";
import { confirm } from "../../ui/dialog.js";
import { SchemaForm } from "../../ui/form.js";
import { Await, Badge, Copy, Facts, Head, Panel, Time } from "../../ui/parts.js";
import { useAction, useGet } from "../../ui/resource.js";
import { toast } from "../../ui/toast.js";
import { CallerId } from "./caller-id.js";

/** @param {{ params: { id: string } }} props */
export default function OperatorAccount({ params: { id } }) {
  const one = useGet(`/admin/accounts/${id}`);
  return html`<${Await} page of=${one}>${(/** @type {any} */ row) => html`<${One} row=${row} reload=${one.reload} />`}<//>`;
}

/** @param {{ row: any, reload: () => Promise<void> }} props */
function One({ row, reload }) {
  const path = `/admin/accounts/${row.id}`;
  const save = async (/** @type {any} */ body) => {
    const { message } = await put(path, body);
    await reload();
    toast(message);
  };
  const [suspend, suspending] = useAction(async () => {
    if (
      !row.suspended &&
      !(await confirm({
        title: `${text.operator.suspend}: ${row.name}`,
        words: text.operator.suspendWords,
        verb: text.operator.suspend,
      }))
    )
      return undefined;
    const { message } = await put(path, { suspended: !row.suspended });
    await reload();
    return message;
  });
  const [erase, erasing] = useAction(async () => {
    if (
      !(await confirm({
        title: text.operator.erase,
        words: text.operator.eraseWords,
        name: row.email,
        verb: text.erase,
      }))
    )
      return undefined;
    const { message } = await remove(path);
    go(to("/operator"));
    return message;
  });
  return html`<${Head} title=${row.name} up=${["/operator", text.operator.accounts]}
    sub=${html`<${Badge} state=${row.status} /><span>${row.email}</span><${Copy} value=${row.id}
    name=${text.account.id} />`}>
      <button type="button" disabled=${suspending}
        onClick=${suspend}>${row.suspended ? text.operator.unsuspend : text.operator.suspend}</button>
      <button type="button" class="danger" disabled=${erasing} onClick=${erase}>${text.erase}</button><//>
    <div class="columns"><div class="stack">
      <${Panel} title=${text.operator.change}><${SchemaForm} schema="ChangedAccount" stored=${row}
        draft=${`operator-account:${row.id}`} show=${(/** @type {string} */ name) => name !== "suspended"} save=${save}
        verb=${text.save} /><//>
    </div><div class="stack"><${Panel} title=${text.account.facts}><${Facts} of=${[
      [text.operator.plan, row.plan],
      [text.operator.balance, row.balance === null ? text.operator.unmetered : money(row.balance)],
      [text.operator.created, html`<${Time} at=${row.created_at} />`],
    ]} /><//><${CallerId} path=${path} /></div></div>
    <${ApiKeys} path=${`${path}/api-keys`} title=${text.operator.keys} />`;
}
