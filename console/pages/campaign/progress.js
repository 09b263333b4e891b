// How far a campaign is: its leads by state, its calls by hour and by how they ended, and when it will be done.

import { ago, count, money, percent } from "../../format.js";
import { text } from "../../text.js";
import { html } from "../../ui/base.js";
import { Stacked } from "../../ui/chart.js";
import { Figures, Panel, Time } from "../../ui/parts.js";

/** States of leads, and the tone of each in a bar. @type {[string, string][]} */
const STATES = [
  ["completed", "good"],
  ["reached_max_retries", "warn"],
  ["blacklisted", "bad"],
  ["processing", ""],
  ["scheduled", ""],
  ["rescheduled", ""],
  ["created", ""],
];
const DONE = 3;

/** How many leads are done. @param {Record<string, number>} leads */
const doneOf = (leads) => STATES.slice(0, DONE).reduce((sum, [name]) => sum + (leads[name] ?? 0), 0);

/** The share of leads that are done, by how. @param {{ leads: Record<string, number> }} props */
export function LeadBar({ leads }) {
  const done = doneOf(leads);
  return html`<div class="row nowrap" style=${{ flexWrap: "nowrap" }}><div class="bar" style=${{ width: "7rem" }}
    role="img" aria-label=${percent(done, leads.total)}>
    ${STATES.slice(0, DONE).map(
      ([name, tone]) =>
        leads[name] > 0 &&
        html`<i key=${name} class=${tone}
      style=${{ width: percent(leads[name], leads.total) }}></i>`,
    )}</div><span
      class="small muted">${percent(done, leads.total)}</span></div>`;
}

/** @param {{ campaign: any }} props */
export function Progress({ campaign }) {
  const { leads, calls, by_hour: hours } = campaign;
  return html`<${Figures} of=${[
    [text.campaigns.total, count(leads.total)],
    [text.campaigns.placed, count(calls.placed), `${text.campaigns.running}: ${count(calls.running)}`],
    [text.campaigns.answered, count(calls.answered), percent(calls.answered, calls.placed)],
    [text.campaigns.goals, count(campaign.goals), percent(campaign.goals, calls.answered)],
    [text.campaigns.cost, money(campaign.cost)],
    [
      text.campaigns.forecast,
      campaign.forecast_at ? ago(campaign.forecast_at) : "–",
      campaign.forecast_at
        ? html`<${Time} at=${campaign.forecast_at} where=${campaign.timezone} />, ${text.campaigns.forecastNote}`
        : leads.total > 0 && doneOf(leads) === leads.total
          ? text.campaigns.allDone
          : text.home.noForecast,
    ],
  ]} />
    <div class="columns even">
      <${Panel} title=${text.campaigns.leads}>${STATES.map(
        ([name, tone]) => html`<${Share} key=${name}
        name=${text.campaigns.states[name]} part=${leads[name]} whole=${leads.total} tone=${tone} />`,
      )}<//>
      <${Panel} title=${text.campaigns.outcome}>${Object.keys(text.campaigns.ends).map(
        (name) => html`<${Share}
        key=${name}
        name=${text.campaigns.ends[name]} part=${calls[name]} whole=${calls.placed} tone=${name === "answered" ? "good" : name === "failed" ? "bad" : ""} />`,
      )}
        ${
          campaign.next_at &&
          html`<p
          class="muted small">${text.campaigns.nextAt}: <${Time} at=${campaign.next_at} where=${campaign.timezone} /></p>`
        }<//>
    </div>
    <${Panel}
      title=${text.campaigns.byHour}>${
        hours.length
          ? html`<${ByHour} hours=${hours} zone=${campaign.timezone} />`
          : html`<p
      class="muted">${text.campaigns.noCalls}</p>`
      }<//>`;
}

/** @param {{ hours: { hour: number, placed: number, answered: number }[], zone: string }} props */
function ByHour({ hours, zone }) {
  const x = Array.from({ length: 24 }, (_, hour) => hour);
  const of = (/** @type {number} */ hour) => hours.find((one) => one.hour === hour) ?? { placed: 0, answered: 0 };
  return html`<${Stacked}
    label=${text.campaigns.byHour} x=${x} xName=${text.campaigns.hour(zone)} xShown=${(/** @type {number} */ hour) => `${String(hour).padStart(2, "0")}:00`} shown=${(/** @type {number} */ value) => (Number.isInteger(value) ? count(value) : "")}
    series=${[
      { name: text.campaigns.answered, color: "--stage-2", values: x.map((hour) => of(hour).answered) },
      { name: text.campaigns.others, color: "--stage-5", values: x.map((hour) => of(hour).placed - of(hour).answered) },
    ]} />`;
}

/** @type {Record<string, string>} */
const COLORS = { good: "var(--good)", warn: "var(--customer-fill)", bad: "var(--bad)", "": "var(--accent)" };

/** @param {{ name: string, part: number, whole: number, tone: string }} props */
const Share = ({ name, part, whole, tone }) =>
  html`<div class="meter small"><span>${name}</span><div class="track">${
    part > 0 &&
    html`<i
    style=${{ width: percent(part, whole), background: COLORS[tone] }}></i>`
  }</div><span>${count(part)} <span
    class="muted">${percent(part, whole)}</span></span></div>`;
