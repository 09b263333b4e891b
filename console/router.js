// Addresses: `/console/…` for pages, and filters in the query, so that every view can be kept and passed on.

import { computed, signal } from "./ui/base.js";

/** The folder that pages are addressed under, such as `/console`. */
export const BASE = new URL(".", import.meta.url).pathname.replace(/\/$/, "");

/** A page: its address, its module, and who sees it. @typedef {{ pattern: string, module: string, role: "account" | "operator" }} Row */

/** @type {Row[]} */
export const ROUTES = [
  { pattern: "/", module: "home", role: "account" },
  { pattern: "/calls", module: "calls", role: "account" },
  { pattern: "/calls/:id", module: "call", role: "account" },
  { pattern: "/assistants", module: "assistants", role: "account" },
  { pattern: "/assistants/new", module: "assistant-new", role: "account" },
  { pattern: "/assistants/:id", module: "assistant", role: "account" },
  { pattern: "/conversations", module: "conversations", role: "account" },
  { pattern: "/conversations/:id", module: "conversation", role: "account" },
  { pattern: "/campaigns", module: "campaigns", role: "account" },
  { pattern: "/campaigns/:id", module: "campaign", role: "account" },
  { pattern: "/campaigns/:id/import", module: "import", role: "account" },
  { pattern: "/campaigns/:id/leads/:lead", module: "lead", role: "account" },
  { pattern: "/numbers", module: "numbers", role: "account" },
  { pattern: "/numbers/trunks/:id", module: "trunk", role: "account" },
  { pattern: "/knowledge", module: "knowledge", role: "account" },
  { pattern: "/knowledge/:id", module: "knowledgebase", role: "account" },
  { pattern: "/tools", module: "tools", role: "account" },
  { pattern: "/tools/:id", module: "tool", role: "account" },
  { pattern: "/webhooks", module: "webhooks", role: "account" },
  { pattern: "/do-not-call", module: "do-not-call", role: "account" },
  { pattern: "/do-not-call/import", module: "import", role: "account" },
  { pattern: "/keys", module: "keys", role: "account" },
  { pattern: "/account", module: "account", role: "account" },
  { pattern: "/operator", module: "operator/accounts", role: "operator" },
  { pattern: "/operator/accounts/:id", module: "operator/account", role: "operator" },
  { pattern: "/operator/plans", module: "operator/plans", role: "operator" },
  { pattern: "/operator/engines", module: "operator/engines", role: "operator" },
  { pattern: "/operator/nodes", module: "operator/nodes", role: "operator" },
  { pattern: "/operator/queues", module: "operator/queues", role: "operator" },
  { pattern: "/operator/store", module: "operator/store", role: "operator" },
  { pattern: "/operator/settings", module: "operator/settings", role: "operator" },
  { pattern: "/operator/prices", module: "operator/prices", role: "operator" },
];

/** @typedef {{ path: string, row: Row | null, params: Record<string, string>, query: Record<string, string> }} Route */

/** @param {string} path @returns {Pick<Route, "row" | "params">} */
export function match(path) {
  const parts = path.split("/").filter(Boolean);
  for (const row of ROUTES) {
    const wanted = row.pattern.split("/").filter(Boolean);
    if (wanted.length !== parts.length) continue;
    /** @type {Record<string, string>} */
    const params = {};
    if (
      wanted.every((part, at) =>
        part.startsWith(":") ? ((params[part.slice(1)] = parts[at]), true) : part === parts[at],
      )
    ) {
      return { row, params };
    }
  }
  return { row: null, params: {} };
}

const place = signal(location.pathname + location.search);

/** The address as it is now. @type {import("@preact/signals").ReadonlySignal<Route>} */
export const route = computed(() => {
  const url = new URL(place.value, location.origin);
  const path = url.pathname.startsWith(BASE) ? url.pathname.slice(BASE.length) || "/" : "/";
  return { path, ...match(path), query: Object.fromEntries(url.searchParams) };
});

/** The address of a page. @param {string} path @param {Record<string, string | number | null | undefined>} [query] */
export function to(path, query = {}) {
  const search = new URLSearchParams();
  for (const [name, value] of Object.entries(query))
    if (value !== undefined && value !== null && value !== "") search.set(name, String(value));
  const tail = search.toString();
  return BASE + (path === "/" ? "/" : path) + (tail ? `?${tail}` : "");
}

/** Goes to an address that `to` made. @param {string} href @param {{ replace?: boolean }} [how] */
export function go(href, { replace = false } = {}) {
  history[replace ? "replaceState" : "pushState"](null, "", href);
  place.value = location.pathname + location.search;
}

/** Changes filters of the page that is open; null removes one. @param {Record<string, string | number | null | undefined>} changes */
export function filter(changes) {
  const { path, query } = route.value;
  go(to(path, { ...query, page: null, ...changes }), { replace: true });
}

/** Follows the browser's history, and links of the console without a load. */
export function follow() {
  addEventListener("popstate", () => (place.value = location.pathname + location.search));
  document.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (
      !link ||
      event.defaultPrevented ||
      event.button ||
      event.metaKey ||
      event.ctrlKey ||
      event.shiftKey ||
      event.altKey
    )
      return;
    const url = new URL(link.href, location.href);
    if (
      link.target ||
      link.hasAttribute("download") ||
      url.origin !== location.origin ||
      !url.pathname.startsWith(`${BASE}/`) ||
      url.hash
    )
      return;
    event.preventDefault();
    go(url.pathname + url.search);
  });
}
