// Conversations by text: of the widget, of messengers and programs, and those that were tried here; the filters stand in
// the address, and the first page follows what happens.

import { inUtc } from "../days.js";
import { money } from "../format.js";
import { route, to } from "../router.js";
import { parameters } from "../schema.js";
import { text } from "../text.js";
import { html } from "../ui/base.js";
import { Await, Badge, Empty, Head, Time } from "../ui/parts.js";
import { useEvery, useGet } from "../ui/resource.js";
import { Filters, Pager, Table } from "../ui/table.js";

/** How often the first page is read while it is seen, milliseconds. */
const EVERY_MS = 4_000;
const PER_PAGE = 25;
const NAMES = ["type", "assistant_id", "customer_phone", "external_identifier", "date_from", "date_to"];

/** Who a conversation is with, where that is known. @param {any} row @returns {string | null} */
export const customer = (row) => row.customer?.name ?? row.customer?.phone ?? row.external_identifier;

/** Who answers in a conversation. @param {{ of: any }} props */
export const Answers = ({ of }) =>
  of.ai_enabled
    ? html`<${Badge} state="ok" tone="" words=${text.conversations.assistant} />`
    : html`<${Badge} state="warn" tone="warn" words=${text.states.human} />`;

export default function Conversations() {
  const { query } = route.value;
  const known = parameters("/user/conversations");
  const names = NAMES.filter((name) => known[name]);
  const asked = inUtc(Object.fromEntries(names.map((name) => [name, query[name]])));
  const filtered = Object.values(asked).some(Boolean);
  const list = useGet("/user/conversations", { ...asked, page: query.page, per_page: PER_PAGE });
  useEvery(list.reload, query.page ? null : EVERY_MS);
  return html`<${Head} title=${text.conversations.title} />
    <${Filters} fields=${names.map((name) => known[name])} names=${text.conversations.filters} />
    <section class="panel" aria-label=${text.conversations.title}><${Await} of=${list}>${(
      /** @type {any} */ page,
    ) => html`
      <${Table} label=${text.conversations.title} columns=${columns()} rows=${page.data}
        href=${(/** @type {any} */ row) => to(`/conversations/${row.id}`)} empty=${html`<${Empty}
        title=${filtered ? text.nothingFits : text.conversations.none}
        words=${filtered ? text.conversations.noMatch : text.conversations.noneWords} />`} />
      <${Pager} of=${page} />`}<//></section>`;
}

/** @returns {import("../ui/table.js").Column[]} */
const columns = () => [
  { name: text.conversations.began, cell: (row) => html`<${Time} at=${row.created_at} />` },
  { name: text.conversations.customer, cell: (row) => customer(row) ?? "–", clip: true },
  { name: text.conversations.assistant, cell: (row) => row.assistant_name, clip: true },
  { name: text.conversations.where, cell: (row) => text.states[row.type] ?? row.type },
  { name: text.conversations.answers, cell: (row) => html`<${Answers} of=${row} />` },
  { name: text.conversations.messages, cell: (row) => row.message_count, number: true },
  { name: text.conversations.last, cell: (row) => html`<${Time} at=${row.updated_at} />` },
  { name: text.conversations.cost, cell: (row) => money(row.total_cost, true), number: true },
];
