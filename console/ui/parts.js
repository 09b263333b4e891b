// Small parts that every page is made of.

import { time, ago, zone } from "../format.js";
import { to } from "../router.js";
import { text } from "../text.js";
import { html, useEffect, useRef, useState } from "./base.js";
import { toast } from "./toast.js";

/** @typedef {import("preact").ComponentChildren} Children */

/** Which tone a state has. @type {Record<string, string>} */
const TONES = {
  completed: "good",
  active: "good",
  delivered: "good",
  answered: "good",
  true: "good",
  ok: "good",
  registered: "good",
  serving: "good",
  "in-progress": "live",
  ringing: "live",
  initiated: "live",
  processing: "live",
  running: "live",
  pending: "live",
  scheduled: "live",
  failed: "bad",
  exhausted: "bad",
  set_aside: "bad",
  suspended: "bad",
  blacklisted: "bad",
  unreachable: "bad",
  refused: "bad",
  deleting: "bad",
  gone: "bad",
  busy: "warn",
  "no-answer": "warn",
  stopped: "warn",
  rescheduled: "warn",
  retrying: "warn",
  "reached-max-retries": "warn",
  draining: "warn",
  ended: "good",
  ended_by_customer: "good",
  ended_by_assistant: "good",
};

/** A state, by a word and a tone. @param {{ state: string, tone?: string, words?: string }} props */
export function Badge({ state, tone, words }) {
  return html`<span class=${`badge ${tone ?? TONES[state] ?? ""}`}>${words ?? text.states[state] ?? state}</span>`;
}

/** How a webhook's delivery stands: one that failed so far says so. @param {{ of: any }} props */
export const DeliveryState = ({ of }) =>
  html`<${Badge} state=${of.status === "pending" && of.attempts.length ? "retrying" : of.status} />`;

/** @param {{ tone?: "bad" | "warn" | "", role?: string, children?: Children }} props */
export const Notice = ({ tone = "", role, children }) =>
  html`<div class=${`notice ${tone}`} role=${role}>${children}</div>`;

/** What stands where nothing is yet: what this is for, and the first step. @param {{ title: string, words: string, children?: Children }} props */
export const Empty = ({ title, words, children }) =>
  html`<div class="empty"><h2>${title}</h2><p>${words}</p>${children}</div>`;

/** Shown after a moment, so that fast answers do not flicker. */
export function Loading() {
  const [late, setLate] = useState(false);
  useEffect(() => {
    const timer = setTimeout(() => setLate(true), 150);
    return () => clearTimeout(timer);
  }, []);
  return html`<div class="loading" role="status">${late && html`<span class="spinner"></span> ${text.loading}`}</div>`;
}

/** An error with what to do. @param {{ error: Error, again?: () => void }} props */
export function Failure({ error, again }) {
  return html`<${Notice} tone="bad" role="alert">${error.message} ${
    again &&
    html`<button class="link" type="button"
    onClick=${again}>${text.again}</button>`
  }<//>`;
}

/** Waits for a resource: what is loading, why it failed, or what it is. With `page` it is what the page is about, whose
 * heading then says why there is none.
 * @param {{ of: import("./resource.js").Resource<any>, page?: boolean, children: (data: any) => Children }} props */
export function Await({ of: { data, error, reload }, page, children }) {
  if (data !== undefined) return html`${error && html`<${Failure} error=${error} again=${reload} />`}${children(data)}`;
  if (!error) return html`<${Loading} />`;
  return html`${page && html`<${Head} title=${error.message} />`}<${Failure} error=${error} again=${reload} />`;
}

/** Title of a page, where it belongs, and what can be done. @param {{ title: string, up?: [string, string], sub?: Children, children?: Children }} props */
export function Head({ title, up, sub, children }) {
  useEffect(() => {
    document.title = text.page(title);
  }, [title]);
  return html`<div class="head">
    <div>
      ${up && html`<p class="crumb"><a href=${to(up[0])}>${up[1]}</a></p>`}
      <h1 tabindex="-1">${title}</h1>
      ${sub && html`<div class="row muted">${sub}</div>`}
    </div>
    <div class="row">${children}</div>
  </div>`;
}

