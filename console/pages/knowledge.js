// Knowledgebases: what assistants know.

import { create } from "../api.js";
import { count } from "../format.js";
import { go, to } from "../router.js";
import { text } from "../text.js";
import { html, useState } from "../ui/base.js";
import { Dialog } from "../ui/dialog.js";
import { SchemaForm } from "../ui/form.js";
import { Await, Badge, Empty, Head, Time } from "../ui/parts.js";
import { useGet } from "../ui/resource.js";
import { Table } from "../ui/table.js";

export default function Knowledge() {
  const list = useGet("/user/knowledgebases");
  const [adding, setAdding] = useState(false);
  const close = () => setAdding(false);
  const add = html`<button type="button" class="primary"
    onClick=${() => setAdding(true)}>${text.knowledge.new}</button>`;
  const save = async (/** @type {any} */ body) => {
    const { data } = await create("/user/knowledgebases", body);
    go(to(`/knowledge/${data.id}`));
  };
  return html`<${Head} title=${text.knowledge.title}>${add}<//>
    <section class="panel" aria-label=${text.knowledge.title}><${Await}
      of=${list}>${(/** @type {any} */ { data }) => html`<${Table} label=${text.knowledge.title} columns=${columns()}
      rows=${data} href=${(/** @type {any} */ row) => to(`/knowledge/${row.id}`)} empty=${html`<${Empty}
      title=${text.knowledge.none} words=${text.knowledge.noneWords}>${add}<//>`} />`}<//></section>
    ${
      adding &&
      html`<${Dialog} title=${text.knowledge.new} close=${close}><${SchemaForm} schema="NewBase"
      draft="knowledgebase" save=${save} verb=${text.knowledge.create} cancel=${close} /><//>`
    }`;
}

/** @returns {import("../ui/table.js").Column[]} */
const columns = () => [
  { name: text.knowledge.name, cell: (row) => row.name, clip: true },
  { name: text.knowledge.status, cell: (row) => html`<${Badge} state=${row.status} words=${row.status_label} />` },
  { name: text.knowledge.documents, cell: (row) => count(row.documents_count), number: true },
  { name: text.knowledge.assistants, cell: (row) => count(row.assistants_count), number: true },
  { name: text.knowledge.changed, cell: (row) => html`<${Time} at=${row.updated_at} />` },
];
