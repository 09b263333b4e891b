// What was said and what happened between, in order. A time plays the recording from there; what is heard is marked and
// kept in view.

import { label, offset, span } from "../../format.js";
import { text } from "../../text.js";
import { html, useEffect, useRef, useState } from "../../ui/base.js";
import { Badge, Empty, Json } from "../../ui/parts.js";
import { heard } from "./model.js";

/** Entries that are shown at once; a button shows as many more. */
const STEP = 400;
/** Values that say nothing. */
const EMPTY = ["null", '""', "{}", "[]"];

/** @typedef {import("./model.js").Span} Span */

/** @param {{ course: import("./model.js").Course, partial: any, at: import("@preact/signals").Signal<number | null>, seek: (ms: number) => void, runs: boolean, playing: { current: HTMLAudioElement | null } }} props */
export function Transcript({ course, partial, at, seek, runs, playing }) {
  const [shown, setShown] = useState(STEP);
  const { entries } = course;
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
      of=${one} now=${now?.seq === one.seq} seek=${seek} />`,
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

/** @param {{ of: Span, now: boolean, seek: (ms: number) => void }} props */
function Entry({ of, now, seek }) {
  const { kind, start, lane, event } = of;
  const who = kind === "said" ? text.call.who[lane] : (text.call.told[kind] ?? kind);
  return html`<li class=${`entry ${kind === "said" ? `said ${lane}` : "told"}${now ? " now" : ""}`}
    data-now=${now ? "" : undefined}>
    <button type="button" class="quiet at" aria-label=${text.call.playFrom(offset(start))}
      onClick=${() => seek(start)}>${offset(start)}</button>
    <span class="who">${who}</span>
    <div class="what">${kind === "said" ? html`<${Said} event=${event} />` : kind === "tool" ? html`<${Tool} event=${event} />` : kind === "knowledge" ? html`<${Knowledge} event=${event} />` : html`<${Told} event=${event} />`}</div>
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

/** @param {{ event: any }} props */
function Knowledge({ event: { query, passages } }) {
  return html`<details><summary>“${query}” <span
    class="muted">${text.call.passages(passages?.length ?? 0)}</span></summary>
    <ul class="list stack tight">${(passages ?? []).map(
      (/** @type {any} */ one) => html`<li class="row"><span
      class="tag">${text.call.document(one.document_id)}</span><span
      class="muted">${text.call.score(Number(one.score).toFixed(2))}</span></li>`,
    )}</ul></details>`;
}

/** Any other event in a line: its words, then its members. @param {{ event: any }} props */
function Told({ event }) {
  const { seq, at, type, evaluation, ...rest } = event;
  const members = Object.entries(rest).filter(([, value]) => !EMPTY.includes(JSON.stringify(value)));
  return html`<span class="muted">${members.map(
    ([name, value]) => html`<span class="member"><span>${label(name)}</span> ${words(name, value)}</span>`,
  )}</span>`;
}

/** A member's value as people say it. @param {string} name @param {unknown} value */
function words(name, value) {
  if (typeof value === "object") return JSON.stringify(value);
  const said = String(value);
  if (name === "reason") return text.reasons[said.replaceAll("-", "_")] ?? said;
  return text.call.who[said] ?? text.states[said] ?? said;
}
