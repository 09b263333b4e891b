// One assistant: its form with preview and a conversation beside it, its calls, its JSON.

import { create, patch, remove } from "../api.js";
import { filter, go, route, to } from "../router.js";
import { text } from "../text.js";
import { html, useState } from "../ui/base.js";
import { confirm, Dialog } from "../ui/dialog.js";
import { SchemaForm } from "../ui/form.js";
import { Await, Badge, Copy, Empty, Head, Json, Panel, Tabs } from "../ui/parts.js";
import { useAction, useEvery, useGet } from "../ui/resource.js";
import { Pager, Table } from "../ui/table.js";
import { toast } from "../ui/toast.js";
import { Embed } from "./assistant/embed.js";
import { InboundHook } from "./assistant/inbound-hook.js";
import { Preview } from "./assistant/preview.js";
import { applies, place, sections } from "./assistant/sections.js";
import { Talk } from "./assistant/talk.js";
import { TryIt } from "./assistant/try-it.js";
import { callColumns } from "./call/columns.js";

/** @param {{ params: { id: string } }} props */
export default function AssistantPage({ params: { id } }) {
  const one = useGet(`/user/assistant/${id}`);
  return html`<${Await} page of=${one}>${(/** @type {any} */ row) => html`<${One} row=${row} reload=${one.reload} />`}<//>`;
}

/** @param {{ row: any, reload: () => Promise<void> }} props */
function One({ row, reload }) {
  const tab = route.value.query.tab ?? "settings";
  const tabs = [
    ["settings", text.assistants.settings],
    ["calls", text.assistants.calls],
    ["json", text.json],
  ];
  return html`<${Top} row=${row} reload=${reload} />
    <${Tabs} name=${row.name} tabs=${tabs} open=${tab}
      choose=${(/** @type {string} */ key) => filter({ tab: key === "settings" ? null : key })}>
      ${
        tab === "calls"
          ? html`<${Calls} id=${row.id} />`
          : tab === "json"
            ? html`<${Json} value=${row}
        name=${text.json} />`
            : html`<${Settings} row=${row} reload=${reload} />`
      }
    <//>`;
}

/** @param {{ row: any, reload: () => Promise<void> }} props */
function Settings({ row, reload }) {
  const save = async (/** @type {any} */ body) => {
    const { message } = await patch(`/user/assistant/${row.id}`, body);
    await reload();
    toast(message);
  };
  const [beside, setBeside] = useState("try");
  return html`<div class="columns">
    <div class="stack"><${SchemaForm} schema="UpdateAssistant" stored=${row} draft=${`assistant:${row.id}`}
      save=${save} verb=${text.save} bar
        show=${(/** @type {string} */ name, /** @type {any} */ values) => applies(name, values.mode)} order=${place} sections=${(/** @type {any} */ { mode }) => sections(mode)} />
      ${row.type === "inbound" && html`<${InboundHook} row=${row} reload=${reload} />`}
      <${Embed} row=${row} /></div>
    <div class="stack beside">
      <div class="row" role="group" aria-label=${text.assistants.show}>${[
        ["try", text.assistants.tryIt],
        ["preview", text.assistants.preview],
      ].map(
        ([key, words]) =>
          html`<button type="button" key=${key} aria-pressed=${beside === key ? "true" : "false"}
            onClick=${() => setBeside(key)}>${words}</button>`,
      )}</div>
      ${/* A conversation goes on behind the preview. */ ""}
      <div class="stack" hidden=${beside !== "try"}><${TryIt} row=${row} /><${Talk} row=${row} /></div>
      ${beside === "preview" && html`<${Preview} row=${row} />`}
    </div></div>`;
}

/** @param {{ id: number }} props */
function Calls({ id }) {
  const { page } = route.value.query;
  const calls = useGet("/user/calls", { assistant_id: id, page, per_page: 25 });
  useEvery(calls.reload, page ? null : 4_000);
  return html`<${Panel} title=${text.assistants.calls} flush><${Await}
    of=${calls}>${(/** @type {any} */ of) => html`<${Table} label=${text.assistants.calls} columns=${callColumns()}
    rows=${of.data} href=${(/** @type {any} */ row) => to(`/calls/${row.id}`)} empty=${html`<${Empty}
    title=${text.calls.none} words=${text.calls.noneWords} />`} /><${Pager} of=${of} />`}<//><//>`;
}

/** @param {{ row: any, reload: () => Promise<void> }} props */
function Top({ row, reload }) {
  const [placing, setPlacing] = useState(false);
  const [turn, turning] = useAction(async () => {
    const { message } = await patch(`/user/assistant/${row.id}`, {
      status: row.status === "active" ? "inactive" : "active",
    });
    await reload();
    return message;
  });
  const [copy, copying] = useAction(async () => {
    const { message, data } = await create(`/user/assistant/${row.id}/duplicate`);
    go(to(`/assistants/${data.id}`));
    return message;
  });
  const [erase, erasing] = useAction(async () => {
    if (
      !(await confirm({
        title: text.assistants.erase,
        words: text.assistants.eraseWords,
        name: row.name,
        verb: text.erase,
      }))
    )
      return undefined;
    const { message } = await remove(`/user/assistant/${row.id}`);
    go(to("/assistants"));
    return message;
  });
  const place = async (/** @type {any} */ body) => {
    const { call_id: id } = await create("/user/make_call", body);
    go(to(`/calls/${id}`));
  };
  return html`<${Head} title=${row.name} up=${["/assistants", text.assistants.title]}
    sub=${html`<${Badge} state=${row.status} /><span>${text.states[row.type]}</span>
    <span>${text.states[row.mode]}</span><${Copy} value=${row.id} name=${text.calls.assistant} />`}>
      <button type="button" class="primary" onClick=${() => setPlacing(true)}>${text.assistants.place}</button>
      <button type="button" disabled=${turning}
        onClick=${turn}>${row.status === "active" ? text.assistants.deactivate : text.assistants.activate}</button>
      <button type="button" disabled=${copying} onClick=${copy}>${text.assistants.duplicate}</button>
      <button type="button" class="danger" disabled=${erasing} onClick=${erase}>${text.erase}</button>
    <//>
    ${
      placing &&
      html`<${Dialog} title=${text.assistants.place} close=${() => setPlacing(false)}><p
        class="muted small">${text.assistants.placeWords}</p>
      <${SchemaForm} schema="NewCall" draft=${`call-of:${row.id}`} preset=${{ assistant_id: row.id, variables: row.variables }}
        show=${(/** @type {string} */ name) => name !== "assistant_id"}
        save=${(/** @type {any} */ body) => place({ ...body, assistant_id: row.id })} verb=${text.assistants.place}
        cancel=${() => setPlacing(false)} /><//>`
    }`;
}
