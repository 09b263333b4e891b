// A call's events as the service keeps them.

import { clock, offset } from "../../format.js";
import { text } from "../../text.js";
import { html, useState } from "../../ui/base.js";
import { Panel } from "../../ui/parts.js";
import { Table } from "../../ui/table.js";

const STEP = 200;

/** @param {{ events: import("./model.js").Event[], zero: number }} props */
export function Events({ events, zero }) {
  const [shown, setShown] = useState(STEP);
  const columns = [
    { name: text.call.seq, cell: (/** @type {any} */ row) => row.seq, number: true },
    { name: text.call.offset, cell: (/** @type {any} */ row) => signed(Date.parse(row.at) - zero), number: true },
    {
      name: text.call.clock,
      cell: (/** @type {any} */ row) => html`<span class="nowrap">${clock(row.at)}</span>`,
    },
    { name: text.call.type, cell: (/** @type {any} */ row) => html`<code>${row.type}</code>` },
    {
      name: text.call.members,
      cell: (/** @type {any} */ { seq, at, type, ...rest }) =>
        Object.keys(rest).length ? html`<code>${JSON.stringify(rest)}</code>` : "",
      clip: true,
    },
  ];
  return html`<${Panel} title=${text.call.events} flush><${Table} label=${text.call.events} columns=${columns}
    rows=${events.slice(0, shown)} />
    ${
      events.length > shown &&
      html`<div class="pager"><button type="button"
      onClick=${() => setShown(shown + STEP)}>${text.more(events.length - shown)}</button></div>`
    }<//>`;
}

/** @param {number} ms */
const signed = (ms) => (ms < 0 ? `−${offset(-ms)}` : offset(ms));
