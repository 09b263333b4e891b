// One message of a conversation by text, with what the assistant asked of tools and of its knowledge before it said it.

import { text } from "../../text.js";
import { html } from "../../ui/base.js";
import { Json } from "../../ui/parts.js";

/** @typedef {{ role: "user" | "assistant", content: string, function_calls?: any[] }} Said */

/** The function by which a model searches the assistant's knowledgebase. */
const SEARCH = "search_knowledgebase";

/** @param {{ of: Said }} props */
export function Bubble({ of }) {
  return html`<div class=${`bubble ${of.role}`}><span class="visually-hidden">${text.conversations.says[of.role]}</span>
    ${(of.function_calls ?? []).map((call, at) => html`<${call.name === SEARCH ? Searched : Called} key=${at} of=${call} />`)}
    ${of.content}</div>`;
}

/** What was asked of a tool, and what it answered. @param {{ of: any }} props */
function Called({ of }) {
  return html`<details class="small"><summary>${text.conversations.asked(of.name)}</summary>
    <div class="stack tight"><strong>${text.conversations.request}</strong><${Json} value=${of.arguments}
      name=${text.conversations.request} /><strong>${text.conversations.answer}</strong><${Json} value=${of.result}
      name=${text.conversations.answer} /></div></details>`;
}

/** What was looked for in the knowledgebase, and the passages that were found. @param {{ of: any }} props */
function Searched({ of }) {
  const query = of.arguments?.query;
  return html`<details class="small"><summary>${text.conversations.searched(typeof query === "string" ? query : "")}</summary>
    <${Json} value=${of.result} name=${text.conversations.passages} /></details>`;
}
