// One call: where it stands, its timeline, what was said and heard, what it asked of tools and knowledge, how long
// answers took, what it cost, and what was sent about it. While it runs everything grows as it happens.

import { download, post, remove } from "../api.js";
import { count, duration, money, time, zone } from "../format.js";
import { filter, go, route, to } from "../router.js";
import { has } from "../schema.js";
import { text } from "../text.js";
import { html, useMemo, useRef, useSignal, useState } from "../ui/base.js";
import { confirm } from "../ui/dialog.js";
import { Await, Badge, Copy, Head, Json, Loading, Notice, Panel, Tabs } from "../ui/parts.js";
import { useAction, useGet } from "../ui/resource.js";
import { Command } from "./call/command.js";
import { over } from "./call/columns.js";
import { Events } from "./call/events.js";
import { course } from "./call/model.js";
import { Player } from "./call/player.js";
import { EVENTS_MAX, useEvents } from "./call/reading.js";
import { Side } from "./call/side.js";
import { Timeline } from "./call/timeline.js";
import { Transcript } from "./call/transcript.js";

/** @param {{ params: { id: string } }} props */
export default function CallPage({ params: { id } }) {
  const call = useGet(`/user/calls/${id}`);
  return html`<${Await} page
    of=${call}>${(/** @type {any} */ data) => html`<${One} call=${data} reload=${call.reload} />`}<//>`;
}

/** @param {{ call: any, reload: () => Promise<void> }} props */
function One({ call, reload }) {
  const { events, partial, state, cut } = useEvents(call, reload);
  const known = events.data !== undefined;
  const told = useMemo(() => course(events.data ?? []), [events.data]);
  const at = useSignal(/** @type {number | null} */ (null));
  const audio = useRef(/** @type {HTMLAudioElement | null} */ (null));
  const seek = (/** @type {number} */ ms) => {
    at.value = ms;
    if (audio.current) audio.current.currentTime = Math.max(0, (ms - (told.answered ?? 0)) / 1000);
  };
  const tab = route.value.query.tab ?? "transcript";
  return html`<${Top} call=${call} state=${state} reload=${reload} />
    <div class="columns"><div class="stack">
      ${cut && html`<${Notice} tone="warn">${text.call.eventsCut(count(EVENTS_MAX))}<//>`}
      <${Panel} title=${text.call.timeline} actions=${
        told.spans.length > 0 &&
        html`<span
        class="muted small">${text.call.zero(time(new Date(told.zero).toISOString()), zone())}</span>`
      }>
        <${Await} of=${events}>${() => html`<${Timeline} course=${told} at=${at} seek=${seek} runs=${!over(call.status)} />`}<//>
      <//>
      ${call.recording_url && html`<${Player} url=${call.recording_url} call=${call} audio=${audio} at=${at} from=${told.answered ?? 0} reload=${reload} />`}
      <${Tabs} name=${text.call.views} open=${tab}
        choose=${(/** @type {string} */ key) => filter({ tab: key === "transcript" ? null : key })} tabs=${[
          ["transcript", text.call.transcript],
          ["events", text.call.events],
          ["json", text.json],
        ]}>
        ${
          tab === "json"
            ? html`<${Json}
          value=${call}
          name=${text.json} />`
            : !known
              ? !events.error && html`<${Loading} />`
              : tab === "events"
                ? html`<${Events} events=${events.data} zero=${told.zero} />`
                : html`<${Transcript} course=${told} assistant=${call.assistant_id} partial=${partial} at=${at} seek=${seek} runs=${!over(call.status)} playing=${audio} />`
        }
      <//>
    </div><${Side} call=${call} course=${told} /></div>`;
}

/** @param {{ call: any, state: import("../live.js").State | null, reload: () => Promise<void> }} props */
function Top({ call, state, reload }) {
  const [say, setSay] = useState(false);
  const runs = !over(call.status) && !call.status.startsWith("ended");
  const [hangUp, hanging] = useAction(async () => {
    const { message } = await post(`/user/calls/${call.id}/hangup`);
    await reload();
    return message;
  });
  const [erase, erasing] = useAction(async () => {
    if (
      !(await confirm({ title: text.call.erase, words: text.call.eraseWords, name: String(call.id), verb: text.erase }))
    )
      return undefined;
    const { message } = await remove(`/user/calls/${call.id}`);
    go(to("/calls"));
    return message;
  });
  const [bundle, packing] = useAction(() =>
    download(`/user/calls/${call.id}/bundle`, { accept: "application/zip", name: `call-${call.id}.zip` }),
  );
  const party = call.client_phone_number ?? call.from_raw ?? text.call.unknown;
  const title =
    call.type === "inbound" ? text.call.from(party) : call.type === "web" ? text.call.web : text.call.to(party);
  return html`<${Head} title=${title} up=${["/calls", text.calls.title]} sub=${html`
      <${Badge} state=${call.status} />
      ${state && html`<${Badge} state=${state} tone=${state === "live" ? "live" : "warn"} words=${text.live[state]} />`}
      <span>${time(call.created_at)} <span class="small">${zone()}</span></span><span>${duration(call.duration)}</span>
        <span>${money(call.total_cost)}</span><${Copy} value=${call.id} name=${text.call.id} />`}>
    ${
      runs &&
      html`<button type="button" onClick=${() => setSay(!say)}
        aria-expanded=${say ? "true" : "false"}>${text.call.tell}</button>
      <button type="button" class="danger primary" disabled=${hanging} onClick=${hangUp}>${text.call.hangUp}</button>`
    }
    ${
      has("GET", "/user/calls/{id}/bundle") &&
      html`<button type="button" disabled=${packing}
      onClick=${bundle}>${text.call.bundle}</button>`
    }
    ${
      over(call.status) &&
      html`<button type="button" class="danger" disabled=${erasing}
      onClick=${erase}>${text.erase}</button>`
    }
  <//>${say && runs && html`<${Command} id=${call.id} />`}`;
}
