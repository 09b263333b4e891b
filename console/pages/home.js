// Home: what runs now, today beside a week ago, campaigns under way, and what needs somebody.

import { create, get } from "../api.js";
import { ago, count, label, minute, money, percent } from "../format.js";
import { go, to } from "../router.js";
import { has } from "../schema.js";
import { text } from "../text.js";
import { html } from "../ui/base.js";
import { useFeed } from "../ui/feed.js";
import { Badge, Await, Empty, Figures, Head, Panel, Sentence } from "../ui/parts.js";
import { useAction, useEvery, useGet, useUnhurried } from "../ui/resource.js";
import { Table } from "../ui/table.js";
import { callColumns } from "./call/columns.js";

/** How often figures are read while the page is seen, milliseconds; events of the feed have them read at once, but no
 * more often than after a pause. */
const EVERY_MS = 5_000;
const PAUSE_MS = 2_000;

export default function Home() {
  const overview = useGet(has("GET", "/user/overview") ? "/user/overview" : null);
  const calls = useGet("/user/calls", { per_page: 8 });
  const assistants = useGet("/user/assistants/get", { per_page: 1 });
  const reload = useUnhurried(() => Promise.all([overview.reload(), calls.reload()]), PAUSE_MS);
  const live = useFeed(() => document.visibilityState === "visible" && reload());
  useEvery(reload, EVERY_MS);
  const fresh = assistants.data?.total === 0;
  return html`<${Head} title=${text.home.title}
    sub=${html`<${Badge} state=${live} tone=${live === "live" ? "live" : "warn"} words=${text.live[live]} />`} />
    ${fresh && html`<${Start} />`}
    ${
      has("GET", "/user/overview") &&
      html`<${Await}
      of=${overview}>${(/** @type {any} */ { data }) => html`<${Overview} of=${data} />`}<//>`
    }
    <${Panel} title=${text.home.lately} flush actions=${html`<a href=${to("/calls")}>${text.home.all}</a>`}>
      <${Await} of=${calls}>${(/** @type {any} */ { data }) => html`<${Table} label=${text.home.lately}
        columns=${callColumns()} rows=${data} href=${(/** @type {any} */ row) => to(`/calls/${row.id}`)}
        empty=${html`<${Empty} title=${text.calls.none} words=${text.calls.noneWords} />`} />`}<//>
    <//>`;
}

/** Days that the figures of last week are the sum of. */
const WEEK_DAYS = 7;

/** @param {{ of: any }} props */
function Overview({ of: { calls_now: now, today, last_week: week, campaigns, attention } }) {
  const beside = (
    /** @type {"placed" | "minutes" | "cost" | "success"} */ name,
    /** @type {(value: number) => string} */ shown,
  ) => [text.home[name], shown(today[name]), text.home.week(text.home.daily(shown(week[name] / WEEK_DAYS)))];
  return html`<${Figures} of=${[
    [text.home.now, count(now), html`<${States} />`],
    beside("placed", rounded),
    [text.home.answered, percent(today.answered, today.placed), text.home.week(percent(week.answered, week.placed))],
    beside("minutes", rounded),
    beside("cost", money),
    [text.home.success, percent(today.success, today.answered), text.home.week(percent(week.success, week.answered))],
  ]} />
    ${
      attention.length > 0 &&
      html`<${Panel} title=${text.home.attention}><ul
      class="list stack tight">${attention.map(
        (/** @type {any} */ one) => html`<${Attention}
      key=${one.code + one.reference} of=${one} />`,
      )}</ul><//>`
    }
    ${
      campaigns.length > 0 &&
      html`<${Panel}
      title=${text.home.campaigns}>${campaigns.map(
        (/** @type {any} */ one) => html`<${Campaign} key=${one.id}
      of=${one} />`,
      )}<//>`
    }`;
}

/** States of the calls of now, each with its list: a list is of one state. */
const States = () =>
  ["initiated", "ringing", "in-progress"].map(
    (status, at) => html`${at > 0 && ", "}<a href=${to("/calls", { status })}>${text.states[status]}</a>`,
  );

/** @param {number} value */
const rounded = (value) => count(Math.round(value * 10) / 10);

/** @param {{ of: any }} props */
function Attention({ of }) {
  const href = place(of.reference);
  return html`<li class="row"><${Badge} state="warn" tone="warn" words=${text.attention[of.code] ?? label(of.code)} />
    <span class="grow"><${Sentence} words=${of.message} /></span>${
      href &&
      html`<a href=${href}>${text.look}<span
    class="visually-hidden">: ${text.attention[of.code] ?? of.code}</span></a>`
    }</li>`;
}

/** Pages of what a reference names. @type {Record<string, (id: string) => string>} */
const PLACES = {
  assistant: (id) => to(`/assistants/${id}`),
  knowledgebase: (id) => to(`/knowledge/${id}`),
  campaign: (id) => to(`/campaigns/${id}`),
  number: () => to("/numbers"),
  trunk: (id) => to(`/numbers/trunks/${id}`),
  call: (id) => to(`/calls/${id}`),
  account: () => to("/account"),
};

/** Where something that needs attention is seen to. @param {string} reference a kind and an id */
function place(reference) {
  const [kind, id] = reference.split(" ");
  return PLACES[kind]?.(id) ?? null;
}

/** @param {{ of: any }} props */
function Campaign({ of: { id, name, progress, forecast_at: forecast } }) {
  return html`<div class="stack tight"><div class="row spread"><a href=${to(`/campaigns/${id}`)}>${name}</a><span
    class="small muted">${percent(progress, 1)} · ${forecast ? text.home.until(minute(forecast), ago(forecast)) : text.home.noForecast}</span></div>
    <div class="bar" role="img" aria-label=${percent(progress, 1)}><i
      style=${{ width: percent(progress, 1) }}></i></div></div>`;
}

/** The first steps of a new account, one click each. */
function Start() {
  const [make, busy] = useAction(async () => {
    const [voices, models, me] = await Promise.all([
      get("/user/assistants/voices", { mode: "pipeline", language_id: 1 }),
      get("/user/assistants/models", { type: "llm" }),
      get("/user/me"),
    ]);
    const { data } = await create("/user/assistant", {
      ...text.home.example,
      voice_id: voices[0].id,
      language_id: 1,
      type: "outbound",
      mode: "pipeline",
      timezone: me.timezone,
      llm_model_id: models[0].id,
    });
    go(to(`/assistants/${data.id}`));
  });
  return html`<${Panel} title=${text.home.start}>
    <p>${text.home.startWords}</p>
    <ol>${text.home.steps.map((step) => html`<li>${step}</li>`)}</ol>
    <div class="row"><button type="button" class="primary" disabled=${busy} onClick=${make}>${text.home.make}</button>
      <a href=${to("/assistants/new")}>${text.home.own}</a></div>
  <//>`;
}
