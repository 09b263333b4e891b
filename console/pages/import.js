// An import from a file: what it would become is shown first, columns are given their meaning, then it runs and its
// progress shows. Leads of a campaign, and numbers that must not be called.

import { create, post } from "../api.js";
import { count, percent } from "../format.js";
import { filter, route, to } from "../router.js";
import { text } from "../text.js";
import { html, useEffect, useRef, useState } from "../ui/base.js";
import { Typed } from "../ui/controls.js";
import { Await, Badge, Figures, Head, Notice, Panel } from "../ui/parts.js";
import { useEvery, useGet } from "../ui/resource.js";
import { Table } from "../ui/table.js";
import { columnOfNumbers, mapped, sample, variable } from "./campaign/mapping.js";

/** Bytes of a file that its header and first records are looked for in. */
const HEAD_BYTES = 64 * 1024;
/** Records of which a column shows what it has. */
const SHOWN = 3;
/** How long the settings stay before the file is sent for a preview, milliseconds. */
const STILL_MS = 300;

/** @typedef {{ file: File | null, of: import("./campaign/mapping.js").Sample, records: number | null, country: string, separator: string, again: boolean, roles: Record<string, string> }} Settings */

/** A file that was not read yet. @type {Pick<Settings, "of" | "records" | "roles">} */
const UNSEEN = { of: { names: [], rows: [] }, records: null, roles: {} };
/** @type {Settings} */
const NO_FILE = { file: null, country: "", separator: "", again: false, ...UNSEEN };

/** @param {{ params: { id?: string } }} props */
export default function Import({ params: { id } }) {
  const leads = id !== undefined;
  const path = leads ? "/user/leads/import" : "/user/do-not-call/import";
  const [settings, setSettings] = useState(NO_FILE);
  const { import: running } = route.value.query;
  const [error, setError] = useState(/** @type {string | null} */ (null));
  const shown = useDryRun(path, id, settings, setError);
  const change = async (/** @type {Partial<Settings>} */ part) => {
    const { file, separator } = { ...settings, ...part };
    const isOther = file !== settings.file || separator !== settings.separator;
    setSettings((now) => ({ ...now, ...part, ...(isOther && UNSEEN) }));
    if (!isOther || !file) return;
    try {
      const found = await seen(file, separator);
      // What was changed while the file was read stays; another file is none of this one's.
      setSettings((now) => (now.file === file && now.separator === separator ? { ...now, ...found } : now));
    } catch (failure) {
      setError(/** @type {Error} */ (failure).message);
    }
  };
  const started = useRef(false);
  const run = async () => {
    if (started.current) return;
    started.current = true;
    try {
      const { data } = await ask(path, id, settings);
      filter({ import: data.id });
    } catch (failure) {
      setError(/** @type {Error} */ (failure).message);
    } finally {
      started.current = false;
    }
  };
  const up = /** @type {[string, string]} */ (
    leads ? [`/campaigns/${id}`, text.campaigns.title] : ["/do-not-call", text.dnc.title]
  );
  return html`<${Head} title=${leads ? text.imports.leads : text.imports.dnc} up=${up} />
    ${
      running
        ? html`<${Course} path=${leads ? `/user/leads/imports/${running}` : `/user/do-not-call/imports/${running}`} back=${leads ? to(`/campaigns/${id}`, { tab: "leads" }) : to("/do-not-call")} another=${() => (filter({ import: null }), setSettings(NO_FILE))} />`
        : html`<p class="muted">${leads ? text.imports.words : text.imports.wordsDnc}</p>
        <${Choices} leads=${leads} settings=${settings} change=${change} />
        ${error && html`<${Notice} tone="bad" role="alert">${error}<//>`}
        ${settings.of.names.length > 0 && html`<${Meanings} leads=${leads} settings=${settings} change=${change} />`}
        ${settings.file && shown && html`<${Preview} shown=${shown} settings=${settings} run=${run} />`}`
    }`;
}

/** What is seen of a file before the service is asked, and what its columns most likely mean.
 * @param {File} file @param {string} separator @returns {Promise<Pick<Settings, "of" | "records" | "roles">>} */
async function seen(file, separator) {
  const of = sample(await file.slice(0, HEAD_BYTES).text(), separator, SHOWN);
  const numbers = columnOfNumbers(of);
  return { of, records: await records(file, of.names.length > 0), roles: numbers ? { [numbers]: "phone_number" } : {} };
}

