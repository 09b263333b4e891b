// Numbers: those that the account has, new ones from the carrier, SIP trunks and caller ids.

import { create, get, put, remove } from "../api.js";
import { money } from "../format.js";
import { go, to } from "../router.js";
import { parameters } from "../schema.js";
import { account } from "../session.js";
import { text } from "../text.js";
import { html, useState } from "../ui/base.js";
import { confirm, Dialog } from "../ui/dialog.js";
import { SchemaForm } from "../ui/form.js";
import { Await, Badge, Copy, Empty, Failure, Head, Notice, Time } from "../ui/parts.js";
import { useAction, useGet } from "../ui/resource.js";
import { Table } from "../ui/table.js";
import { toast } from "../ui/toast.js";

export default function Numbers() {
  const list = useGet("/user/phone-numbers/all");
  const [open, setOpen] = useState(/** @type {{ kind: string, row?: any } | null} */ (null));
  const close = () => setOpen(null);
  const save = async (/** @type {Promise<any>} */ answer) => {
    const { message } = await answer;
    close();
    await list.reload();
    if (message) toast(message);
  };
  const [release] = useAction(async (/** @type {any} */ row) => {
    if (
      !(await confirm({
        title: text.numbers.releaseTitle(row.phone_number),
        words: text.numbers.releaseWords,
        name: row.phone_number,
        verb: text.numbers.release,
      }))
    )
      return undefined;
    const { message } = await remove(`/user/phone-numbers/${row.id}`);
    await list.reload();
    return message;
  });
  return html`<${Head} title=${text.numbers.title}>
      <button type="button" class="primary" onClick=${() => setOpen({ kind: "buy" })}>${text.numbers.search}</button>
      <button type="button" onClick=${() => setOpen({ kind: "trunk" })}>${text.numbers.newTrunk}</button>
      <button type="button" onClick=${() => setOpen({ kind: "caller" })}>${text.numbers.callerId}</button><//>
    ${
      list.data?.data.some((/** @type {any} */ row) => !row.verified) &&
      html`<${Notice} tone="warn">${text.numbers.confirmWords(account.value?.me.id)}<//>`
    }
    <section class="panel" aria-label=${text.numbers.title}><${Await} of=${list}>${(
      /** @type {any} */ { data },
    ) => html`<${Table} label=${text.numbers.title}
      columns=${columns((row) => setOpen({ kind: "rename", row }), release)} rows=${data}
      href=${(/** @type {any} */ row) => (row.type === "sip" ? to(`/numbers/trunks/${row.id}`) : null)}
      empty=${html`<${Empty} title=${text.numbers.none} words=${text.numbers.noneWords} />`} />`}<//></section>
    ${
      open?.kind === "buy" &&
      html`<${Dialog} title=${text.numbers.search} kind="broad" light close=${close}>
      <${Buy} bought=${save} /><//>`
    }
    ${
      open?.kind === "trunk" &&
      html`<${Dialog} title=${text.numbers.newTrunk} kind="broad" close=${close}><${SchemaForm} schema="NewTrunk"
        draft="trunk" verb=${text.numbers.newTrunk} cancel=${close} save=${async (/** @type {any} */ body) => {
          const { data } = await create("/user/phone-numbers/sip-trunks", body);
          go(to(`/numbers/trunks/${data.id}`));
        }} /><//>`
    }
    ${
      open?.kind === "caller" &&
      html`<${Dialog} title=${text.numbers.callerId} close=${close}><${SchemaForm}
      schema="OneNumber" verb=${text.numbers.callerId} cancel=${close}
      save=${(/** @type {any} */ body) => save(create("/user/phone-numbers/caller-ids", body))} /><//>`
    }
    ${
      open?.kind === "rename" &&
      html`<${Dialog} title=${text.numbers.rename} close=${close}><${SchemaForm}
      schema="Rename" stored=${open.row} verb=${text.save} cancel=${close}
      save=${(/** @type {any} */ body) => save(put(`/user/phone-numbers/${open.row.id}`, body))} /><//>`
    }`;
}

/** @param {(row: any) => void} rename @param {(row: any) => void} release @returns {import("../ui/table.js").Column[]} */
const columns = (rename, release) => [
  { name: text.numbers.phone, cell: (row) => row.phone_number },
  { name: text.numbers.nickname, cell: (row) => row.nickname ?? "", clip: true },
  { name: text.numbers.type, cell: (row) => row.type_label },
  { name: text.numbers.country, cell: (row) => row.country_code ?? "–" },
  { name: text.numbers.sms, cell: (row) => (row.sms_capable ? text.yes : text.no) },
  {
    name: text.numbers.verified,
    cell: (row) =>
      row.verified
        ? html`<${Badge} state="ok" words=${text.yes} />`
        : html`<${Badge} state="warn" tone="warn" words=${text.numbers.notVerified} /> <${Copy} value=${row.id}
          name=${text.numbers.callerIdOf(row.phone_number)} />`,
  },
  { name: text.numbers.since, cell: (row) => html`<${Time} at=${row.created_at} />` },
  {
    name: "",
    cell: (row) =>
      html`<span class="row"><button type="button" class="quiet"
        aria-label=${`${text.numbers.rename}: ${row.phone_number}`}
        onClick=${() => rename(row)}>${text.numbers.rename}</button><button type="button" class="quiet danger"
        aria-label=${`${text.numbers.release}: ${row.phone_number}`}
        onClick=${() => release(row)}>${text.numbers.release}</button></span>`,
  },
];

/** @param {{ bought: (answer: Promise<any>) => Promise<void> }} props */
function Buy({ bought }) {
  const { country_code: country, contains } = parameters("/user/phone-numbers/search");
  const [found, setFound] = useState(/** @type {any[] | null} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const [search, busy] = useAction(async (/** @type {HTMLFormElement} */ form) => {
    setError(null);
    const query = /** @type {any} */ (Object.fromEntries(new FormData(form)));
    setFound((await get("/user/phone-numbers/search", query)).data);
  }, setError);
  const [buy] = useAction(async (/** @type {any} */ row) => {
    setError(null);
    if (
      await confirm({
        title: text.numbers.buyTitle(row.phone_number_formatted),
        words: text.numbers.buyWords(money(row.price)),
        verb: text.numbers.buy,
      })
    )
      await bought(create("/user/phone-numbers/purchase", { phone_number: row.phone_number }));
  }, setError);
  return html`<form class="filters"
    onSubmit=${(/** @type {any} */ event) => (event.preventDefault(), search(event.currentTarget))}>
      <label class="field"><span>${text.numbers.country_code}</span><select
        name="country_code">${country.choices?.map(
          (one) => html`<option
        value=${one}>${one}</option>`,
        )}</select></label>
      <label class="field"><span>${text.numbers.contains}</span><input name="contains" inputmode="numeric"
        maxlength=${contains.max} autocomplete="off" /></label>
      <button type="submit" class="primary" disabled=${busy}>${text.numbers.find}</button></form>
    ${error && html`<${Failure} error=${error} />`}
    ${
      found &&
      (found.length
        ? html`<div class="panel"><${Table} label=${text.numbers.search} rows=${found} columns=${[
            { name: text.numbers.phone, cell: (/** @type {any} */ row) => row.phone_number_formatted },
            { name: text.numbers.sms, cell: (/** @type {any} */ row) => (row.sms_capable ? text.yes : text.no) },
            { name: text.numbers.price, cell: (/** @type {any} */ row) => money(row.price), number: true },
            {
              name: "",
              cell: (/** @type {any} */ row) =>
                html`<button type="button" aria-label=${`${text.numbers.buy} ${row.phone_number_formatted}`}
                  onClick=${() => buy(row)}>${text.numbers.buy}</button>`,
            },
          ]} /></div>`
        : html`<p class="muted" role="status">${text.numbers.nothing}</p>`)
    }`;
}
