// One delivery of a webhook: what was sent, each try, and what the receiver answered.

import { get } from "../../api.js";
import { span } from "../../format.js";
import { text } from "../../text.js";
import { html } from "../../ui/base.js";
import { Dialog } from "../../ui/dialog.js";
import { Await, DeliveryState, Facts, Json, Time } from "../../ui/parts.js";
import { useGet } from "../../ui/resource.js";

/** How a try went. @param {{ of: any }} props */
export const Attempt = ({ of }) =>
  html`${of.status ?? of.error} ${of.duration_ms !== null && html`<span class="muted">${span(of.duration_ms)}</span>`}`;

/** @param {{ row: any, close: () => void }} props */
export function Delivery({ row, close }) {
  return html`<${Dialog} title=${`${row.event}, ${row.webhook_id}`} kind="broad" close=${close}>
    <${Facts} of=${[
      [text.webhooks.url, row.url],
      [text.webhooks.status, html`<${DeliveryState} of=${row} />`],
      [text.webhooks.at, html`<${Time} at=${row.created_at} />`],
    ]} />
    <h3>${text.webhooks.payload}</h3><${Payload} id=${row.webhook_id} />
    <h3>${text.webhooks.attempts}</h3>
    ${
      row.attempts.length
        ? html`<ol class="small">${row.attempts.map(
            (/** @type {any} */ one) => html`<li key=${one.at}><${Time} at=${one.at} /> <${Attempt} of=${one} /></li>`,
          )}</ol>`
        : html`<p class="muted">${text.webhooks.untried}</p>`
    }
    ${row.call_id && html`<${Answer} call=${row.call_id} />`}
    <div class="row"><button type="button" onClick=${close}>${text.close}</button></div><//>`;
}

/** What is sent: the payload that the event has in the feed, as long as it is there. @param {{ id: string }} props */
function Payload({ id }) {
  const seq = Number(id.split("_").at(-1));
  const found = useGet("/user/events", { after: seq - 1, limit: 1 }, (path, query, signal) =>
    get(path, query, signal).then(({ data }) => data.find((/** @type {any} */ one) => one.id === id) ?? null),
  );
  return html`<${Await} of=${found}>${(/** @type {any} */ event) =>
    event
      ? html`<${Json} value=${event.payload} name=${text.webhooks.payload} />`
      : html`<p class="muted">${text.webhooks.noPayload}</p>`}<//>`;
}

/** What was answered last of what was sent about a call. @param {{ call: number }} props */
function Answer({ call }) {
  const found = useGet(`/user/calls/${call}`);
  return html`<h3>${text.webhooks.answer}</h3><${Await} of=${found}>${(
    /** @type {any} */ { webhook_response: told },
  ) =>
    told
      ? html`<${Json} value=${told} name=${text.webhooks.answer} />`
      : html`<p class="muted">${text.webhooks.noAnswer}</p>`}<//>`;
}
