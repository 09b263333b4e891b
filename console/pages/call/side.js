// Beside a call: its facts, what came of it, latency, cost, and what was sent about it.

import { post } from "../../api.js";
import { label, money, percent, span } from "../../format.js";
import { to } from "../../router.js";
import { text } from "../../text.js";
import { html, useEffect, useState } from "../../ui/base.js";
import { Stacked } from "../../ui/chart.js";
import { Await, DeliveryState, Facts, Json, Panel, Time } from "../../ui/parts.js";
import { useAction, useEvery, useGet } from "../../ui/resource.js";
import { over, why } from "./columns.js";
import { STAGES } from "./model.js";
import { Evaluation, Variables } from "./result.js";

/** How long webhooks are waited for once a call is over, milliseconds. */
const LATER_MS = 30_000;

/** @param {{ call: any, course: import("./model.js").Course }} props */
export function Side({ call, course }) {
  return html`<div class="stack">
    <${Panel} title=${text.call.facts}><${Facts} of=${[
      [text.calls.assistant, html`<a href=${to(`/assistants/${call.assistant_id}`)}>${call.assistant_name}</a>`],
      call.campaign_id && [
        text.call.campaign,
        html`<a href=${to(`/campaigns/${call.campaign_id}`)}>${call.campaign_name}</a>`,
      ],
      call.lead_id && [
        text.call.lead,
        html`<a href=${to(`/campaigns/${call.campaign_id}/leads/${call.lead_id}`)}>${call.lead_id}</a>`,
      ],
      [text.calls.customer, call.client_phone_number ?? call.from_raw],
      [text.call.ours, call.assistant_phone_number],
      [text.call.answeredBy, text.states[call.answered_by] ?? call.answered_by],
      [text.calls.ended, html`${why(call.ended_reason)}${explained(call.ended_reason)}`],
      [text.call.waited, span(course.waited)],
      course.quality && [text.call.quality, quality(course.quality)],
    ]} /><//>
    <${Evaluation} of=${call.evaluation} />
    <${Variables} of=${call.variables} />
    <${Latency} of=${call.latency} turns=${course.turns} />
    <${Cost} call=${call} />
    <${Deliveries} call=${call} />
  </div>`;
}

/** What is behind the reason of a call that went wrong. @param {string | null} reason */
const explained = (reason) =>
  reason && text.explained[reason] ? html`<p class="muted small">${text.explained[reason]}</p>` : null;

/** @param {any} event */
const quality = ({ mos, loss, jitter_ms: jitter, rtt_ms: rtt, codec }) =>
  text.call.qualityWords(
    mos ?? "–",
    loss === null || loss === undefined ? "–" : `${(loss * 100).toFixed(2)}%`,
    span(jitter),
    span(rtt),
    codec ?? "–",
  );

/** @param {{ of: any, turns: import("./model.js").Turn[] }} props */
function Latency({ of, turns }) {
  if (!of && !turns.length) return null;
  const stages = of?.stages ?? {};
  const most = Math.max(1, ...STAGES.map((name) => stages[name] ?? 0));
  return html`<${Panel} title=${text.call.latency}>
    ${
      of &&
      html`<p>${text.call.latencyWords(span(of.p50), span(of.p90), span(of.max), of.turns)}</p>
      ${STAGES.filter((name) => stages[name] !== null && stages[name] !== undefined).map(
        (name) => html`<div class="meter small" key=${name}><span>${text.call.stages[name]}</span>
        <div class="track"><i
          style=${{ width: percent(stages[name], most), background: `var(--stage-${STAGES.indexOf(name) + 1})` }}></i></div>
          <span>${span(stages[name])}</span></div>`,
      )}`
    }
    ${
      turns.length > 1 &&
      html`<h3>${text.call.byTurn}</h3><${Stacked}
        label=${text.call.byTurn} x=${turns.map((_, at) => at)} xName=${text.call.turn}
      series=${STAGES.filter((name) => turns.some((one) => one.stages[name])).map((name) => ({ name: text.call.stages[name], color: `--stage-${STAGES.indexOf(name) + 1}`, values: turns.map((one) => one.stages[name] ?? 0) }))} shown=${span}
      xShown=${(/** @type {number} */ at) => String(turns[at]?.turn ?? "")} />`
    }
  <//>`;
}

/** @param {{ call: any }} props */
function Cost({ call }) {
  const parts = Object.entries(call.cost_breakdown ?? {}).filter(([, value]) => value);
  return html`<${Panel} title=${text.calls.cost} actions=${html`<strong>${money(call.total_cost)}</strong>`}>
    ${
      parts.length
        ? parts.map(
            ([name, value]) =>
              html`<div class="meter small" key=${name}><span>${text.call.parts[name] ?? label(name)}</span><div
                class="track"><i
                style=${{ width: percent(Number(value), call.total_cost), background: "var(--accent)" }}></i></div>
                <span>${money(Number(value), true)}</span></div>`,
          )
        : html`<${Facts} of=${[
            [text.call.carrier, money(call.carrier_cost)],
            [text.call.rest, money(call.total_cost - call.carrier_cost)],
          ]} />`
    }
  <//>`;
}

/** @param {{ call: any }} props */
function Deliveries({ call }) {
  const list = useGet("/user/webhook-deliveries", { call_id: call.id, per_page: 20 });
  const waits = list.data?.data.some((/** @type {any} */ one) => one.status === "pending");
  // What is sent when a call is over comes a little later.
  const [isOver, setIsOver] = useState(over(call.status));
  useEffect(() => {
    const timer = over(call.status) ? setTimeout(() => setIsOver(true), LATER_MS) : 0;
    return () => clearTimeout(timer);
  }, [call.status]);
  useEvery(list.reload, waits || !isOver ? 3_000 : null);
  const [resend, busy] = useAction(async (/** @type {number} */ id) => {
    const { message } = await post(`/user/webhook-deliveries/${id}/resend`);
    await list.reload();
    return message;
  });
  return html`<${Panel} title=${text.call.webhooks}><${Await} of=${list}>${(/** @type {any} */ { data }) =>
    data.length === 0
      ? html`<p class="muted">${text.call.noWebhooks}</p>`
      : data.map(
          (/** @type {any} */ one) => html`<div class="item" key=${one.id}>
      <div class="row spread"><code>${one.event}</code><${DeliveryState} of=${one} /></div>
      <p class="small">${one.url}</p>
      <ul class="list small">${one.attempts.map(
        (/** @type {any} */ attempt) => html`<li>
        <${Time} at=${attempt.at} /> ${attempt.status ?? attempt.error} ${
          attempt.duration_ms !== null &&
          html`<span
        class="muted">${span(attempt.duration_ms)}</span>`
        }</li>`,
      )}</ul>
      ${
        one.next_attempt_at &&
        html`<p
        class="small muted">${text.webhooks.next} <${Time} at=${one.next_attempt_at} /></p>`
      }
      <div><button type="button" disabled=${busy}
        onClick=${() => resend(one.id)}>${text.webhooks.resend}</button></div></div>`,
        )}<//>
    ${
      call.webhook_response &&
      html`<details><summary>${text.call.lastAnswer}</summary><${Json}
      value=${call.webhook_response} name=${text.call.lastAnswer} /></details>`
    }<//>`;
}
