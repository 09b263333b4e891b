// What was said and what happened between, in order. A time plays the recording from there; what is heard is marked and
// kept in view.

import { label, offset, span } from "../../format.js";
import { to } from "../../router.js";
import { text } from "../../text.js";
import { html, useEffect, useRef, useState } from "../../ui/base.js";
import { Badge, Empty, Json } from "../../ui/parts.js";
import { useGet } from "../../ui/resource.js";
import { heard } from "./model.js";

/** Entries that are shown at once; a button shows as many more. */
const STEP = 400;
/** Values that say nothing. */
const EMPTY = ["null", '""', "{}", "[]"];

/** @typedef {import("./model.js").Span} Span */

/** The knowledgebase of a call's assistant, and the names of its documents. @typedef {{ knowledgebase: number | null, names: Map<number, string> }} Documents */

/** Looked up only where something was searched for; a document that was deleted since, or is of another knowledgebase,
 * has no name. @param {number} assistant @param {boolean} wanted @returns {Documents} */
function useDocuments(assistant, wanted) {
  const of = useGet(wanted ? `/user/assistant/${assistant}` : null);
  const knowledgebase = of.data?.knowledgebase_id ?? null;
  const documents = useGet(knowledgebase === null ? null : `/user/knowledgebases/${knowledgebase}/documents`);
  const all = documents.data?.data ?? [];
  return { knowledgebase, names: new Map(all.map((/** @type {any} */ { id, name }) => [id, name])) };
}

/** @param {{ course: import("./model.js").Course, assistant: number, partial: any, at: import("@preact/signals").Signal<number | null>, seek: (ms: number) => void, runs: boolean, playing: { current: HTMLAudioElement | null } }} props */
export function Transcript({ course, assistant, partial, at, seek, runs, playing }) {
  const [shown, setShown] = useState(STEP);
  const { entries } = course;
  const documents = useDocuments(
    assistant,
    entries.some(({ kind }) => kind === "knowledge"),
  );
  const now = at.value === null ? null : heard(entries, at.value);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (now && playing.current && !playing.current.paused)
      box.current?.querySelector("[data-now]")?.scrollIntoView({ block: "nearest" });
  }, [now?.seq]);
  const silent = !runs && !entries.some(({ kind }) => kind === "said");
  if (!entries.length && !partial)
    return html`<${Empty} title=${runs ? text.call.waiting : text.call.nothing}
      words=${runs ? text.call.waitingWords : text.call.nothingWords} />`;
  return html`${silent && html`<${Empty} title=${text.call.nothing} words=${text.call.nothingWords} />`}<div class="panel"><ol class="said" ref=${box} aria-live=${runs ? "polite" : undefined}
    aria-label=${text.call.transcript}>
    ${entries.slice(0, shown).map(
      (one) => html`<${Entry} key=${one.seq}
      of=${one} now=${now?.seq === one.seq} seek=${seek} documents=${documents} />`,
    )}
    ${
      partial &&
      html`<li class="entry said partial"><span></span><span class="who">…</span>
      <div>${partial.text}</div></li>`
    }
  </ol>${
    entries.length > shown &&
    html`<div class="pager"><button type="button"
    onClick=${() => setShown(shown + STEP)}>${text.more(entries.length - shown)}</button></div>`
  }</div>`;
}

/** @param {{ of: Span, now: boolean, seek: (ms: number) => void, documents: Documents }} props */
function Entry({ of, now, seek, documents }) {
  const { kind, start, lane, event } = of;
  const who = kind === "said" ? text.call.who[lane] : (text.call.told[kind] ?? kind);
  return html`<li class=${`entry ${kind === "said" ? `said ${lane}` : "told"}${now ? " now" : ""}`}
    data-now=${now ? "" : undefined}>
    <button type="button" class="quiet at" aria-label=${text.call.playFrom(offset(start))}
      onClick=${() => seek(start)}>${offset(start)}</button>
    <span class="who">${who}</span>
    <div class="what">${kind === "said" ? html`<${Said} event=${event} />` : kind === "tool" ? html`<${Tool} event=${event} />` : kind === "knowledge" ? html`<${Knowledge} event=${event} documents=${documents} />` : html`<${Told} event=${event} />`}</div>
  </li>`;
}

/** @param {{ event: any }} props */
const Said = ({ event }) =>
  html`<span>${event.text}</span>${
    event.interrupted &&
    html` <${Badge} state="warn" tone="warn"
    words=${text.call.interrupted} />`
  }${
    event.language &&
    event.language !== "en" &&
    html` <span
    class="muted small">${event.language}</span>`
  }`;

/** A tool with its request and its answer. @param {{ event: any }} props */
function Tool({ event: { name, arguments: given, status, body, error, duration_ms: took } }) {
  const good = !error && status < 400;
  return html`<details><summary><code>${name}</code> <${Badge} state=${good ? "ok" : "failed"}
    words=${error ? text.call.noAnswer : String(status)} /> ${
      took !== null &&
      html`<span
    class="muted">${span(took)}</span>`
    }</summary>
    <div class="stack tight"><h3>${text.call.request}</h3><${Json} value=${given} name=${text.call.request} />
      <h3>${text.call.answer}</h3>${
        error
          ? html`<p>${error}</p>`
          : html`<${Json} value=${pretty(body)}
        name=${text.call.answer} />`
      }</div></details>`;
}

/** @param {string | null} body */
function pretty(body) {
  try {
    return JSON.stringify(JSON.parse(body ?? ""), null, 2);
  } catch {
    return body ?? "";
  }
}

/** What was looked for, and the documents in which it was found. @param {{ event: any, documents: Documents }} props */
function Knowledge({ event: { query, passages }, documents: { knowledgebase, names } }) {
  return html`<details><summary>“${query}” <span
    class="muted">${text.call.passages(passages?.length ?? 0)}</span></summary>
    <ul class="list stack tight">${(passages ?? []).map(
      (/** @type {any} */ { document_id: id, score }) => html`<li class="row">${
        names.has(id)
          ? html`<a href=${to(`/knowledge/${knowledgebase}`)}>${names.get(id)}</a>`
          : html`<span class="tag">${text.call.document(id)}</span>`
      }<span
      class="muted">${text.call.score(Number(score).toFixed(2))}</span></li>`,
    )}</ul></details>`;
}

/** Any other event in a line: its words, then its members. @param {{ event: any }} props */
const Told = ({ event }) =>
  html`<span class="muted">${members(event).map(
    ([name, said]) => html`<span class="member"><span>${name}</span> ${said}</span>`,
  )}</span>`;

/** An event in one line of text. @param {any} event */
export const sentence = (event) =>
  [
    text.call.told[event.type] ?? event.type,
    members(event)
      .map((one) => one.join(" "))
      .join(", "),
  ]
    .filter(Boolean)
    .join(": ");

/** Members of an event that say something: the name of each, and its words. @param {any} event @returns {[string, string][]} */
function members({ seq, at, type, evaluation, ...rest }) {
  return Object.entries(rest)
    .filter(([, value]) => !EMPTY.includes(JSON.stringify(value)))
    .map(([name, value]) => [label(name), words(name, value)]);
}

/** A member's value as people say it. @param {string} name @param {unknown} value */
function words(name, value) {
  if (typeof value === "object") return JSON.stringify(value);
  const said = String(value);
  if (name === "reason") return text.reasons[said.replaceAll("-", "_")] ?? said;
  return text.call.who[said] ?? text.states[said] ?? said;
}
