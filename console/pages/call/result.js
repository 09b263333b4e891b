// What came of a call, or of a conversation by text: its evaluation, and its variables with what was extracted.

import { text } from "../../text.js";
import { html } from "../../ui/base.js";
import { Badge, Facts, Panel } from "../../ui/parts.js";
import { outcome } from "./columns.js";

/** @param {{ of: any }} props */
export const Evaluation = ({ of }) =>
  of &&
  html`<${Panel} title=${text.call.evaluation}
    actions=${html`${outcome(of)}<${Badge} state=${of.sentiment} tone=${{ positive: "good", negative: "bad" }[/** @type {string} */ (of.sentiment)]} />`}>
    <p>${of.summary}</p><//>`;

/** @param {{ of: Record<string, any> }} props */
export function Variables({ of }) {
  const all = Object.entries(of ?? {});
  return all.length
    ? html`<${Panel} title=${text.call.variables}><${Facts}
      of=${all.map(([name, value]) => [name, typeof value === "string" ? value : html`<code>${JSON.stringify(value)}</code>`])} />
      <//>`
    : null;
}
