// An import from a file: what it would become is shown first, columns are given their meaning, then it runs and its
// progress shows. Leads of a campaign, and numbers that must not be called.

import { ApiError, request } from "../api.js";
import { count, percent } from "../format.js";
import { to } from "../router.js";
import { text } from "../text.js";
import { html, useEffect, useState } from "../ui/base.js";
import { Badge, Figures, Head, Notice, Panel } from "../ui/parts.js";
import { useEvery, useGet } from "../ui/resource.js";
import { Table } from "../ui/table.js";
import { headers, mapped } from "./campaign/mapping.js";

/** Bytes of a file that its header row is looked for in. */
const HEAD_BYTES = 64 * 1024;

/** @typedef {{ file: File | null, country: string, separator: string, again: boolean, roles: Record<string, string> }} Settings */

/** @param {{ params: { id?: string } }} props */
export default function Import({ params: { id } }) {
  const leads = id !== undefined;
  const path = leads ? "/user/leads/import" : "/user/do-not-call/import";
  const [settings, setSettings] = useState(
    /** @type {Settings} */ ({ file: null, country: "", separator: "", again: false, roles: {} }),
  );
  const [running, setRunning] = useState(/** @type {number | null} */ (null));
  const [error, setError] = useState(/** @type {string | null} */ (null));
  const look = useDryRun(path, id, settings, setError);
  const change = (/** @type {Partial<Settings>} */ part) => setSettings({ ...settings, ...part });
  const run = async () => {
    try {
      const { data } = await ask(path, id, settings, look.names, false);
      setRunning(data.id);
    } catch (failure) {
      setError(/** @type {Error} */ (failure).message);
    }
  };
  const up = /** @type {[string, string]} */ (
    leads ? [`/campaigns/${id}`, text.campaigns.title] : ["/do-not-call", text.dnc.title]
  );
  return html`<${Head} title=${leads ? text.imports.leads : text.imports.dnc} up=${up} />
    ${
      running !== null
        ? html`<${Course} path=${leads ? `/user/leads/imports/${running}` : `/user/do-not-call/imports/${running}`} back=${leads ? to(`/campaigns/${id}`, { tab: "leads" }) : to("/do-not-call")} another=${() => (setRunning(null), change({ file: null }))} />`
        : html`<p class="muted">${leads ? text.imports.words : text.imports.wordsDnc}</p>
        <${Choices} leads=${leads} settings=${settings} change=${change} />
        ${error && html`<${Notice} tone="bad" role="alert">${error}<//>`}
        ${settings.file && look.shown && html`<${Preview} leads=${leads} look=${look} settings=${settings} change=${change} run=${run} />`}`
    }`;
}

/** @param {string} path @param {string | undefined} campaign @param {Settings} settings @param {string[]} names @param {boolean} dry @returns {Promise<any>} */
function ask(path, campaign, { file, country, separator, again, roles }, names, dry) {
  const lines = /\.(ndjson|jsonl)$/i.test(file?.name ?? "");
  return request("POST", path, {
    query: {
      campaign_id: campaign,
      allow_dupplicate: campaign && again ? true : undefined,
      separator,
      default_country: country,
      mapping: lines ? undefined : mapped(names, roles),
      dry_run: dry || undefined,
    },
    body: file,
    headers: { "content-type": lines ? "application/x-ndjson" : "text/csv" },
  });
}

/** What the file would become, whenever file or settings change.
 * @param {string} path @param {string | undefined} campaign @param {Settings} settings @param {(error: string | null) => void} fail */
function useDryRun(path, campaign, settings, fail) {
  const [found, setFound] = useState(/** @type {{ names: string[], shown: any }} */ ({ names: [], shown: null }));
  useEffect(() => {
    if (!settings.file) return setFound({ names: [], shown: null });
    let gone = false;
    (async () => {
      const names = headers(await /** @type {File} */ (settings.file).slice(0, HEAD_BYTES).text(), settings.separator);
      if (gone) return;
      setFound({ names, shown: null });
      try {
        const { data } = await ask(path, campaign, settings, names, true);
        if (gone) return;
        fail(null);
        setFound({ names, shown: data });
      } catch (failure) {
        if (gone) return;
        fail(/** @type {Error} */ (failure).message);
        // Without a column of numbers the service has nothing to show; the columns can still be given their meaning.
        setFound({
          names,
          shown:
            failure instanceof ApiError && failure.status === 422
              ? { columns: names, rows: [], errors: [], separator: null, encoding: null }
              : null,
        });
      }
    })();
    return () => {
      gone = true;
    };
  }, [settings]);
  return found;
}

