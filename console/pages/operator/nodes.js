// The nodes that serve the store, what each of them serves, and having one give its accounts to the others.

import { post } from "../../api.js";
import { count, percent } from "../../format.js";
import { text } from "../../text.js";
import { html } from "../../ui/base.js";
import { confirm } from "../../ui/dialog.js";
import { Await, Badge, Head, Time } from "../../ui/parts.js";
import { useAction, useEvery, useGet } from "../../ui/resource.js";
import { Table } from "../../ui/table.js";

export default function Nodes() {
  const list = useGet("/admin/nodes");
  useEvery(list.reload, 4_000);
  const [drain, busy] = useAction(async (/** @type {any} */ row) => {
    if (
      !(await confirm({
        title: text.nodes.drainTitle(named(row)),
        words: text.nodes.drainWords,
        verb: text.nodes.drain,
      }))
    )
      return undefined;
    const { message } = await post(`/admin/nodes/${row.id}/drain`);
    await list.reload();
    return message;
  });
  return html`<${Head} title=${text.nodes.title} />
    <section class="panel" aria-label=${text.nodes.title}><${Await}
      of=${list}>${(/** @type {any} */ { data }) => html`<${Table} label=${text.nodes.title}
      columns=${columns(data, drain, busy)} rows=${data} />`}<//></section>
    <p class="muted">${text.nodes.words}</p>`;
}

/** A node by its address; one that no other reaches has none. @param {any} row */
const named = ({ address }) => address ?? text.nodes.alone;

/** @param {any[]} rows @param {(row: any) => void} drain @param {boolean} busy @returns {import("../../ui/table.js").Column[]} */
const columns = (rows, drain, busy) => [
  { name: text.nodes.one, cell: (row) => html`<strong>${named(row)}</strong>`, clip: true },
  { name: text.operator.state, cell: (row) => html`<${Badge} state=${row.state} />` },
  { name: text.operator.release, cell: (row) => row.release ?? "–" },
  {
    name: text.operator.accounts,
    cell: ({ lanes }) =>
      count(lanes.reduce((/** @type {number} */ sum, /** @type {any} */ lane) => sum + lane.accounts, 0)),
    number: true,
  },
  { name: text.nodes.lanes, cell: (row) => count(row.lanes.length), number: true, title: text.nodes.lanesWords },
  {
    name: text.operator.load,
    cell: (row) => (row.load === null ? "–" : percent(row.load, 1)),
    number: true,
    title: text.nodes.loadWords,
  },
  { name: text.operator.seen, cell: (row) => html`<${Time} at=${row.seen_at} />` },
  {
    name: "",
    // The last one that serves has nobody to give its accounts to.
    cell: (row) =>
      row.state === "serving" &&
      rows.some((other) => other !== row && other.state === "serving") &&
      html`<button type="button" disabled=${busy} aria-label=${`${text.nodes.drain}: ${named(row)}`}
        onClick=${() => drain(row)}>${text.nodes.drain}</button>`,
  },
];
