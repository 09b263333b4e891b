// One conversation by text: what was said, who answers, and how a person takes over from the assistant.

import { post, remove } from "../api.js";
import { money } from "../format.js";
import { go, to } from "../router.js";
import { text } from "../text.js";
import { html, useEffect, useRef } from "../ui/base.js";
import { confirm } from "../ui/dialog.js";
import { Await, Copy, Facts, Head, Notice, Panel, Time } from "../ui/parts.js";
import { useAction, useEvery, useGet } from "../ui/resource.js";
import { Evaluation, Variables } from "./call/result.js";
import { Bubble } from "./conversation/bubble.js";
import { Answers, customer } from "./conversations.js";

/** How often it is read while it is seen, milliseconds. */
const EVERY_MS = 3_000;

/** @param {{ params: { id: string } }} props */
export default function Conversation({ params: { id } }) {
  const one = useGet(`/user/conversations/${id}`);
  useEvery(one.reload, one.error ? null : EVERY_MS);
  return html`<${Await} page of=${one}>${(/** @type {any} */ row) => html`<${One} row=${row} reload=${one.reload} />`}<//>`;
}

/** @param {{ row: any, reload: () => Promise<void> }} props */
function One({ row, reload }) {
  const [turn, turning] = useAction(async () => {
    await post(`/automate/conversations/${row.id}/${row.ai_enabled ? "disable" : "enable"}-ai`);
    await reload();
    return row.ai_enabled ? text.conversations.taken : text.conversations.givenBack;
  });
  const [erase, erasing] = useAction(async () => {
    if (
      !(await confirm({
        title: text.conversations.erase,
        words: text.conversations.eraseWords,
        verb: text.erase,
      }))
    )
      return undefined;
    const { message } = await remove(`/user/conversations/${row.id}`);
    go(to("/conversations"));
    return message;
  });
  return html`<${Head} title=${text.conversations.with(customer(row) ?? text.conversations.somebody)} up=${["/conversations", text.conversations.title]}
    sub=${html`<${Answers} of=${row} /><span>${text.states[row.type] ?? row.type}</span><${Copy} value=${row.id}
    name=${text.conversations.id} />`}>
      <button type="button" class="primary" disabled=${turning}
        onClick=${turn}>${row.ai_enabled ? text.conversations.takeOver : text.conversations.giveBack}</button>
      <button type="button" class="danger" disabled=${erasing} onClick=${erase}>${text.erase}</button><//>
    ${!row.ai_enabled && html`<${Notice} tone="warn" role="status">${text.conversations.takenWords}<//>`}
    <div class="columns"><${Messages} of=${row.history} /><div class="stack">
      <${Panel} title=${text.call.facts}><${Facts} of=${[
        [
          text.conversations.assistant,
          html`<a href=${to(`/assistants/${row.assistant_id}`)}>${row.assistant_name}</a>`,
        ],
        row.customer?.name && [text.conversations.customer, row.customer.name],
        row.customer?.phone && [text.conversations.phone, row.customer.phone],
        row.external_identifier && [text.conversations.known, row.external_identifier],
        [text.conversations.began, html`<${Time} at=${row.created_at} />`],
        [text.conversations.last, html`<${Time} at=${row.updated_at} />`],
        [text.conversations.cost, money(row.total_cost)],
      ]} /><//>
      <${Evaluation} of=${row.evaluation} /><${Variables} of=${row.variables} /></div></div>`;
}

/** @param {{ of: import("./conversation/bubble.js").Said[] }} props */
function Messages({ of }) {
  const end = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => end.current?.scrollTo({ top: end.current.scrollHeight }), [of.length]);
  return html`<${Panel} title=${text.conversations.messages}>
    <div class="chat whole" role="log" aria-label=${text.conversations.messages} tabindex="0" ref=${end}>
      ${of.map((one, at) => html`<${Bubble} key=${at} of=${one} />`)}</div><//>`;
}
