// Members that name another resource by its id, and where the choice comes from. A member that is not here is a plain
// number: the form still works.

import { get, whole } from "../api.js";
import { text } from "../text.js";
import { useEffect, useState } from "./base.js";

/** A choice; `sample`: where it can be heard. @typedef {{ value: string, words: string, sample?: string | null }} Option */
/** Where choices come from; `search`: the list has that parameter, for when it is longer than a page;
 * `paged`: it comes in pages and has none.
 * @typedef {{ path: string, sample?: (row: any) => string | null, query?: (values: Record<string, any>) => import("../api.js").Query, words?: (row: any) => string, of?: (row: any) => string | number, search?: boolean, paged?: boolean }} Source */

const named = (/** @type {any} */ row) => row.name;
const phone = (/** @type {any} */ row) =>
  [row.phone_number, row.type_label, row.is_available === false && text.form.used].filter(Boolean).join(" · ");
const models = { path: "/user/assistants/models", query: () => ({ type: "llm" }) };

/** @type {Record<string, Source>} */
export const SOURCES = {
  voice_id: {
    path: "/user/assistants/voices",
    query: ({ mode, language_id }) => ({ mode, language_id }),
    words: (row) => [row.name, row.gender, row.accent].filter(Boolean).join(" · "),
    sample: (row) => row.preview_url,
  },
  language_id: { path: "/user/assistants/languages" },
  secondary_language_ids: { path: "/user/assistants/languages" },
  llm_model_id: models,
  chat_llm_fallback_id: models,
  multimodal_model_id: {
    path: "/user/assistants/models",
    query: ({ mode }) => ({ type: mode === "dualplex" ? "dualplex" : "multimodal" }),
  },
  synthesizer_provider_id: {
    path: "/user/assistants/synthesizer-providers",
    query: ({ language_id }) => ({ language_id }),
  },
  transcriber_provider_id: {
    path: "/user/assistants/transcriber-providers",
    query: ({ language_id }) => ({ language_id }),
  },
  knowledgebase_id: { path: "/user/knowledgebases", words: (row) => `${row.name} · ${row.status_label}` },
  phone_number_id: { path: "/user/assistants/phone-numbers", query: ({ type }) => ({ type }), words: phone },
  phone_number_ids: { path: "/user/assistants/phone-numbers", query: () => ({ type: "outbound" }), words: phone },
  outbound_phone_id: { path: "/user/assistants/phone-numbers", query: () => ({ type: "outbound" }), words: phone },
  tool_ids: { path: "/user/tools" },
  folder_id: { path: "/user/folders", paged: true },
  label_ids: { path: "/user/labels", paged: true },
  label_id: { path: "/user/labels", paged: true },
  assistant_id: {
    path: "/user/assistants/get",
    query: ({ type }) => ({ type: type ? undefined : "outbound", per_page: 100 }),
    search: true,
  },
  campaign_id: { path: "/user/campaigns" },
  plan: { path: "/admin/plans", of: (row) => row.name },
  account_ids: {
    path: "/admin/accounts",
    paged: true,
    words: (row) => `${row.name} · ${row.email}`,
  },
};

/** Options of a member; null where it names nothing. @param {string} name @param {Record<string, any>} values of the form
 * @returns {{ options: Option[], loaded: boolean, more: boolean, cut: boolean, audible: boolean } | null}
 *   `more`: there are others, which a search finds; `cut`: there are others that nothing finds; `audible`: choices may have samples */
export function useOptions(name, values) {
  const source = SOURCES[name];
  const query = source?.query?.(values) ?? {};
  const key = source ? source.path + JSON.stringify(query) : null;
  const [found, setFound] = useState(
    /** @type {{ key: string | null, options: Option[], more: boolean, cut: boolean }} */ ({
      key: null,
      options: [],
      more: false,
      cut: false,
    }),
  );
  useEffect(() => {
    if (!source) return undefined;
    const stop = new AbortController();
    (source.paged ? whole : get)(source.path, query, stop.signal).then(
      (body) =>
        setFound({
          key,
          options: optionsOf(source, Array.isArray(body) ? body : (body.data ?? [])),
          more: Boolean(source.search) && (body.last_page ?? 1) > 1,
          cut: Boolean(body.cut),
        }),
      () => {},
    );
    return () => stop.abort();
  }, [key]);
  return source ? { ...found, loaded: found.key === key, audible: Boolean(source.sample) } : null;
}

/** @param {Source} source @param {any[]} rows @returns {Option[]} */
export function optionsOf(source, rows) {
  const { of = (/** @type {any} */ row) => row.id, words = named, sample } = source;
  return rows.map((row) => ({ value: String(of(row)), words: words(row), sample: sample?.(row) }));
}
