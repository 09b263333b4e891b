// Webhooks: what was sent and what came of it, the secrets that sign it, and the account's feed as it happens.

import { post } from "../api.js";
import { time } from "../format.js";
import { go, route, to } from "../router.js";
import { parameters } from "../schema.js";
import { text } from "../text.js";
import { html, useState } from "../ui/base.js";
import { confirm } from "../ui/dialog.js";
import { useFeed } from "../ui/feed.js";
import { Await, Badge, Copy, DeliveryState, Empty, Head, Json, Notice, Panel, Tabs, Time } from "../ui/parts.js";
import { useAction, useEvery, useGet } from "../ui/resource.js";
import { Filters, Pager, Table } from "../ui/table.js";
import { Attempt, Delivery } from "./webhooks/delivery.js";

export default function Webhooks() {
  const tab = route.value.query.tab ?? "deliveries";
  return html`<${Head} title=${text.webhooks.title} />
    <${Tabs} name=${text.webhooks.title} open=${tab}
      choose=${(/** @type {string} */ key) => go(to("/webhooks", { tab: key === "deliveries" ? null : key }), { replace: true })}
      tabs=${[
        ["deliveries", text.webhooks.deliveries],
        ["feed", text.webhooks.feed],
        ["secrets", text.webhooks.secrets],
      ]}>
      ${tab === "feed" ? html`<${Feed} />` : tab === "secrets" ? html`<${Secrets} />` : html`<${Deliveries} />`}<//>`;
}

function Deliveries() {
  const { query } = route.value;
  const known = parameters("/user/webhook-deliveries");
  const names = ["status", "call_id"];
  const list = useGet("/user/webhook-deliveries", {
    status: query.status,
    call_id: query.call_id,
    page: query.page,
    per_page: 25,
  });
  useEvery(list.reload, query.page ? null : 5_000);
  const [looked, setLooked] = useState(/** @type {any} */ (null));
  const [resend, busy] = useAction(async (/** @type {number} */ id) => {
    const { message } = await post(`/user/webhook-deliveries/${id}/resend`);
    await list.reload();
    return message;
  });
  return html`<${Filters} fields=${names.map((name) => known[name])} names=${text.webhooks.filters} />
    <section class="panel" aria-label=${text.webhooks.deliveries}><${Await}
      of=${list}>${(/** @type {any} */ page) => html`<${Table} label=${text.webhooks.deliveries}
      columns=${columns(setLooked, resend, busy)} rows=${page.data} empty=${html`<${Empty} title=${query.status || query.call_id ? text.nothingFits : text.webhooks.none}
      words=${query.status || query.call_id ? text.webhooks.noMatch : text.webhooks.noneWords} />`} /><${Pager}
      of=${page} />`}<//></section>
    ${looked && html`<${Delivery} row=${looked} close=${() => setLooked(null)} />`}`;
}

/** @param {(row: any) => void} look @param {(id: number) => void} resend @param {boolean} busy @returns {import("../ui/table.js").Column[]} */
const columns = (look, resend, busy) => [
  { name: text.webhooks.at, cell: (row) => html`<${Time} at=${row.created_at} />` },
  { name: text.webhooks.event, cell: (row) => html`<code>${row.event}</code>` },
  {
    name: text.webhooks.about,
    cell: (row) =>
      row.call_id
        ? html`<a href=${to(`/calls/${row.call_id}`)}>${text.calls.number(row.call_id)}</a>`
        : html`<a href=${to(`/conversations/${row.conversation_id}`)}>${text.webhooks.conversation}</a>`,
  },
  { name: text.webhooks.url, cell: (row) => row.url, clip: true },
  {
    name: text.webhooks.status,
    cell: (row) =>
      html`<${DeliveryState} of=${row} />${
        row.next_attempt_at &&
        html`<p
        class="small muted">${text.webhooks.next} <${Time} at=${row.next_attempt_at} /></p>`
      }`,
  },
  { name: text.webhooks.last, cell: (row) => html`<${Attempts} of=${row.attempts} />`, clip: true },
  {
    name: "",
    cell: (row) =>
      html`<span class="row"><button type="button" class="quiet" aria-label=${`${text.look}: ${row.webhook_id}`}
        onClick=${() => look(row)}>${text.look}</button><button type="button" class="quiet" disabled=${busy}
        aria-label=${`${text.webhooks.resend}: ${row.webhook_id}`}
        onClick=${() => resend(row.id)}>${text.webhooks.resend}</button></span>`,
  },
];

/** @param {{ of: any[] }} props */
function Attempts({ of }) {
  const last = of.at(-1);
  if (!last) return html`<span class="muted">–</span>`;
  return of.length === 1
    ? html`<${Attempt} of=${last} />`
    : html`<details><summary><${Attempt} of=${last} /></summary><ol class="small">${of.map(
        (one) => html`<li><${Time} at=${one.at} /> <${Attempt} of=${one} /></li>`,
      )}</ol></details>`;
}

function Secrets() {
  const list = useGet("/user/webhook-secrets");
  const [shown, setShown] = useState(false);
  const [rotate, busy] = useAction(async () => {
    // At most two, the newest last: the older one makes room.
    const [stays, ends] = list.data.secrets.map((/** @type {any} */ one) => time(one.created_at)).reverse();
    if (
      !(await confirm({
        title: text.webhooks.rotateTitle(ends ?? null),
        words: text.webhooks.rotateWords(stays),
        verb: text.webhooks.rotate,
      }))
    )
      return undefined;
    const { message } = await post("/user/webhook-secrets/rotate");
    await list.reload();
    return message;
  });
  return html`<${Panel} title=${text.webhooks.secrets} actions=${html`<button type="button"
    onClick=${() => setShown(!shown)}>${shown ? text.webhooks.hide : text.webhooks.reveal}</button><button
    type="button" disabled=${busy || !list.data} onClick=${rotate}>${text.webhooks.rotate}</button>`}>
    <p class="muted">${text.webhooks.secretsWords}</p>
    <${Await} of=${list}>${(/** @type {any} */ { secrets }) => html`<ul
      class="list stack tight">${secrets.map(
        (/** @type {any} */ one) => html`<li class="row spread"
      key=${one.id}>${
        shown
          ? html`<${Copy} value=${one.secret}
      name=${text.webhooks.secrets} />`
          : html`<code>whsec_••••••••</code>`
      }<span class="muted small">
      <${Time} at=${one.created_at} /></span></li>`,
      )}</ul>`}<//>
  <//>`;
}

/** Events that are kept on the page. */
const FEED_MAX = 200;
/** Events of before that it begins with. */
const FEED_BACK = 20;

function Feed() {
  const [events, setEvents] = useState(/** @type {any[]} */ ([]));
  const state = useFeed((event) => setEvents((all) => [event, ...all].slice(0, FEED_MAX)), FEED_BACK);
  return html`<${Panel} title=${text.webhooks.feed}
    actions=${html`<${Badge} state=${state} tone=${state === "live" ? "live" : "warn"} words=${text.live[state]} />`}>
    <p class="muted">${text.webhooks.feedWords}</p>
    ${!events.length && html`<${Notice}>${text.webhooks.feedEmpty}<//>`}
    <ol class="list stack tight" aria-label=${text.webhooks.feed}>${events.map(
      (event) => html`<li class="item"
      key=${event.seq}><details><summary><code>${event.event}</code> <span
      class="muted small">${event.seq} · <${Time} at=${event.created_at} /></span></summary><${Json}
      value=${event.payload} name=${text.webhooks.payload} /></details></li>`,
    )}</ol><//>`;
}