/** Records of a file, those that are empty included. @param {File} file @param {boolean} header whether its first one is none */
async function records(file, header) {
  const [QUOTE, END] = [0x22, 0x0a];
  let [lines, quoted, last] = [header ? -1 : 0, false, END];
  const reader = file.stream().getReader();
  for (let part = await reader.read(); !part.done; part = await reader.read()) {
    for (const byte of part.value) {
      if (header && byte === QUOTE) quoted = !quoted;
      else if (byte === END && !quoted) lines += 1;
      last = byte;
    }
  }
  return Math.max(lines + (last === END ? 0 : 1), 0);
}

/** Sends the file. @param {string} path @param {string | undefined} campaign @param {Settings} settings
 * @param {AbortSignal} [dry] ends a look at what the file would become; none: it is imported @returns {Promise<any>} */
function ask(path, campaign, { file, of, country, separator, again, roles }, dry) {
  const lines = /\.(ndjson|jsonl)$/i.test(file?.name ?? "");
  return (dry ? post : create)(path, file, {
    query: {
      campaign_id: campaign,
      allow_dupplicate: campaign && again ? true : undefined,
      separator,
      default_country: country,
      mapping: lines ? undefined : mapped(of.names, roles),
      dry_run: dry && true,
    },
    signal: dry,
    headers: { "content-type": lines ? "application/x-ndjson" : "text/csv" },
  });
}

/** What the file would become, whenever file or settings change.
 * @param {string} path @param {string | undefined} campaign @param {Settings} settings @param {(error: string | null) => void} fail */
function useDryRun(path, campaign, settings, fail) {
  const [found, setFound] = useState(/** @type {{ of: Settings, data: any } | null} */ (null));
  useEffect(() => {
    if (!settings.file || settings.records === null) return fail(null);
    if (settings.of.names.length && !Object.values(settings.roles).includes("phone_number")) {
      return fail(text.imports.noPhone);
    }
    const stop = new AbortController();
    const timer = setTimeout(async () => {
      try {
        const { data } = await ask(path, campaign, settings, stop.signal);
        if (stop.signal.aborted) return;
        fail(null);
        setFound({ of: settings, data });
      } catch (failure) {
        if (!stop.signal.aborted) fail(/** @type {Error} */ (failure).message);
      }
    }, STILL_MS);
    return () => (clearTimeout(timer), stop.abort());
  }, [settings]);
  // What other settings made of it is not shown, not even for a moment: nobody imports by that.
  return found?.of === settings ? found.data : null;
}

/** @param {{ leads: boolean, settings: Settings, change: (part: Partial<Settings>) => void }} props */
const Choices = ({ leads, settings, change }) => html`<${Panel} title=${text.imports.file}><div class="grid-2">
  <label class="field"><span>${text.imports.file}</span><input
    type="file" accept=".csv,.tsv,.txt,.ndjson,.jsonl,text/csv"
    onChange=${(/** @type {any} */ event) => change({ file: event.target.files[0] ?? null })} /></label>
  <label class="field"><span>${text.imports.country}</span><${Typed} value=${settings.country} maxlength="2"
    autocomplete="off" change=${(/** @type {string} */ typed) => change({ country: typed.trim().toUpperCase() })} /><span
    class="hint">${countryName(settings.country) ?? text.imports.countryHint}</span></label>
  <label class="field"><span>${text.imports.separator}</span><select value=${settings.separator}
    onChange=${(/** @type {any} */ event) => change({ separator: event.target.value })}><option
    value="">${text.imports.found}</option><option value=",">,</option><option value=";">;</option><option
    value="tab">${text.imports.tab}</option></select></label>
  ${
    leads &&
    html`<div class="choice"><input type="checkbox" id="again" checked=${settings.again}
    onChange=${(/** @type {any} */ event) => change({ again: event.target.checked })} />
    <label for="again">${text.imports.duplicates}</label></div>`
  }
</div><//>`;

/** @param {string} code */
function countryName(code) {
  try {
    return /^[A-Z]{2}$/.test(code) ? new Intl.DisplayNames("en", { type: "region" }).of(code) : undefined;
  } catch {
    return undefined;
  }
}

