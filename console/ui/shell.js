// The frame around every page: navigation, who is signed in, and the page of the address, loaded when it is asked for.

import { zone } from "../format.js";
import { signOut, signOutOperator } from "../login.js";
import { route, ROUTES, to } from "../router.js";
import { loadDocument } from "../schema.js";
import { account, expired, operator, resume } from "../session.js";
import { text } from "../text.js";
import { choose, theme } from "../theme.js";
import { html, useEffect, useLayoutEffect, useRef, useState } from "./base.js";
import { Confirmation, Dialog } from "./dialog.js";
import { Help } from "./help.js";
import { above } from "./keys.js";
import { Door, SignIn } from "./door.js";
import { Palette } from "./palette.js";
import { Failure, Head, Loading } from "./parts.js";
import { TalkBar } from "./talk-bar.js";
import { Toasts } from "./toast.js";

/** Navigation, by who sees it. @type {{ role: "account" | "operator", title: string, pages: [string, string][] }[]} */
export const NAVIGATION = [
  {
    role: "account",
    title: text.nav.build,
    pages: [
      ["/", text.home.title],
      ["/assistants", text.assistants.title],
      ["/knowledge", text.knowledge.title],
      ["/tools", text.tools.title],
    ],
  },
  {
    role: "account",
    title: text.nav.run,
    pages: [
      ["/calls", text.calls.title],
      ["/conversations", text.conversations.title],
      ["/campaigns", text.campaigns.title],
      ["/numbers", text.numbers.title],
      ["/do-not-call", text.dnc.title],
    ],
  },
  {
    role: "account",
    title: text.nav.account,
    pages: [
      ["/webhooks", text.webhooks.title],
      ["/keys", text.keys.title],
      ["/account", text.account.title],
    ],
  },
  {
    role: "operator",
    title: text.nav.operator,
    pages: [
      ["/operator", text.operator.accounts],
      ["/operator/plans", text.operator.plans],
      ["/operator/engines", text.operator.engines],
      ["/operator/nodes", text.nodes.title],
      ["/operator/queues", text.operator.queues],
      ["/operator/store", text.operator.store],
      ["/operator/prices", text.operator.prices],
      ["/operator/settings", text.operator.settings],
    ],
  },
];

/** Whether somebody of a role is signed in. @param {"account" | "operator"} role */
const present = (role) => (role === "account" ? account.value !== null : operator.value !== null);

