// Durable work: how much of each kind waits and runs, and jobs that were set aside.

import { post, remove } from "../../api.js";
import { count } from "../../format.js";
import { filter, route, to } from "../../router.js";
import { parameters } from "../../schema.js";
import { text } from "../../text.js";
import { html } from "../../ui/base.js";
import { confirm } from "../../ui/dialog.js";
import { Await, Badge, Empty, Head, Panel, Time } from "../../ui/parts.js";
import { useAction, useEvery, useGet } from "../../ui/resource.js";
import { Filters, Pager, Table } from "../../ui/table.js";

export default function Queues() {
  const { query } = route.value;
  const known = parameters("/admin/jobs");
  const names = ["state", "kind", "account_id"];
  const queues = useGet("/admin/queues");
  const jobs = useGet("/admin/jobs", {
    ...Object.fromEntries(names.map((name) => [name, query[name]])),
    page: query.page,
    per_page: 25,
  });
  const again = () => (queues.reload(), jobs.reload());
  useEvery(again, 4_000);
  const [retry] = useAction(async (/** @type {number} */ id) => {
    const { message } = await post(`/admin/jobs/${id}/retry`);
    again();
    return message;
  });
  const [drop] = useAction(async (/** @type {any} */ row) => {
    const title = text.operator.dropTitle(`${text.operator.work[row.kind] ?? row.kind}, ${row.reference}`);
    if (!(await confirm({ title, words: text.operator.dropWords, verb: text.operator.drop }))) return undefined;
    const { message } = await remove(`/admin/jobs/${row.id}`);
    again();
    return message;
  });
  return html`<${Head} title=${text.operator.queues} />
    <section class="panel" aria-label=${text.operator.queues}><${Await}
      of=${queues}>${(/** @type {any} */ { data }) => html`<${Table} label=${text.operator.queues}
      columns=${queueColumns()} rows=${data} />`}<//></section>
    <${Filters} fields=${names.map((name) => known[name])} names=${text.operator.filters} />
    <${Panel} title=${text.operator.jobs} flush><${Await} of=${jobs}>${(/** @type {any} */ page) => html`<${Table}
      label=${text.operator.jobs} columns=${jobColumns(retry, drop)} rows=${page.data} empty=${html`<${Empty}
      title=${text.operator.noJobs} words=${text.operator.noJobsWords} />`} /><${Pager} of=${page} />`}<//><//>`;
}

/** What a job does, which may lead to its jobs, and what the API calls it. @param {{ of: string, choose?: () => void }} props */
function Work({ of, choose }) {
  const known = text.operator.work[of];
  const words = known ?? html`<code>${of}</code>`;
  return html`${choose ? html`<button type="button" class="link" onClick=${choose}>${words}</button>` : words}
    ${known && html` <code class="small muted nowrap">${of}</code>`}`;
}

/** @returns {import("../../ui/table.js").Column[]} */
const queueColumns = () => [
  {
    name: text.operator.queue,
    cell: (row) => html`<${Work} of=${row.name} choose=${() => filter({ kind: row.name })} />`,
  },
  { name: text.operator.waiting, cell: (row) => count(row.waiting), number: true },
  { name: text.operator.running, cell: (row) => count(row.running), number: true },
  {
    name: text.operator.setAside,
    cell: (row) => (row.set_aside ? html`<${Badge} state="set_aside" words=${count(row.set_aside)} />` : count(0)),
    number: true,
  },
  { name: text.operator.oldest, cell: (row) => html`<${Time} at=${row.oldest_at} />` },
];

/** @param {(id: number) => void} retry @param {(row: any) => void} drop @returns {import("../../ui/table.js").Column[]} */
const jobColumns = (retry, drop) => [
  { name: text.operator.kind, cell: (row) => html`<${Work} of=${row.kind} />` },
  {
    name: text.operator.reference,
    cell: (row) =>
      html`${row.reference} ${
        row.account_id &&
        html`<a class="small"
        href=${to(`/operator/accounts/${row.account_id}`)}>${text.operator.account} ${row.account_id}</a>`
      }`,
    clip: true,
  },
  { name: text.operator.state, cell: (row) => html`<${Badge} state=${row.state} />` },
  { name: text.operator.attempts, cell: (row) => count(row.attempts), number: true },
  { name: text.operator.due, cell: (row) => html`<${Time} at=${row.due_at} />` },
  { name: text.operator.lastError, cell: (row) => row.last_error ?? "–", clip: true },
  {
    name: "",
    cell: (row) =>
      row.state === "set_aside" &&
      html`<span class="row"><button type="button" aria-label=${`${text.operator.retry}: ${row.reference}`}
        onClick=${() => retry(row.id)}>${text.operator.retry}</button><button type="button" class="quiet danger"
        aria-label=${`${text.operator.drop}: ${row.reference}`}
        onClick=${() => drop(row)}>${text.operator.drop}</button></span>`,
  },
];
