// Columns of a list of calls, the same wherever calls are listed.

import { duration, money } from "../../format.js";
import { text } from "../../text.js";
import { html } from "../../ui/base.js";
import { Badge, Time } from "../../ui/parts.js";

/** Whether nothing more happens in a call of a state. @param {string} status */
export const over = (status) => ["completed", "busy", "no-answer", "failed"].includes(status);

/** Why a call ended, in words. @param {string | null} reason */
export const why = (reason) => (reason ? (text.reasons[reason] ?? reason) : "–");

/** @param {any} evaluation @returns {import("preact").ComponentChildren} */
export function outcome(evaluation) {
  if (!evaluation || evaluation.success === null || evaluation.success === undefined)
    return html`<span class="muted">–</span>`;
  return evaluation.success
    ? html`<${Badge} state="true" words=${text.calls.success} />`
    : html`<${Badge} state="failed" words=${text.calls.miss} />`;
}

/** @returns {import("../../ui/table.js").Column[]} */
export const callColumns = () => [
  { name: text.calls.when, cell: (row) => html`<${Time} at=${row.created_at} />` },
  {
    name: text.calls.customer,
    cell: (row) => html`<span class="nowrap">${row.client_phone_number ?? row.from_raw ?? "–"}</span>`,
  },
  { name: text.calls.assistant, cell: (row) => row.assistant_name, clip: true },
  { name: text.calls.type, cell: (row) => text.states[row.type] ?? row.type },
  { name: text.calls.status, cell: (row) => html`<${Badge} state=${row.status} />` },
  { name: text.calls.ended, cell: (row) => why(row.ended_reason) },
  { name: text.calls.outcome, cell: (row) => outcome(row.evaluation) },
  {
    name: text.calls.duration,
    cell: (row) => (over(row.status) || row.duration ? duration(row.duration) : "–"),
    number: true,
  },
  { name: text.calls.cost, cell: (row) => money(row.total_cost, true), number: true },
];
