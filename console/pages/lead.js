// One lead: why it is or is not called now, what is known of it, and the calls with its number.

import { patch, remove } from "../api.js";
import { go, to } from "../router.js";
import { text } from "../text.js";
import { html } from "../ui/base.js";
import { confirm } from "../ui/dialog.js";
import { SchemaForm } from "../ui/form.js";
import { Await, Badge, Copy, Empty, Head, Json, Panel, Time } from "../ui/parts.js";
import { useAction, useGet } from "../ui/resource.js";
import { Table } from "../ui/table.js";
import { toast } from "../ui/toast.js";
import { callColumns } from "./call/columns.js";

/** @param {{ params: { id: string, lead: string } }} props */
export default function LeadPage({ params: { id, lead } }) {
  const one = useGet(`/user/leads/${lead}`);
  return html`<${Await} page
    of=${one}>${(/** @type {any} */ row) => html`<${One} row=${row} campaign=${id} reload=${one.reload} />`}<//>`;
}

/** @param {{ row: any, campaign: string, reload: () => Promise<void> }} props */
function One({ row, campaign, reload }) {
  const told = useGet(`/user/leads/${row.id}/explain`);
  const calls = useGet("/user/calls", { phone_number: row.phone_number, campaign_id: row.campaign_id, per_page: 20 });
  const save = async (/** @type {any} */ body) => {
    // An update merges variables: those that were removed are sent as null.
    const gone =
      body.variables === undefined
        ? {}
        : Object.fromEntries(
            Object.keys(row.variables)
              .filter((name) => !(name in (body.variables ?? {})))
              .map((name) => [name, null]),
          );
    const { message } = await patch(
      `/user/leads/${row.id}`,
      body.variables === undefined ? body : { ...body, variables: { ...gone, ...body.variables } },
    );
    await Promise.all([reload(), told.reload()]);
    toast(message);
  };
  const [erase, busy] = useAction(async () => {
    if (
      !(await confirm({
        title: text.campaigns.eraseLead,
        words: text.campaigns.eraseLeadWords,
        name: row.phone_number,
        verb: text.erase,
      }))
    )
      return undefined;
    const { message } = await remove(`/user/leads/${row.id}`);
    go(to(`/campaigns/${campaign}`, { tab: "leads" }));
    return message;
  });
  return html`<${Head} title=${text.campaigns.lead(row.phone_number)}
    up=${[`/campaigns/${campaign}`, row.campaign?.name ?? text.campaigns.title]}
    sub=${html`<${Badge} state=${row.status} words=${text.campaigns.states[row.status]} /><${Copy} value=${row.id} name=${text.call.lead} />`}>
      <button type="button" class="danger" disabled=${busy} onClick=${erase}>${text.erase}</button><//>
    <div class="columns even">
      <${Panel} title=${text.campaigns.explain}><${Await}
        of=${told}>${(/** @type {any} */ { data }) => html`<${Explained} of=${data} />`}<//><//>
      <${Panel} title=${text.campaigns.settings}><${SchemaForm} schema="ChangedLead" stored=${row}
        draft=${`lead:${row.id}`} save=${save} verb=${text.save} /><//>
    </div>
    <${Panel} title=${text.campaigns.itsCalls} flush><${Await}
      of=${calls}>${(/** @type {any} */ { data }) => html`<${Table} label=${text.campaigns.itsCalls}
      columns=${callColumns()} rows=${data} href=${(/** @type {any} */ one) => to(`/calls/${one.id}`)}
      empty=${html`<${Empty} title=${text.calls.none} words=${text.calls.noneWords} />`} />`}<//><//>
    ${
      row.secondary_contacts?.length > 0 &&
      html`<${Panel} title=${text.campaigns.contacts}><${Json}
      value=${row.secondary_contacts} name=${text.campaigns.contacts} /><//>`
    }`;
}

/** @param {{ of: any }} props */
const Explained = ({
  of: { callable, reasons, next_at: next },
}) => html`<p>${callable ? text.campaigns.callable : text.campaigns.notCallable}</p>
  ${
    reasons.length > 0 &&
    html`<ul>${reasons.map(
      (/** @type {any} */ one) => html`<li
    key=${one.code}>${one.message}</li>`,
    )}</ul>`
  }
  ${next && html`<p class="muted">${text.campaigns.nextLead}: <${Time} at=${next} /></p>`}`;
