// Mid-call tools: endpoints that assistants may call.

import { create } from "../api.js";
import { filter, go, route, to } from "../router.js";
import { text } from "../text.js";
import { html } from "../ui/base.js";
import { Dialog } from "../ui/dialog.js";
import { SchemaForm } from "../ui/form.js";
import { Await, Empty, Head, Time } from "../ui/parts.js";
import { useGet } from "../ui/resource.js";
import { Table } from "../ui/table.js";

export default function Tools() {
  const list = useGet("/user/tools");
  const close = () => filter({ new: null });
  const add = html`<button type="button" class="primary"
    onClick=${() => filter({ new: 1 })}>${text.tools.new}</button>`;
  const save = async (/** @type {any} */ body) => {
    const { data } = await create("/user/tools", body);
    go(to(`/tools/${data.id}`));
  };
  return html`<${Head} title=${text.tools.title}>${add}<//>
    <section class="panel" aria-label=${text.tools.title}><${Await}
      of=${list}>${(/** @type {any} */ rows) => html`<${Table} label=${text.tools.title} columns=${columns()}
      rows=${rows} href=${(/** @type {any} */ row) => to(`/tools/${row.id}`)} empty=${html`<${Empty}
      title=${text.tools.none} words=${text.tools.noneWords}>${add}<//>`} />`}<//></section>
    ${
      route.value.query.new &&
      html`<${Dialog} title=${text.tools.new} kind="broad" close=${close}><${SchemaForm}
      schema="NewTool" draft="tool" save=${save} verb=${text.tools.create} cancel=${close} /><//>`
    }`;
}

/** @returns {import("../ui/table.js").Column[]} */
const columns = () => [
  { name: text.tools.name, cell: (row) => html`<code>${row.name}</code>` },
  { name: text.tools.method, cell: (row) => row.method },
  { name: text.tools.endpoint, cell: (row) => row.endpoint, clip: true },
  { name: text.tools.timeout, cell: (row) => text.tools.seconds(row.timeout), number: true },
  { name: text.tools.changed, cell: (row) => html`<${Time} at=${row.updated_at} />` },
];
