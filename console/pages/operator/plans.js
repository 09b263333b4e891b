// Plans: what bounds an account. Their members come from the document.

import { create, get, put } from "../../api.js";
import { count, label, size } from "../../format.js";
import { form } from "../../schema.js";
import { text } from "../../text.js";
import { html, useState } from "../../ui/base.js";
import { Dialog } from "../../ui/dialog.js";
import { SchemaForm } from "../../ui/form.js";
import { Await, Head } from "../../ui/parts.js";
import { useGet } from "../../ui/resource.js";
import { Table } from "../../ui/table.js";

export default function Plans() {
  const list = useGet("/admin/plans");
  const [open, setOpen] = useState(/** @type {any} */ (null));
  const close = () => setOpen(null);
  const save = async (/** @type {any} */ body) => {
    await (open.name ? put(`/admin/plans/${encodeURIComponent(open.name)}`, body) : create("/admin/plans", body));
    list.set(await get("/admin/plans"));
    close();
  };
  return html`<${Head} title=${text.operator.plans}><button type="button" class="primary"
    onClick=${() => setOpen({})}>${text.operator.newPlan}</button><//>
    <section class="panel" aria-label=${text.operator.plans}><${Await}
      of=${list}>${(/** @type {any} */ { data }) => html`<${Table} label=${text.operator.plans}
      columns=${columns(setOpen)} rows=${data} />`}<//></section>
    ${
      open &&
      html`<${Dialog} title=${open.name ?? text.operator.newPlan} kind="broad" close=${close}><${SchemaForm}
      schema=${open.name ? "PlanChanges" : "PlanInput"} stored=${open.name ? open : undefined} draft=${`plan:${open.name ?? ""}`} save=${save}
      verb=${text.save} cancel=${close} /><//>`
    }`;
}

/** @param {(row: any) => void} open @returns {import("../../ui/table.js").Column[]} */
const columns = (open) => [
  { name: text.operator.name, cell: (row) => html`<strong>${row.name}</strong>` },
  ...form("PlanChanges")
    .fields.filter(({ name }) => name !== "name")
    .map(({ name, hint }) => ({
      name: label(name),
      title: hint,
      cell: (/** @type {any} */ row) => (name.endsWith("_bytes") ? size(row[name]) : count(row[name])),
      number: true,
    })),
  {
    name: "",
    cell: (row) =>
      html`<button type="button" class="quiet" aria-label=${`${text.edit}: ${row.name}`}
        onClick=${() => open(row)}>${text.edit}</button>`,
  },
];