/** What each column becomes. @param {{ leads: boolean, settings: Settings, change: (part: Partial<Settings>) => void }} props */
function Meanings({ leads, settings: { of, roles }, change }) {
  // A member is of one column.
  const give = (/** @type {string} */ name, /** @type {string} */ member) => {
    const others = Object.entries(roles).filter(([other, held]) => other !== name && (!member || held !== member));
    change({ roles: { ...Object.fromEntries(others), ...(member && { [name]: member }) } });
  };
  const role = (/** @type {string} */ name) => roles[name] ?? (!leads && name === "reason" ? name : "");
  const kind = (/** @type {string} */ name) => (leads && role(name) !== "phone_number" ? "" : role(name));
  const kinds = [
    ["", leads ? text.imports.variable : text.imports.leftOut],
    ["phone_number", text.imports.phone],
    ...(leads ? [] : [["reason", text.dnc.reason]]),
  ];
  const columns = [
    { name: text.imports.column, cell: (/** @type {string} */ name) => html`<code>${name}</code>` },
    {
      name: text.imports.has,
      cell: (/** @type {string} */ name) =>
        of.rows
          .map((row) => row[of.names.indexOf(name)])
          .filter(Boolean)
          .join(" · "),
      clip: true,
    },
    {
      name: text.imports.becomes,
      cell: (/** @type {string} */ name) => html`<div class="row"><select
        aria-label=${`${name} ${text.imports.becomes.toLowerCase()}`} value=${kind(name)}
        onChange=${(/** @type {any} */ event) => give(name, event.target.value)}>${kinds.map(
          ([value, shown]) => html`<option value=${value} selected=${kind(name) === value}>${shown}</option>`,
        )}</select>${
          leads &&
          kind(name) === "" &&
          html`<${Typed} aria-label=${text.imports.named(name)} value=${role(name) || variable(name)} maxlength="64"
            autocomplete="off" change=${(/** @type {string} */ typed) => give(name, typed.trim())} />`
        }</div>`,
    },
  ];
  return html`<${Panel} title=${text.imports.columns}><p class="muted">${
    leads ? text.imports.columnsWords : text.imports.columnsDnc
  }</p><${Table} label=${text.imports.columns} columns=${columns} rows=${of.names.filter(Boolean)} /><//>`;
}

/** @param {{ shown: any, settings: Settings, run: () => void }} props */
function Preview({ shown, settings, run }) {
  const columns = (shown.rows[0] ?? []).map((/** @type {string} */ _, /** @type {number} */ at) => ({
    name: shown.columns[at] ?? String(at + 1),
    cell: (/** @type {string[]} */ row) => row[at],
    clip: true,
  }));
  return html`<${Panel} title=${text.imports.preview} actions=${html`<button type="button" class="primary"
    disabled=${!shown.rows.length} onClick=${run}>${text.imports.run}</button>`}>
    <p class="muted">${text.imports.records(settings.records ?? 0)} ${
      shown.encoding && text.imports.encoding(shown.encoding, shown.separator ?? "–")
    }</p>
    ${
      shown.rows.length > 0 &&
      html`<h3>${text.imports.rows}</h3><div class="panel"><${Table} label=${text.imports.rows} columns=${columns}
        rows=${shown.rows} /></div>
      <${Wrong} errors=${shown.errors} />`
    }
  <//>`;
}

/** @param {{ errors: any[] }} props */
const Wrong = ({ errors }) =>
  errors.length === 0
    ? html`<p class="muted">${text.imports.fine}</p>`
    : html`<p>${text.imports.wrong(errors.length)}${
        JSON.stringify(errors).includes("default_country") ? ` ${text.imports.nameCountry}` : ""
      }</p><${Lines} errors=${errors} />`;

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
  const status = told.data?.data.status;
  useEvery(told.reload, (status ? status === "processing" : !told.error) ? 1_000 : null);
  const titles = /** @type {Record<string, string>} */ ({
    processing: text.imports.running,
    failed: text.imports.failed,
  });
  return html`<${Await} of=${told}>${(/** @type {any} */ { data: one }) => html`<${Panel}
    title=${titles[one.status] ?? text.imports.done} actions=${html`<${Badge} state=${one.status} />`}>
    ${one.failure_reason && html`<${Notice} tone="bad">${one.failure_reason}<//>`}
    <div role="status"><${Figures} of=${[
      [text.imports.processed, count(one.processed)],
      [text.imports.created, count(one.created), percent(one.created, one.processed)],
      [text.imports.duplicate, count(one.duplicates)],
      [text.imports.rejected, count(one.rejected)],
    ]} /></div>
    ${one.errors.length > 0 && html`<${Lines} errors=${one.errors} />`}
  <//>`}<//>
  <div class="row"><a class="button" href=${back}>${text.imports.back}</a><button type="button"
    onClick=${another}>${text.imports.another}</button></div>`;
}