export function Shell() {
  const { row, path } = route.value;
  const [open, setOpen] = useState(false);
  useEffect(() => setOpen(false), [path]);
  useEffect(() => {
    const leave = (/** @type {KeyboardEvent} */ event) => event.key === "Escape" && setOpen(false);
    if (open) addEventListener("keydown", leave);
    return () => removeEventListener("keydown", leave);
  }, [open]);
  const role = row?.role ?? "account";
  // The operator alone has no home of the account: `/` leads to what the operator sees.
  const shown =
    path === "/" && !account.value && operator.value ? ROUTES.find(({ pattern }) => pattern === "/operator") : row;
  if (!present(shown?.role ?? role)) return html`<${Door} role=${role} /><${Toasts} />`;
  return html`<a class="skip" href="#main" onClick=${skip}>${text.skip}</a>
    <div class="frame">
      <div class="topbar"><button type="button" aria-expanded=${open ? "true" : "false"} aria-controls="side"
        onClick=${() => setOpen(!open)}>${text.menu}</button><span class="brand">${text.name}</span><span
        class="zone muted small">${text.zone(zone())}</span></div>
      <${Side} open=${open} current=${shown?.pattern === "/operator" ? "/operator" : path} />
      ${open && html`<div class="veil" onClick=${() => setOpen(false)}></div>`}
      <main id="main" tabindex="-1"><${TalkBar} /><${Page}
        key=${shown?.module + JSON.stringify(route.value.params)} row=${shown ?? null} params=${route.value.params} /></main>
    </div>
    ${above.value === "palette" && html`<${Palette} />`}${above.value === "help" && html`<${Help} />`}
    ${
      expired.value &&
      html`<${Dialog} title=${text.login.expired} close=${() => resume(false)}><p
      class="muted">${text.login.kept}</p><${SignIn} role=${expired.value} only /><//>`
    }
    <${Confirmation} /><${Toasts} />`;
}

/** @param {Event} event */
function skip(event) {
  event.preventDefault();
  document.getElementById("main")?.focus();
}

/** @param {{ open: boolean, current: string }} props */
function Side({ open, current }) {
  const here = (/** @type {string} */ page) =>
    page === current ||
    (page !== "/" && page !== "/operator" && current.startsWith(`${page}/`)) ||
    (page === "/operator" && current.startsWith("/operator/accounts"));
  return html`<div class=${open ? "side open" : "side"} id="side">
    <a class="brand" href=${to("/")}><img src=${new URL("../icon.svg", import.meta.url).href} alt="" />${text.name}</a>
    <nav aria-label=${text.navigation}>
      ${NAVIGATION.filter(({ role }) => present(role)).map(
        ({ title, pages }) => html`<div key=${title}><h2>${title}</h2>
        <ul class="list">${pages.map(
          ([page, words]) => html`<li key=${page}><a href=${to(page)}
          aria-current=${here(page) ? "page" : undefined}>${words}</a></li>`,
        )}</ul></div>`,
      )}
    </nav>
    <${Who} />
  </div>`;
}

function Who() {
  const me = account.value?.me;
  return html`<div class="who small">
    <div class="row"><button type="button" class="quiet"
      onClick=${() => (above.value = "palette")}>${text.palette.open} <kbd>Ctrl K</kbd></button>
      <button type="button" class="quiet" aria-label=${text.keysHelp.title}
        onClick=${() => (above.value = "help")}>?</button></div>
    <label class="visually-hidden" for="theme">${text.theme.title}</label>
    <select id="theme" value=${theme.value} onChange=${(/** @type {any} */ event) => choose(event.target.value)}>
      ${
        /** @type {const} */ (["auto", "light", "dark"]).map(
          (one) => html`<option
        value=${one} selected=${theme.value === one}>${text.theme[one]}</option>`,
        )
      }</select>
    <p class="muted">${text.zone(zone())}</p>
    ${
      me &&
      html`<p class="muted">${me.email}</p><div class="row"><button type="button" class="quiet"
      onClick=${signOut}>${text.login.out}</button></div>`
    }
    ${
      operator.value &&
      html`<div class="row"><button type="button" class="quiet"
      onClick=${signOutOperator}>${text.login.outOperator}</button></div>`
    }
  </div>`;
}

/** Modules that were loaded. @type {Map<string, any>} */
const modules = new Map();

/** @param {{ row: import("../router.js").Row | null, params: Record<string, string> }} props */
function Page({ row, params }) {
  const [ready, setReady] = useState(/** @type {any} */ (null));
  const [error, setError] = useState(/** @type {Error | null} */ (null));
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const load = () => {
    setError(null);
    if (!row) return;
    Promise.all([modules.get(row.module) ?? import(`../pages/${row.module}.js`), loadDocument()]).then(([module]) => {
      modules.set(row.module, module);
      setReady(() => module.default);
    }, setError);
  };
  useEffect(load, []);
  useLayoutEffect(() => {
    scrollTo(0, 0);
    box.current?.querySelector("h1")?.focus({ preventScroll: true });
  }, [ready]);
  if (!row)
    return html`<div class="page"><${Head} title=${text.errors.nowhere} /><p>${text.errors.nowhereWords} <a
      href=${to("/")}>${text.home.title}</a></p></div>`;
  if (error) return html`<div class="page"><${Failure} error=${error} again=${load} /></div>`;
  const Body = ready;
  return html`<div class="page" ref=${box}>${Body ? html`<${Body} params=${params} />` : html`<${Loading} />`}</div>`;
}