/** @param {{ leads: boolean, settings: Settings, change: (part: Partial<Settings>) => void }} props */
const Choices = ({ leads, settings, change }) => html`<${Panel} title=${text.imports.file}><div class="grid-2">
  <label class="field"><span>${text.imports.file}</span><input
    type="file" accept=".csv,.tsv,.txt,.ndjson,.jsonl,text/csv"
    onChange=${(/** @type {any} */ event) => change({ file: event.target.files[0] ?? null, roles: {} })} /></label>
  <label class="field"><span>${text.imports.country}</span><input value=${settings.country} maxlength="2"
    autocomplete="off" onChange=${(/** @type {any} */ event) => change({ country: event.target.value.trim() })} /><span
    class="hint">${text.imports.countryHint}</span></label>
  <label class="field"><span>${text.imports.separator}</span><select value=${settings.separator}
    onChange=${(/** @type {any} */ event) => change({ separator: event.target.value })}><option
    value="">${text.imports.found}</option><option value=",">,</option><option value=";">;</option><option
    value="tab">Tab</option></select></label>
  ${
    leads &&
    html`<div class="choice"><input type="checkbox" id="again" checked=${settings.again}
    onChange=${(/** @type {any} */ event) => change({ again: event.target.checked })} />
    <label for="again">${text.imports.duplicates}</label></div>`
  }
</div><//>`;

/** @param {{ leads: boolean, look: { names: string[], shown: any }, settings: Settings, change: (part: Partial<Settings>) => void, run: () => void }} props */
function Preview({ leads, look: { names, shown }, settings, change, run }) {
  const members = shown.columns.length ? shown.columns : [];
  const columns = (shown.rows[0] ?? []).map((/** @type {string} */ _, /** @type {number} */ at) => ({
    name: members[at] ?? String(at + 1),
    cell: (/** @type {string[]} */ row) => row[at],
    clip: true,
  }));
  const role = (/** @type {string} */ name, /** @type {string} */ member) =>
    change({
      roles: {
        ...Object.fromEntries(Object.entries(settings.roles).filter(([, held]) => member === "" || held !== member)),
        [name]: member,
      },
    });
  return html`<${Panel} title=${text.imports.preview} actions=${html`<button type="button" class="primary"
    disabled=${!shown.rows.length} onClick=${run}>${text.imports.run}</button>`}>
    ${
      shown.encoding &&
      html`<p
      class="muted small">${text.imports.encoding(shown.encoding, shown.separator ?? "–")}</p>`
    }
    ${
      names.length > 0 &&
      html`<div class="grid-2">${names.map(
        (name, at) => html`<label class="field" key=${name}><span>${text.imports.column} <code>${name}</code></span>
      <select value=${settings.roles[name] ?? guess(members[at])}
        onChange=${(/** @type {any} */ event) => role(name, event.target.value)}>
        <option value="">${leads ? `${text.imports.leave}: ${members[at] ?? name}` : text.form.none}</option><option
          value="phone_number" selected=${(settings.roles[name] ?? guess(members[at])) === "phone_number"}>${text.imports.phone}</option>${
            !leads &&
            html`<option
          value="reason" selected=${(settings.roles[name] ?? guess(members[at])) === "reason"}>${text.dnc.reason}</option>`
          }</select></label>`,
      )}</div>`
    }
    ${
      shown.rows.length > 0 &&
      html`<h3>${text.imports.rows}</h3><div class="panel"><${Table} label=${text.imports.rows} columns=${columns}
        rows=${shown.rows} /></div>
      <${Wrong} errors=${shown.errors} />`
    }
  <//>`;
}

/** @param {string | undefined} member */
const guess = (member) => (member === "phone_number" || member === "reason" ? member : "");

/** @param {{ errors: any[] }} props */
const Wrong = ({ errors }) =>
  errors.length === 0
    ? html`<p class="muted">${text.imports.fine}</p>`
    : html`<p>${text.imports.wrong(errors.length)}</p><${Lines} errors=${errors} />`;

/** @param {{ errors: any[] }} props */
const Lines = ({ errors }) =>
  html`<div class="panel"><${Table} label=${text.imports.problem} rows=${errors.slice(0, 200)} columns=${[
    { name: text.imports.line, cell: (/** @type {any} */ row) => row.line },
    {
      name: text.imports.problem,
      cell: (/** @type {any} */ row) => Object.values(row.errors).flat().join(" "),
      clip: true,
    },
  ]} /></div>`;

/** @param {{ path: string, back: string, another: () => void }} props */
function Course({ path, back, another }) {
  const told = useGet(path);
  const one = told.data?.data;
  useEvery(told.reload, !one || one.status === "processing" ? 1_000 : null);
  if (!one) return null;
  const title =
    one.status === "processing"
      ? text.imports.running
      : one.status === "failed"
        ? text.imports.failed
        : text.imports.done;
  return html`<${Panel} title=${title} actions=${html`<${Badge} state=${one.status} />`}>
    ${one.failure_reason && html`<${Notice} tone="bad">${one.failure_reason}<//>`}
    <div role="status"><${Figures} of=${[
      [text.imports.processed, count(one.processed)],
      [text.imports.created, count(one.created), percent(one.created, one.processed)],
      [text.imports.duplicate, count(one.duplicates)],
      [text.imports.rejected, count(one.rejected)],
    ]} /></div>
    ${one.errors.length > 0 && html`<${Lines} errors=${one.errors} />`}
    <div class="row"><a class="button" href=${back}>${text.imports.back}</a><button type="button"
      onClick=${another}>${text.imports.another}</button></div>
  <//>`;
}