/** @param {{ title: string, level?: 2 | 3, actions?: Children, scroll?: boolean, flush?: boolean, children?: Children }} props */
export function Panel({ title, actions, flush, children }) {
  return html`<section class="panel" aria-label=${title}>
    <header><h2>${title}</h2>${actions && html`<div class="row">${actions}</div>`}</header>
    ${flush ? children : html`<div class="body">${children}</div>`}
  </section>`;
}

/** Pairs of name and value. @param {{ of: ([string, Children] | false | null | undefined)[] }} props */
export function Facts({ of }) {
  return html`<dl class="facts">${of.filter(Boolean).map(
    (pair) => html`<dt>${/** @type {any} */ (pair)[0]}</dt>
    <dd>${/** @type {any} */ (pair)[1] ?? "–"}</dd>`,
  )}</dl>`;
}

/** @param {{ of: ([string, Children, Children?] | false)[] }} props */
export function Figures({ of }) {
  return html`<dl class="figures">${of.filter(Boolean).map((one) => {
    const [name, value, note] = /** @type {[string, Children, Children?]} */ (one);
    return html`<div class="figure"><dt>${name}</dt><dd>${value}</dd>${
      note &&
      html`<dd
      class="small">${note}</dd>`
    }</div>`;
  })}</dl>`;
}

/** A time in the zone of the page, or in another one, which is then told; the distance is in its title. @param {{ at: string | null | undefined, where?: string }} props */
export function Time({ at, where }) {
  if (!at) return html`<span class="muted">–</span>`;
  return html`<time class="nowrap" dateTime=${at} title=${`${where ?? zone()}, ${ago(at)}`}>${time(at, where)}${
    where && where !== zone() && html` <span class="muted small">${where}</span>`
  }</time>`;
}

/** An instant as the service writes it. */
const INSTANT = /(\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(?:\.\d+)?Z)/;

/** A sentence of the service, its times as the reader has them. @param {{ words: string }} props */
export const Sentence = ({ words }) =>
  words.split(INSTANT).map((part, at) => (at % 2 ? html`<${Time} at=${part} />` : part));

/** Copies a text. Pages that came over plain HTTP from another machine have no clipboard: there its text on the page is
 * marked and copied, or at least marked. @param {string} value @param {HTMLElement} place @returns {Promise<boolean>} whether it was copied */
async function copied(value, place) {
  try {
    await navigator.clipboard.writeText(value);
    return true;
  } catch {
    getSelection()?.selectAllChildren(place);
    return document.execCommand("copy");
  }
}

/** A text that copies: an id, which is a number, a token, a URL. @param {{ value: string | number, name: string }} props */
export function Copy({ value, name }) {
  const place = useRef(/** @type {any} */ (null));
  return html`<span class="copy">${typeof value === "number" && html`<span class="muted small">${text.id}</span>`}<code ref=${place}>${value}</code><button type="button" class="quiet" aria-label=${text.copy(name)}
    onClick=${async () =>
      toast(
        (await copied(String(value), place.current)) ? text.copied(name) : text.marked(name),
      )}>${text.copyShort}</button></span>`;
}

/** Any JSON, as text. @param {{ value: unknown, name: string }} props */
export function Json({ value, name }) {
  const written = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return html`<pre tabindex="0" role="region" aria-label=${name}>${written}</pre>`;
}

/** Tabs; the chosen one stands in the address. @param {{ name: string, tabs: [string, string][], open: string, choose: (key: string) => void, children?: Children }} props */
export function Tabs({ name, tabs, open, choose, children }) {
  /** @param {KeyboardEvent} event */
  const turn = (event) => {
    const step = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (!step) return;
    const at = tabs.findIndex(([key]) => key === open);
    const next = tabs[(at + step + tabs.length) % tabs.length][0];
    choose(next);
    document.getElementById(`tab-${next}`)?.focus();
  };
  return html`<div class="stack">
    <div class="tabs" role="tablist" aria-label=${name} onKeyDown=${turn}>
      ${tabs.map(
        ([key, words]) => html`<button type="button" role="tab" id=${`tab-${key}`} key=${key}
        aria-selected=${key === open ? "true" : "false"} tabindex=${key === open ? 0 : -1} aria-controls="tab-panel"
        onClick=${() => choose(key)}>${words}</button>`,
      )}
    </div>
    <div class="stack" role="tabpanel" id="tab-panel" aria-labelledby=${`tab-${open}`}>${children}</div>
  </div>`;
}
