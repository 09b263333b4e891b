// Campaigns: all of them with their progress, and the form of a new one.

import { create } from "../api.js";
import { count, money } from "../format.js";
import { filter, go, route, to } from "../router.js";
import { text } from "../text.js";
import { html } from "../ui/base.js";
import { Dialog } from "../ui/dialog.js";
import { SchemaForm } from "../ui/form.js";
import { Await, Badge, Empty, Head, Time } from "../ui/parts.js";
import { useEvery, useGet } from "../ui/resource.js";
import { Table } from "../ui/table.js";
import { LeadBar } from "./campaign/progress.js";

/** When people expect to be called; the service itself calls at any hour unless told otherwise. */
const OFFICE_HOURS = {
  allowed_hours_start_time: "09:00",
  allowed_hours_end_time: "18:00",
  allowed_days: ["monday", "tuesday", "wednesday", "thursday", "friday"],
};

export default function Campaigns() {
  const list = useGet("/user/campaigns");
  useEvery(list.reload, 5_000);
  const adding = Boolean(route.value.query.new);
  const add = html`<button type="button" class="primary"
    onClick=${() => filter({ new: 1 })}>${text.campaigns.new}</button>`;
  return html`<${Head} title=${text.campaigns.title}>${add}<//>
    <section class="panel" aria-label=${text.campaigns.title}><${Await} of=${list}>${(
      /** @type {any} */ rows,
    ) => html`<${Table} label=${text.campaigns.title} columns=${columns()} rows=${rows}
      href=${(/** @type {any} */ row) => to(`/campaigns/${row.id}`)}
      empty=${html`<${Empty} title=${text.campaigns.none}
        words=${text.campaigns.noneWords}>${add}<//>`} />`}<//></section>
    ${adding && html`<${Adding} />`}`;
}

/** The form of a new campaign; without an assistant that could call, how to get one. */
function Adding() {
  const callers = useGet("/user/assistants/get", { type: "outbound", per_page: 1 });
  const close = () => filter({ new: null });
  const save = async (/** @type {any} */ body) => {
    const { data } = await create("/user/campaigns", body);
    go(to(`/campaigns/${data.id}`));
  };
  return html`<${Dialog} title=${text.campaigns.new} kind="broad" close=${close}><${Await} of=${callers}>${(
    /** @type {any} */ { total },
  ) =>
    total
      ? html`<${SchemaForm} schema="NewCampaign" preset=${OFFICE_HOURS} draft="campaign" save=${save}
          verb=${text.campaigns.create} cancel=${close} />`
      : html`<p>${text.campaigns.needs}</p><div class="row"><a class="button"
          href=${to("/assistants/new")}>${text.assistants.new}</a><button type="button"
          onClick=${close}>${text.cancel}</button></div>`}<//><//>`;
}

/** @returns {import("../ui/table.js").Column[]} */
const columns = () => [
  { name: text.campaigns.name, cell: (row) => row.name, clip: true },
  { name: text.campaigns.status, cell: (row) => html`<${Badge} state=${row.status} />` },
  { name: text.campaigns.progress, cell: (row) => html`<${LeadBar} leads=${row.leads} />` },
  { name: text.campaigns.total, cell: (row) => count(row.leads.total), number: true },
  { name: text.campaigns.placed, cell: (row) => count(row.calls.placed), number: true },
  { name: text.campaigns.goals, cell: (row) => count(row.goals), number: true },
  { name: text.campaigns.cost, cell: (row) => money(row.cost), number: true },
  { name: text.campaigns.forecast, cell: (row) => html`<${Time} at=${row.forecast_at} where=${row.timezone} />` },
];
