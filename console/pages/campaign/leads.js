// The leads of a campaign, with filters in the address, and the form of one more.

import { create } from "../../api.js";
import { inUtc } from "../../days.js";
import { route, to } from "../../router.js";
import { parameters } from "../../schema.js";
import { text } from "../../text.js";
import { html, useState } from "../../ui/base.js";
import { Dialog } from "../../ui/dialog.js";
import { SchemaForm } from "../../ui/form.js";
import { Await, Badge, Empty, Time } from "../../ui/parts.js";
import { useEvery, useGet } from "../../ui/resource.js";
import { Filters, Pager, Table } from "../../ui/table.js";
import { toast } from "../../ui/toast.js";

const NAMES = ["status", "phone_number", "date_from", "date_to"];

/** @param {{ campaign: any }} props */
export function Leads({ campaign }) {
  const { query } = route.value;
  const known = parameters("/user/leads");
  const asked = inUtc(Object.fromEntries(NAMES.map((name) => [name, query[name]])));
  const list = useGet("/user/leads", { ...asked, campaign_id: campaign.id, page: query.page, per_page: 25 });
  useEvery(list.reload, campaign.status === "in-progress" && !query.page ? 4_000 : null);
  const [adding, setAdding] = useState(false);
  const close = () => setAdding(false);
  const save = async (/** @type {any} */ body) => {
    const { message } = await create("/user/lead", { ...body, campaign_id: campaign.id });
    close();
    await list.reload();
    toast(message);
  };
  const filtered = Object.values(asked).some(Boolean);
  const steps = html`<div class="row"><a class="button"
    href=${to(`/campaigns/${campaign.id}/import`)}>${text.campaigns.import}</a><button type="button"
    onClick=${() => setAdding(true)}>${text.campaigns.addLead}</button></div>`;
  return html`<div class="row spread"><${Filters}
    fields=${NAMES.filter((name) => known[name]).map((name) => known[name])}
    names=${text.campaigns.filters} />${steps}</div>
    <section class="panel" aria-label=${text.campaigns.leads}><${Await} of=${list}>${(
      /** @type {any} */ page,
    ) => html`<${Table} label=${text.campaigns.leads} columns=${columns()} rows=${page.data}
      href=${(/** @type {any} */ row) => to(`/campaigns/${campaign.id}/leads/${row.id}`)}
      empty=${html`<${Empty} title=${filtered ? text.nothingFits : text.campaigns.noLeads}
        words=${filtered ? text.campaigns.noMatch : text.campaigns.noLeadsWords} />`} /><${Pager}
        of=${page} />`}<//></section>
    ${
      adding &&
      html`<${Dialog} title=${text.campaigns.addLead} kind="broad" close=${close}><${SchemaForm}
      schema="NewLead" draft=${`lead-of:${campaign.id}`} show=${(/** @type {string} */ name) => name !== "campaign_id"} save=${save}
      verb=${text.campaigns.addLead} cancel=${close} /><//>`
    }`;
}

/** @returns {import("../../ui/table.js").Column[]} */
const columns = () => [
  { name: text.campaigns.phone, cell: (row) => row.phone_number },
  {
    name: text.campaigns.status,
    cell: (row) => html`<${Badge} state=${row.status} words=${text.campaigns.states[row.status]} />`,
  },
  {
    name: text.campaigns.variables,
    cell: (row) =>
      Object.entries(row.variables ?? {}).map(
        ([name, value]) =>
          html`<span class="member small" key=${name}><span
            class="muted">${name}</span> ${typeof value === "string" ? value : JSON.stringify(value)} </span>`,
      ),
    clip: true,
  },
  { name: text.campaigns.contacts, cell: (row) => row.secondary_contacts?.length || "", number: true },
  { name: text.campaigns.created, cell: (row) => html`<${Time} at=${row.created_at} />` },
];
