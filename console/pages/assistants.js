// Assistants: a list with folders and labels, and the way to a new one.

import { whole } from "../api.js";
import { route, to } from "../router.js";
import { parameters } from "../schema.js";
import { text } from "../text.js";
import { html } from "../ui/base.js";
import { Await, Badge, Empty, Head, Time } from "../ui/parts.js";
import { useGet } from "../ui/resource.js";
import { Filters, Pager, Table } from "../ui/table.js";
import { Organise } from "./assistant/organise.js";

const NAMES = ["search", "type", "status", "folder_id", "label_id"];

export default function Assistants() {
  const { query } = route.value;
  const known = parameters("/user/assistants/get");
  const names = NAMES.filter((name) => known[name]);
  const asked = Object.fromEntries(names.map((name) => [name, query[name]]));
  const list = useGet("/user/assistants/get", { ...asked, page: query.page, per_page: 25 });
  const folders = useGet("/user/folders", {}, whole);
  const labels = useGet("/user/labels", {}, whole);
  const filtered = Object.values(asked).some(Boolean);
  const add = html`<a class="button" href=${to("/assistants/new")}>${text.assistants.new}</a>`;
  return html`<${Head} title=${text.assistants.title}>${add}<//>
    <${Filters} fields=${names.map((name) => known[name])} names=${text.assistants.filters} />
    <section class="panel" aria-label=${text.assistants.title}><${Await} of=${list}>${(/** @type {any} */ page) => html`
      <${Table} label=${text.assistants.title} columns=${columns(folders.data?.data ?? [], labels.data?.data ?? [])}
        rows=${page.data} href=${(/** @type {any} */ row) => to(`/assistants/${row.id}`)}
        empty=${html`<${Empty} title=${filtered ? text.nothingFits : text.assistants.none}
          words=${filtered ? text.assistants.noMatch : text.assistants.noneWords}>${!filtered && add}<//>`} />
      <${Pager} of=${page} />`}<//></section>
    <${Organise} folders=${folders} labels=${labels} />`;
}

/** @param {any[]} folders @param {any[]} labels @returns {import("../ui/table.js").Column[]} */
const columns = (folders, labels) => [
  { name: text.assistants.name, cell: (row) => row.name, clip: true },
  { name: text.assistants.status, cell: (row) => html`<${Badge} state=${row.status} />` },
  { name: text.assistants.type, cell: (row) => text.states[row.type] ?? row.type },
  { name: text.assistants.mode, cell: (row) => text.states[row.mode] ?? row.mode },
  {
    name: text.assistants.folder,
    cell: (row) => html`<${Tag} of=${folders.find(({ id }) => id === row.folder_id)} />`,
  },
  {
    name: text.assistants.labels,
    cell: (row) =>
      html`<span class="row">${labels
        .filter(({ id }) => row.label_ids?.includes(id))
        .map(
          (one) => html`<${Tag}
        key=${one.id} of=${one} />`,
        )}</span>`,
  },
  { name: text.assistants.changed, cell: (row) => html`<${Time} at=${row.updated_at} />` },
];

/** @param {{ of: any }} props */
const Tag = ({ of }) => of && html`<span class="tag"><i class="swatch" data-color=${of.color}></i>${of.name}</span>`;
