/**
 * The console over the service in this page: starts the service, has the console's requests answered by it, attaches the
 * simulated engine, signs in, and shows the console. Nothing leaves the page.
 */

import { fill } from "./demo.js";
import { Engine } from "./engine/engine.js";
import { forget, keepTokens, start, tokens } from "./service.js";

const ROOT = new URL(".", import.meta.url);
/** What its data are kept under; the playground has others. */
const STORE = "switchboard console";
/** Where the engine keeps the calls that it carries. */
const CALLS = `${STORE} calls`;
/** Whether the page begins anew: then nothing is kept of what goes on until it is loaded. */
let isForgotten = false;
/** Times that the simulated engine talks faster than people. */
const SPEED = 8;
/** First parts of the paths that the service answers; the others are files. */
const SERVED =
  /^(api|user|admin|engine|conversations|widgets|automate|ai|ai-replies|leads|recordings|docs|(healthz|readyz|metrics|openapi\.json)$)(\/|$)/;

/** Goes to the page that the service worker was asked for. */
function arrive() {
  const asked = new URL(new URLSearchParams(location.search).get("at") ?? "console/", ROOT);
  // What the page names beside it stays there when the address changes.
  for (const one of document.querySelectorAll("link, .offline a")) {
    /** @type {any} */ (one).href = /** @type {any} */ (one).href;
  }
  const isOwn = asked.href.startsWith(new URL("console/", ROOT).href);
  history.replaceState(null, "", isOwn ? asked : new URL("console/", ROOT));
}

/** Registers the service worker, which keeps the files for visits without a network. */
async function keepFiles() {
  if (!("serviceWorker" in navigator)) return;
  const { trustedTypes } = /** @type {any} */ (globalThis);
  const url = new URL("sw.js", ROOT).href;
  const policy = trustedTypes?.createPolicy("offline", { createScriptURL: () => url });
  await navigator.serviceWorker.register(policy?.createScriptURL("") ?? url).catch((error) => {
    console.info("This page will not work offline:", error);
  });
}

/** Has the service answer the requests of this page that are for it. @param {import("./engine/engine.js").Service} service */
function answerRequests(service) {
  const { fetch } = globalThis;
  globalThis.fetch = (input, init) => {
    const url = new URL(input instanceof Request ? input.url : input, location.href);
    const path = url.href.startsWith(ROOT.href) ? url.href.slice(ROOT.href.length) : "";
    if (!SERVED.test(path.split(/[?#]/)[0])) return fetch(input, init);
    return service(new Request(`${location.origin}/${path}`, input instanceof Request ? input : init));
  };
}

/** Carries calls in one of the tabs that are open. @param {import("./engine/engine.js").Service} service @param {string} token */
function carryCalls(service, token) {
  const memory = {
    load: () => JSON.parse(localStorage.getItem(CALLS) ?? "[]"),
    save: (/** @type {object[]} */ courses) => {
      if (!isForgotten) localStorage.setItem(CALLS, JSON.stringify(courses));
    },
  };
  const engine = new Engine(service, location.origin, token, { speed: SPEED, memory });
  void navigator.locks.request(`${STORE} engine`, () => engine.run());
}

/** Signs in as the account's owner and as the operator. @param {import("./service.js").Tokens} known */
async function signIn({ apiKey, adminToken }) {
  const [{ account, operator }, { get }] = await Promise.all([
    import(new URL("console/session.js", ROOT).href),
    import(new URL("console/api.js", ROOT).href),
  ]);
  account.value = {
    token: apiKey,
    csrf: null,
    me: { id: 0, name: "", email: "", timezone: "", plan: "", total_balance: 0 },
  };
  account.value = { ...account.value, me: await get("/user/me") };
  operator.value = adminToken;
}

async function begin() {
  arrive();
  await keepFiles();
  const service = await start(STORE, () => {});
  answerRequests(service);
  document.getElementById("anew")?.addEventListener("click", async () => {
    if (!confirm("Everything that this page keeps will be gone. Start anew?")) return;
    isForgotten = true;
    await service.close();
    await forget(STORE);
    localStorage.removeItem(CALLS);
    location.assign(ROOT);
  });
  await navigator.locks.request(`${STORE} filling`, async () => {
    const known = tokens(STORE);
    if (known && known.engineToken === undefined) {
      keepTokens(STORE, { engineToken: await fill(service, location.origin, known) });
    }
  });
  const known = tokens(STORE);
  if (known) {
    carryCalls(service, known.engineToken ?? "");
    await signIn(known);
  }
  await import(new URL("console/app.js", ROOT).href);
}

begin().catch((error) => {
  console.error(error);
  const place = /** @type {HTMLElement} */ (document.getElementById("app"));
  place.textContent = `The service did not start: ${error.message}`;
});
