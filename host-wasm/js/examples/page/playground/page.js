/**
 * The playground: a form for the service that runs in the page.
 *
 * @import { Sample } from "./samples.js"
 * @import { Sent } from "../service.js"
 */

import { made, pretty, show, showFault } from "./answer.js";
import { stories } from "./samples.js";

/** What its data are kept under. */
const STORE = "switchboard playground";
/** How long a page waits for its service worker to take control, milliseconds. */
const TAKEN_OVER_MS = 3_000;
/** Outgoing requests that are shown; older ones are removed. */
const SENT_MAX = 20;
const NARROW = matchMedia("(max-width: 48rem)");

/** @param {string} id */
const element = (id) => /** @type {any} */ (document.getElementById(id));
/** @type {AbortController | null} */
let underWay = null;

/**
 * Registers the service worker, which caches the files for all later visits. Without one (in a private window, for
 * example) the page works while it is online.
 */
async function worker() {
  if (!("serviceWorker" in navigator)) return;
  const { serviceWorker } = navigator;
  const late = new Promise((resolve) => setTimeout(resolve, TAKEN_OVER_MS));
  const takenOver = new Promise((resolve) => serviceWorker.addEventListener("controllerchange", resolve));
  try {
    await serviceWorker.register("../sw.js");
    if (serviceWorker.controller === null) await Promise.race([takenOver, late]);
  } catch (error) {
    console.warn("This page will not work offline:", error);
  }
}

async function start() {
  await worker();
  const own = await import("../service.js");
  const service = await own.start(STORE, showSent);
  const tokens = own.tokens(STORE);
  element("token").value = tokens?.apiKey ?? "";
  for (const [title, samples] of stories()) {
    element("samples").append(
      made("h3", title),
      list(samples, () => own.tokens(STORE)),
    );
  }
  element("request").addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    void ask(service, (more) => own.keepTokens(STORE, more));
  });
  element("anew").addEventListener("click", async () => {
    if (!confirm("Everything that this playground keeps will be gone. Start anew?")) return;
    await service.close();
    await own.forget(STORE);
    location.reload();
  });
  element("send").disabled = false;
  const lost = tokens === null ? "Ready, but its tokens are lost: start anew" : "Ready";
  said(lost, tokens === null ? "broken" : "ready");
}

/** @param {string} text @param {string} is */
function said(text, is) {
  element("state").textContent = text;
  element("state").dataset.is = is;
}

/**
 * @param {Sample[]} samples
 * @param {() => import("../service.js").Tokens | null} tokens
 */
function list(samples, tokens) {
  const all = made("ul", "");
  for (const sample of samples) {
    const button = made("button", "");
    button.append(made("code", sample.method), made("span", sample.title));
    button.addEventListener("click", () => {
      document.querySelectorAll("nav [aria-current]").forEach((other) => other.removeAttribute("aria-current"));
      button.setAttribute("aria-current", "true");
      fill(sample, tokens()?.[sample.token ?? "apiKey"] ?? "");
      element("request").requestSubmit();
      if (NARROW.matches) showAnswer();
    });
    all.append(made("li", ""));
    all.lastElementChild?.append(button);
  }
  return all;
}

/** Collapses the samples on narrow screens, where the answer is below them. */
function showAnswer() {
  element("samples").open = false;
  element("answer").focus({ preventScroll: true });
  element("answer").closest("section").scrollIntoView();
}

/** @param {Sample} sample @param {string} token */
function fill({ method, path, body, live }, token) {
  element("method").value = method;
  element("path").value = path;
  element("token").value = token;
  element("body").value = body === undefined ? "" : JSON.stringify(body, null, 2);
  element("live").checked = live ?? false;
}

/** Builds the request of the form. @param {AbortSignal} signal */
function request(signal) {
  const method = element("method").value;
  const headers = new Headers({ accept: element("live").checked ? "text/event-stream" : "application/json" });
  if (element("token").value !== "") headers.set("authorization", `Bearer ${element("token").value.trim()}`);
  const hasBody = method !== "GET" && method !== "HEAD" && element("body").value.trim() !== "";
  if (hasBody) headers.set("content-type", "application/json");
  return new Request(location.origin + element("path").value, {
    method,
    headers,
    body: hasBody ? element("body").value : undefined,
    signal,
  });
}

/**
 * @param {import("../switchboard/index.d.ts").Service} service
 * @param {(more: Partial<import("../service.js").Tokens>) => void} keepTokens
 */
async function ask(service, keepTokens) {
  underWay?.abort();
  const own = underWay = new AbortController();
  element("stop").hidden = false;
  try {
    const beganMs = performance.now();
    const response = await service(request(own.signal));
    if (own.signal.aborted) return response.body?.cancel();
    if (element("path").value === "/admin/engine-tokens" && response.status === 201) {
      response.clone().json().then(({ token, data }) => keepTokens({ engineToken: token ?? data?.token }));
    }
    await show(response, beganMs, own.signal);
  } catch (error) {
    if (!own.signal.aborted) showFault(error instanceof Error ? error.message : String(error));
  } finally {
    if (underWay === own) element("stop").hidden = true;
  }
}

/** @param {Sent} sent */
function showSent({ method, url, body }) {
  const entry = made("details", "");
  entry.append(made("summary", `${method} ${url}`), made("pre", ""));
  entry.lastElementChild?.append(...pretty(body));
  const item = made("li", "");
  item.append(entry);
  element("outbox").prepend(item);
  if (element("outbox").children.length > SENT_MAX) element("outbox").lastElementChild.remove();
}

element("stop").addEventListener("click", () => {
  underWay?.abort();
  element("stop").hidden = true;
});
element("body").addEventListener("keydown", (/** @type {KeyboardEvent} */ event) => {
  if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) element("request").requestSubmit();
});
if (NARROW.matches) element("samples").open = false;
start().catch((error) => {
  console.error(error);
  said(`The service did not start: ${error.message}`, "broken");
});
