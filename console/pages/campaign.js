// One campaign: how far it is, its leads, its settings; started and stopped.

import { download, patch, post, remove, save } from "../api.js";
import { count, label } from "../format.js";
import { go, route, to } from "../router.js";
import { answers } from "../schema.js";
import { text } from "../text.js";
import { html } from "../ui/base.js";
import { confirm } from "../ui/dialog.js";
import { SchemaForm } from "../ui/form.js";
import { Await, Badge, Copy, Head, Json, Tabs } from "../ui/parts.js";
import { useAction, useEvery, useGet } from "../ui/resource.js";
import { toast } from "../ui/toast.js";
import { Leads } from "./campaign/leads.js";
import { Progress } from "./campaign/progress.js";
import { results } from "./campaign/results.js";

/** @param {{ params: { id: string } }} props */
export default function CampaignPage({ params: { id } }) {
  const one = useGet(`/user/campaigns/${id}`);
  // Calls that run when it is stopped go on to their end.
  useEvery(one.reload, one.data?.status === "in-progress" || one.data?.calls.running > 0 ? 2_000 : null);
  return html`<${Await} page
    of=${one}>${(/** @type {any} */ campaign) => html`<${One} campaign=${campaign} reload=${one.reload} />`}<//>`;
}

/** @param {{ campaign: any, reload: () => Promise<void> }} props */
function One({ campaign, reload }) {
  const tab = route.value.query.tab ?? "overview";
  const change = async (/** @type {any} */ body) => {
    const { message } = await patch(`/user/campaigns/${campaign.id}`, body);
    await reload();
    toast(message);
  };
  return html`<${Top} campaign=${campaign} reload=${reload} />
    <${Tabs} name=${campaign.name} open=${tab}
      choose=${(/** @type {string} */ key) => go(to(`/campaigns/${campaign.id}`, { tab: key === "overview" ? null : key }), { replace: true })}
      tabs=${[
        ["overview", text.campaigns.overview],
        ["leads", text.campaigns.leads],
        ["settings", text.campaigns.settings],
        ["json", text.json],
      ]}>
      ${
        tab === "leads"
          ? html`<${Leads} campaign=${campaign} />`
          : tab === "json"
            ? html`<${Json} value=${campaign} name=${text.json} />`
            : tab === "settings"
              ? html`<section class="panel"><div class="body"><${SchemaForm} schema="CampaignChanges"
                stored=${campaign} draft=${`campaign:${campaign.id}`} save=${change} verb=${text.save} /></div></section>`
              : html`<${Progress} campaign=${campaign} />`
      }
    <//>`;
}

/** @param {{ campaign: any, reload: () => Promise<void> }} props */
function Top({ campaign, reload }) {
  const runs = campaign.status === "in-progress";
  const [turn, turning] = useAction(async () => {
    const startWords = text.campaigns.startWords(
      count(campaign.leads.total),
      [campaign.allowed_hours_start_time, campaign.allowed_hours_end_time].map((time) => time.slice(0, 5)),
      campaign.allowed_days.map((/** @type {string} */ day) => text.states[day] ?? label(day)),
      campaign.timezone,
    );
    const [verb, words] = runs ? [text.campaigns.stop, text.campaigns.stopWords] : [text.campaigns.start, startWords];
    if (!(await confirm({ title: `${verb}: ${campaign.name}`, words, verb }))) return undefined;
    const { message } = await post("/user/campaigns/update-status", {
      campaign_id: campaign.id,
      action: runs ? "stop" : "start",
    });
    await reload();
    return message;
  });
  const [erase, erasing] = useAction(async () => {
    if (
      !(await confirm({
        title: text.campaigns.erase,
        words: text.campaigns.eraseWords,
        name: campaign.name,
        verb: text.erase,
      }))
    )
      return undefined;
    const { message } = await remove(`/user/campaigns/${campaign.id}`);
    go(to("/campaigns"));
    return message;
  });
  const [csv, busy] = useAction((/** @type {string} */ path, /** @type {string} */ name) =>
    download(path, { query: { campaign_id: campaign.id }, accept: "text/csv", name }),
  );
  const [exported, exporting] = useAction(async () =>
    save(await results(campaign.id), `results-of-campaign-${campaign.id}.csv`),
  );
  const hasLeads = campaign.leads.total > 0;
  return html`<${Head} title=${campaign.name} up=${["/campaigns", text.campaigns.title]}
    sub=${html`<${Badge} state=${campaign.status} /><a
    href=${to(`/assistants/${campaign.assistant_id}`)}>${text.assistants.one}</a><a
    href=${to("/calls", { campaign_id: campaign.id })}>${text.calls.title}</a><${Copy} value=${campaign.id}
    name=${text.campaigns.title} />`}>
    <button type="button" class=${hasLeads ? "primary" : ""} disabled=${turning}
      onClick=${turn}>${runs ? text.campaigns.stop : text.campaigns.start}</button>
    <a class=${hasLeads ? "button" : "button primary"} href=${to(`/campaigns/${campaign.id}/import`)}>${text.campaigns.import}</a>
    ${
      hasLeads &&
      answers("/user/calls", "text/csv") &&
      html`<button type="button" disabled=${exporting} onClick=${exported}>${
        exporting ? text.loading : text.campaigns.exportResults
      }</button>`
    }
    ${
      answers("/user/leads", "text/csv") &&
      html`<button type="button" disabled=${busy}
      onClick=${() => csv("/user/leads", `leads-${campaign.id}.csv`)}>${text.campaigns.exportLeads}</button>`
    }
    ${
      answers("/user/calls", "text/csv") &&
      html`<button type="button" disabled=${busy}
      onClick=${() => csv("/user/calls", `calls-of-campaign-${campaign.id}.csv`)}>${text.campaigns.exportCalls}</button>`
    }
    <button type="button" class="danger" disabled=${erasing} onClick=${erase}>${text.erase}</button>
  <//>`;
}
