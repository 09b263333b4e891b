// Home: what runs now, today beside a week ago, campaigns under way, and what needs somebody.

import { get, post } from "../api.js";
import { ago, count, minute, money, percent } from "../format.js";
import { follow } from "../live.js";
import { go, to } from "../router.js";
import { has } from "../schema.js";
import { text } from "../text.js";
import { html, useEffect, useState } from "../ui/base.js";
import { Badge, Await, Empty, Figures, Head, Panel } from "../ui/parts.js";
import { useAction, useEvery, useGet } from "../ui/resource.js";
import { Table } from "../ui/table.js";
import { callColumns } from "./call/columns.js";

/** How often figures are read while the page is seen, milliseconds; events of the feed have them read at once. */
const EVERY_MS = 5_000;

export default function Home() {
  const overview = useGet(has("GET", "/user/overview") ? "/user/overview" : null);
  const calls = useGet("/user/calls", { per_page: 8 });
  const assistants = useGet("/user/assistants/get", { per_page: 1 });
  const reload = () => (overview.reload(), calls.reload());
  const live = useFeed(reload);
  useEvery(reload, EVERY_MS);
  const fresh = assistants.data?.total === 0;
  return html`<${Head} title=${text.home.title} sub=${html`<${Badge} state=${live} tone=${live === "live" ? "live" : "warn"} words=${text.live[live]} />`} />
    ${fresh && html`<${Start} />`}
    ${has("GET", "/user/overview") && html`<${Await} of=${overview}>${(/** @type {any} */ { data }) => html`<${Overview} of=${data} />`}<//>`}
    <${Panel} title=${text.home.lately} flush actions=${html`<a href=${to("/calls")}>${text.home.all}</a>`}>
      <${Await} of=${calls}>${(/** @type {any} */ { data }) => html`<${Table} label=${text.home.lately} columns=${callColumns()} rows=${data} href=${(/** @type {any} */ row) => to(`/calls/${row.id}`)} empty=${html`<${Empty} title=${text.calls.none} words=${text.calls.noneWords} />`} />`}<//>
    <//>`;
}

/** Follows the account's feed from now on. @param {() => void} told @returns {import("../live.js").State} */
function useFeed(told) {
  const [state, setState] = useState(/** @type {import("../live.js").State} */ ("connecting"));
  useEffect(() => {
    let stop = () => {};
    let over = false;
    get("/user/events", { limit: 1 }).then(({ last_seq: last }) => {
      if (!over) stop = follow("/user/events", { after: last, message: told, state: setState });
    }, () => {});
    return () => {
      over = true;
      stop();
    };
  }, []);
  return state;
}

/** @param {{ of: any }} props */
function Overview({ of: { calls_now: now, today, last_week: week, campaigns, attention } }) {
  const beside = (/** @type {string} */ name, /** @type {(value: any) => string} */ shown) => /** @type {[string, any, any]} */ ([text.home[/** @type {"placed"} */ (name)], shown(today[name]), `${text.home.week} ${shown(week[name])}`]);
  return html`<${Figures} of=${[
      [text.home.now, html`<a href=${to("/calls", { status: "in-progress" })}>${count(now)}</a>`, text.home.nowNote],
      beside("placed", count),
      [text.home.answered, count(today.answered), `${percent(today.answered, today.placed)} · ${text.home.week} ${percent(week.answered, week.placed)}`],
      beside("minutes", count),
      beside("cost", money),
      beside("success", count),
    ]} />
    ${attention.length > 0 && html`<${Panel} title=${text.home.attention}><ul class="list stack tight">${attention.map((/** @type {any} */ one) => html`<li class="row" key=${one.code + one.reference}><${Badge} state="warn" tone="warn" words=${text.attention[one.code] ?? one.code} /><span>${one.message}</span>${place(one) && html`<a href=${place(one)}>${text.look}</a>`}</li>`)}</ul><//>`}
    ${campaigns.length > 0 && html`<${Panel} title=${text.home.campaigns}>${campaigns.map((/** @type {any} */ one) => html`<${Campaign} key=${one.id} of=${one} />`)}<//>`}`;
}

/** Where something that needs attention is seen to. @param {{ code: string, reference: any }} one */
function place({ code, reference }) {
  const [kind, id] = String(reference ?? "").split(/[ :/]/);
  if (kind === "knowledgebase" && id) return to(`/knowledge/${id}`);
  if (kind === "document") return to("/knowledge");
  if (kind === "campaign" && id) return to(`/campaigns/${id}`);
  if (kind === "assistant" && id) return to(`/assistants/${id}`);
  if (code.includes("webhook")) return to("/webhooks", { status: "exhausted" });
  return null;
}

/** @param {{ of: any }} props */
function Campaign({ of: { id, name, progress, forecast_at: forecast } }) {
  const { done, total } = share(progress);
  return html`<div class="meter"><a href=${to(`/campaigns/${id}`)}>${name}</a>
    <div class="track" role="img" aria-label=${percent(done, total)}><i style=${{ width: percent(done, total), background: "var(--accent)" }}></i></div>
    <span class="small muted">${percent(done, total)} · ${forecast ? text.home.until(minute(forecast), ago(forecast)) : text.home.noForecast}</span></div>`;
}

/** @param {any} progress a share of 1, or sums of leads */
function share(progress) {
  if (typeof progress === "number") return { done: progress, total: 1 };
  const leads = progress?.leads ?? progress ?? {};
  return { done: leads.done ?? (leads.completed ?? 0) + (leads.reached_max_retries ?? 0) + (leads.blacklisted ?? 0), total: leads.total ?? 0 };
}

/** The first steps of a new account, one click each. */
function Start() {
  const [make, busy] = useAction(async () => {
    const [voices, models, me] = await Promise.all([get("/user/assistants/voices", { mode: "pipeline", language_id: 1 }), get("/user/assistants/models", { type: "llm" }), get("/user/me")]);
    const { data } = await post("/user/assistant", { ...text.home.example, voice_id: voices[0].id, language_id: 1, type: "outbound", mode: "pipeline", timezone: me.timezone, llm_model_id: models[0].id });
    go(to(`/assistants/${data.id}`));
  });
  return html`<${Panel} title=${text.home.start}>
    <p>${text.home.startWords}</p>
    <ol>${text.home.steps.map((step) => html`<li>${step}</li>`)}</ol>
    <div class="row"><button type="button" class="primary" disabled=${busy} onClick=${make}>${text.home.make}</button><a href=${to("/assistants/new")}>${text.home.own}</a></div>
  <//>`;
}
