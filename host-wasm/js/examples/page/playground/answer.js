/** Shows an answer: status, headers, and the body as it arrives. */

/** Longest body shown with colours, characters. */
const COLOURED_MAX = 60_000;
/** Most characters shown of a live stream: the newest. */
const STREAM_MAX = 100_000;
/** JSON tokens: a string with or without a colon after it, and other values. */
const JSON_PARTS = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(?:true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

/** @param {string} id */
const element = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/**
 * @param {string} tag
 * @param {string} text
 * @param {string} [className]
 */
export function made(tag, text, className) {
  const node = document.createElement(tag);
  node.textContent = text;
  if (className !== undefined) node.className = className;
  return node;
}

/**
 * @param {Response} response
 * @param {number} beganMs
 * @param {AbortSignal} signal aborted when something else is shown
 */
export async function show(response, beganMs, signal) {
  const isLive = response.headers.get("content-type") === "text/event-stream";
  showHead(response, isLive ? "live" : `${Math.max(1, Math.round(performance.now() - beganMs))} ms`);
  if (isLive && response.body !== null) return showStream(response.body, signal);
  const text = await response.text();
  if (signal.aborted) return;
  element("answer").replaceChildren(...pretty(text));
}

/** @param {string} message */
export function showFault(message) {
  showStatus("–", message, true);
  element("headers-box").hidden = true;
  element("answer").replaceChildren();
}

/**
 * @param {Response} response
 * @param {string} took
 */
function showHead({ status, headers }, took) {
  showStatus(String(status), took, status >= 400);
  element("headers-box").hidden = false;
  element("headers").replaceChildren(...[...headers].flatMap(([name, value]) => [made("dt", name), made("dd", value)]));
}

/** @param {string} status @param {string} took @param {boolean} isBad */
function showStatus(status, took, isBad) {
  element("status").dataset.is = isBad ? "bad" : "good";
  element("status").replaceChildren(made("b", status), ` · ${took}`);
}

/** @param {ReadableStream<Uint8Array>} body @param {AbortSignal} signal */
async function showStream(body, signal) {
  const reader = body.pipeThrough(/** @type {any} */ (new TextDecoderStream())).getReader();
  const box = element("answer");
  for (box.textContent = "";;) {
    const { value } = await reader.read();
    if (value === undefined || signal.aborted) return;
    box.textContent = (box.textContent + value).slice(-STREAM_MAX);
    box.scrollTop = box.scrollHeight;
  }
}

/**
 * Formats JSON on indented lines with colours; returns other text unchanged.
 *
 * @param {string} text
 * @returns {(Node | string)[]}
 */
export function pretty(text) {
  if (text === "") return [made("span", "This answer has no body.", "note")];
  let json;
  try {
    json = JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return [text];
  }
  if (json.length > COLOURED_MAX) return [json];
  const parts = [];
  let end = 0;
  for (const { 0: part, 1: quoted, 2: colon, index } of json.matchAll(JSON_PARTS)) {
    parts.push(json.slice(end, index), made("span", quoted ?? part, quoted ? (colon ? "key" : "text") : "number"));
    end = index + (quoted ?? part).length;
  }
  return [...parts, json.slice(end)];
}
