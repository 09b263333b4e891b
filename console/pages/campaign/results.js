// The results of a campaign, a line for each lead: who it is, and what came of its last call.

import { send } from "../../api.js";
import { BYTE_ORDER_MARK, line, plain, rows } from "../../csv.js";

/** What a line says of a lead, before its variables. */
const OF_LEADS = ["lead_id", "contact_of", "phone_number", "status"];
/** What a line says of the last call, and of all calls together; the names are those of the API where it has one. */
const OF_CALLS = [
  "calls",
  "last_call_id",
  "last_call_at",
  "call_status",
  "ended_reason",
  "answered_by",
  "duration",
  "total_cost",
  "recording_url",
];

/** Calls of a lead: how many and their cost, and what a line says of the last one.
 * @typedef {{ calls: number, cost: number, last: string[], recording: string, variables: Record<string, unknown>, evaluation: Record<string, unknown> }} LeadResult */

/** The lines of a campaign's results as a file. @param {number} campaign @returns {Promise<Blob>} */
export async function results(campaign) {
  const list = async (/** @type {string} */ path) => {
    const response = await send("GET", path, { query: { campaign_id: campaign }, accept: "text/csv" });
    return rows(/** @type {ReadableStream<Uint8Array>} */ (response.body));
  };
  const calls = await resultsByLead(await list("/user/calls"));
  const leads = [];
  for await (const lead of await list("/user/leads")) leads.push(lead);
  return new Blob([BYTE_ORDER_MARK, ...sheet(leads, calls)], { type: "text/csv" });
}

/** What came of each lead's calls; these come newest first. @param {AsyncIterable<Record<string, string>>} calls
 * @returns {Promise<Map<string, LeadResult>>} */
export async function resultsByLead(calls) {
  const found = new Map();
  for await (const call of calls) {
    if (!call.lead_id) continue;
    const known = found.get(call.lead_id);
    const cost = Number(call.total_cost) || 0;
    if (known) {
      known.calls += 1;
      known.cost += cost;
    } else {
      const last = [call.id, call.created_at, call.status, call.ended_reason, call.answered_by, call.duration];
      const [variables, evaluation] = [members(call.variables), members(call.evaluation)];
      found.set(call.lead_id, { calls: 1, cost, last, recording: call.recording_url, variables, evaluation });
    }
  }
  return found;
}

/** A lead and its further contacts, which are called as leads are. @param {Record<string, string>} lead
 * @returns {{ id: string, of: string, phone_number: string, status: string, variables: Record<string, unknown> }[]} */
function leadAndContacts({ id, phone_number, status, variables, secondary_contacts }) {
  const own = members(variables);
  const contacts = /** @type {any[]} */ (JSON.parse(secondary_contacts || "[]"));
  return [
    { id, of: "", phone_number, status, variables: own },
    ...contacts.map((one) => ({
      ...one,
      id: String(one.id),
      of: id,
      phone_number: plain(one.phone_number),
      variables: { ...own, ...one.variables },
    })),
  ];
}

/** The lines: the names, then a lead each, as they were added.
 * @param {Record<string, string>[]} leads newest first @param {Map<string, LeadResult>} calls @returns {string[]} */
export function sheet(leads, calls) {
  const all = leads.toReversed().flatMap(leadAndContacts);
  const known = all.map((lead) => {
    const result = calls.get(lead.id);
    return { lead, result, variables: { ...lead.variables, ...result?.variables } };
  });
  const variables = names(known.map(({ variables }) => variables));
  const evaluation = names(known.map(({ result }) => result?.evaluation ?? {}));
  const fixed = [...OF_LEADS, ...OF_CALLS];
  const head = [
    ...OF_LEADS,
    ...variables.map((name) => (fixed.includes(name) ? `variables.${name}` : name)),
    ...OF_CALLS,
    ...evaluation.map((name) => `evaluation.${name}`),
  ];
  const lines = known.map(({ lead, result, variables: own }) =>
    line([
      lead.id,
      lead.of,
      lead.phone_number,
      lead.status,
      ...variables.map((name) => cell(own[name])),
      ...ofCalls(result),
      ...evaluation.map((name) => cell(result?.evaluation[name])),
    ]),
  );
  return [line(head.map(plain)), ...lines];
}

/** @param {LeadResult | undefined} result */
function ofCalls(result) {
  if (!result) return ["0", ...OF_CALLS.slice(1).map(() => "")];
  const cost = String(Math.round(result.cost * 1e6) / 1e6);
  return [String(result.calls), ...result.last, cost, result.recording];
}

/** All names of some objects, in the order in which they come. @param {Record<string, unknown>[]} objects */
const names = (objects) => [...new Set(objects.flatMap(Object.keys))];

/** The members of an object that a cell has as JSON. @param {string} cell @returns {Record<string, unknown>} */
function members(cell) {
  try {
    const value = JSON.parse(cell || "{}");
    return value && typeof value === "object" && !Array.isArray(value) ? value : {};
  } catch {
    return {};
  }
}

/** @param {unknown} value */
function cell(value) {
  if (value === null || value === undefined) return "";
  return plain(typeof value === "object" ? JSON.stringify(value) : String(value));
}
