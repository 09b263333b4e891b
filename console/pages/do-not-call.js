// Numbers that are never called.

import { create, remove } from "../api.js";
import { route, to } from "../router.js";
import { parameters } from "../schema.js";
import { text } from "../text.js";
import { html, useState } from "../ui/base.js";
import { Dialog } from "../ui/dialog.js";
import { SchemaForm } from "../ui/form.js";
import { Await, Empty, Head, Time } from "../ui/parts.js";
import { useGet } from "../ui/resource.js";
import { Filters, Pager, Table } from "../ui/table.js";
import { complain, toast } from "../ui/toast.js";

export default function DoNotCall() {
  const { query } = route.value;
  const list = useGet("/user/do-not-call", { phone_number: query.phone_number, page: query.page, per_page: 25 });
  const [adding, setAdding] = useState(false);
  const close = () => setAdding(false);
  const save = async (/** @type {any} */ body) => {
    const { message } = await create("/user/do-not-call", body);
    close();
    await list.reload();
    toast(message);
  };
  const drop = async (/** @type {any} */ row) => {
    try {
      await remove(`/user/do-not-call/${row.id}`);
      await list.reload();
      toast(text.dnc.removed(row.phone_number), () =>
        create("/user/do-not-call", { phone_number: row.phone_number, reason: row.reason }).then(list.reload, complain),
      );
    } catch (error) {
      complain(/** @type {Error} */ (error));
    }
  };
  return html`<${Head} title=${text.dnc.title}><button type="button" class="primary"
    onClick=${() => setAdding(true)}>${text.dnc.add}</button><a class="button"
    href=${to("/do-not-call/import")}>${text.dnc.import}</a><//>
    <${Filters} fields=${[parameters("/user/do-not-call").phone_number]} names=${{ phone_number: text.dnc.filter }} />
    <section class="panel" aria-label=${text.dnc.title}><${Await}
      of=${list}>${(/** @type {any} */ page) => html`<${Table} label=${text.dnc.title} rows=${page.data}
      columns=${columns(drop)} empty=${html`<${Empty} title=${text.dnc.none}
      words=${query.phone_number ? text.dnc.noMatch : text.dnc.noneWords} />`} /><${Pager} of=${page} />`}<//></section>
    ${
      adding &&
      html`<${Dialog} title=${text.dnc.add} close=${close}><${SchemaForm} schema="NewSuppressed" save=${save}
      verb=${text.dnc.add} cancel=${close} /><//>`
    }`;
}

/** @param {(row: any) => void} drop @returns {import("../ui/table.js").Column[]} */
const columns = (drop) => [
  { name: text.dnc.phone, cell: (row) => row.phone_number },
  { name: text.dnc.reason, cell: (row) => row.reason ?? "", clip: true },
  { name: text.dnc.added, cell: (row) => html`<${Time} at=${row.created_at} />` },
  {
    name: "",
    cell: (row) =>
      html`<button type="button" class="quiet" aria-label=${`${text.remove}: ${row.phone_number}`}
        onClick=${() => drop(row)}>${text.remove}</button>`,
  },
];
