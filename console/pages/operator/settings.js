// Settings of the service as they are in force.

import { text } from "../../text.js";
import { html } from "../../ui/base.js";
import { Hint } from "../../ui/fields.js";
import { Await, Badge, Head } from "../../ui/parts.js";
import { useGet } from "../../ui/resource.js";
import { Table } from "../../ui/table.js";

export default function Settings() {
  const list = useGet("/admin/settings");
  return html`<${Head} title=${text.operator.settings} /><p class="muted">${text.operator.settingsWords}</p>
    <section class="panel" aria-label=${text.operator.settings}><${Await} of=${list}>${(/** @type {any} */ { data }) =>
      html`<${Table} label=${text.operator.settings} rows=${data} columns=${[
        {
          name: text.operator.setting,
          cell: (/** @type {any} */ row) =>
            html`<code>${row.name}</code><p class="small muted"><${Hint} words=${row.about} /></p>`,
        },
        {
          name: text.operator.value,
          cell: (/** @type {any} */ row) =>
            row.value === null
              ? html`<span class="muted"><${Hint} words=${row.default ?? text.operator.notSet} /></span>`
              : html`<code>${typeof row.value === "string" ? row.value : JSON.stringify(row.value)}</code>`,
          clip: true,
        },
        {
          name: text.operator.source,
          cell: (/** @type {any} */ row) =>
            html`<${Badge} state="" tone=${row.source === "default" ? "plain" : "live plain"} words=${row.source} />`,
        },
      ]} />`}<//></section>`;
}
