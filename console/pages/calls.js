// Calls: any combination of filters, all of them in the address; the first page follows what happens.

import { download } from "../api.js";
import { inUtc } from "../days.js";
import { route, to } from "../router.js";
import { answers, parameters } from "../schema.js";
import { text } from "../text.js";
import { html } from "../ui/base.js";
import { Await, Empty, Head } from "../ui/parts.js";
import { useAction, useEvery, useGet } from "../ui/resource.js";
import { Filters, Pager, Table } from "../ui/table.js";
import { callColumns } from "./call/columns.js";

/** How often the first page is read while it is seen, milliseconds. */
const EVERY_MS = 4_000;
const PER_PAGE = 25;

export default function Calls() {
  const { query } = route.value;
  const known = parameters("/user/calls");
  const names = ["status", "type", "phone_number", "assistant_id", "campaign_id", "date_from", "date_to"].filter(
    (name) => known[name],
  );
  const asked = inUtc(Object.fromEntries(names.map((name) => [name, query[name]])));
  const filtered = Object.values(asked).some(Boolean);
  const calls = useGet("/user/calls", { ...asked, page: query.page, per_page: PER_PAGE });
  useEvery(calls.reload, query.page ? null : EVERY_MS);
  const [csv, busy] = useAction(() => download("/user/calls", { query: asked, accept: "text/csv", name: "calls.csv" }));
  return html`<${Head} title=${text.calls.title}>${
    answers("/user/calls", "text/csv") &&
    html`<button type="button"
    disabled=${busy} onClick=${csv}>${text.csv}</button>`
  }<//>
    <${Filters} fields=${names.map((name) => known[name])} names=${text.calls.filters} />
    <section class="panel" aria-label=${text.calls.title}><${Await} of=${calls}>${(/** @type {any} */ page) => html`
      <${Table} label=${text.calls.title} columns=${callColumns()} rows=${page.data}
        href=${(/** @type {any} */ row) => to(`/calls/${row.id}`)} empty=${html`<${Empty} title=${filtered ? text.nothingFits : text.calls.none}
        words=${filtered ? text.calls.noMatch : text.calls.noneWords} />`} />
      <${Pager} of=${page} />`}<//></section>`;
}
