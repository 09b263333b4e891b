// A conversation by text with an assistant, as it is written, with what it asked of tools and knowledge.

import { ApiError, post, send } from "../../api.js";
import { messages } from "../../live.js";
import { text } from "../../text.js";
import { html, useEffect, useRef, useState } from "../../ui/base.js";
import { Notice, Panel } from "../../ui/parts.js";
import { Bubble } from "../conversation/bubble.js";

/** @typedef {import("../conversation/bubble.js").Said | { role: "failed" | "note", content: string }} Turn */

const MESSAGE_CHARS = 2_000;

/** @param {{ row: any }} props */
export function TryIt({ row }) {
  const talk = useTalk(row);
  const end = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => end.current?.scrollTo({ top: end.current.scrollHeight }), [talk.said, talk.now]);
  return html`<${Panel} title=${text.assistants.tryIt} actions=${
    talk.id &&
    html`<button type="button" class="quiet"
    disabled=${talk.busy} onClick=${talk.begin}>${text.assistants.restart}</button>`
  }>
    <p class="muted small">${text.assistants.tryWords}</p>
    ${talk.error && html`<${Notice} tone="bad" role="alert">${talk.error}<//>`}
    ${
      talk.id === null
        ? html`<div><button type="button" class="primary" disabled=${talk.busy}
          onClick=${talk.begin}>${text.assistants.begin}</button></div>`
        : html`<div class="chat" role="log" aria-label=${text.assistants.tryIt} tabindex="0" ref=${end}>
          ${talk.said.map((one, at) => html`<${PARTS[one.role]} key=${at} of=${one} again=${talk.tell} />`)}
          ${
            talk.now &&
            html`<div class="bubble assistant">${
              talk.now.tool &&
              html`<p
            class="muted small">${text.assistants.working(talk.now.tool)}</p>`
            }${talk.now.text || "…"}</div>`
          }
        </div><${Line} busy=${talk.busy} tell=${talk.tell} />`
    }
  <//>`;
}

/** The state of a conversation, and what moves it. @param {any} row */
function useTalk(row) {
  const [id, setId] = useState(/** @type {string | null} */ (null));
  const [said, setSaid] = useState(/** @type {Turn[]} */ ([]));
  const [now, setNow] = useState(/** @type {{ text: string, tool: string | null } | null} */ (null));
  const [error, setError] = useState(/** @type {string | null} */ (null));
  const [busy, setBusy] = useState(false);
  const during = async (/** @type {() => Promise<void>} */ act) => {
    setBusy(true);
    setError(null);
    await act().catch((failure) => setError(failure.message));
    setNow(null);
    setBusy(false);
  };
  const begin = () =>
    during(async () => {
      const { conversation_id: made, history } = await post("/conversations", { assistant_id: row.uuid, type: "test" });
      setId(made);
      setSaid(history);
      requestAnimationFrame(() => document.getElementById("message")?.focus());
    });
  const tell = (/** @type {string} */ message) =>
    during(async () => {
      setSaid((all) => [
        ...all.filter(({ role }) => role !== "failed"),
        ...(all.at(-1)?.role === "failed" ? [] : [/** @type {Turn} */ ({ role: "user", content: message })]),
      ]);
      setNow({ text: "", tool: null });
      try {
        const answer = await turn(id ?? "", message, setNow);
        setSaid((all) => [
          ...all,
          answer.message === null
            ? { role: "note", content: text.conversations.unanswered }
            : { role: "assistant", content: answer.message, function_calls: answer.function_calls },
        ]);
      } catch (failure) {
        setSaid((all) => [...all, { role: "failed", content: message }]);
        throw failure;
      }
    });
  return { id, said, now, error, busy, begin, tell };
}

/** One turn, told as it is written. @param {string} id @param {string} message
 * @param {(now: { text: string, tool: string | null }) => void} show @returns {Promise<any>} */
async function turn(id, message, show) {
  const response = await send("POST", `/conversations/${id}/messages`, {
    body: { message },
    accept: "text/event-stream, application/json;q=0.5",
  });
  if (!(response.headers.get("content-type") ?? "").includes("event-stream") || !response.body) return response.json();
  let written = "";
  for await (const { event, data } of messages(response.body)) {
    if (event === "delta") show({ text: (written += data.text), tool: null });
    else if (event === "tool") show({ text: written, tool: data.status === "running" ? data.name : null });
    else if (event === "done") return data;
    else if (event === "error") throw new ApiError(502, data);
  }
  throw new ApiError(0, null);
}

/** @param {{ of: Turn }} props */
const Note = ({ of }) => html`<p class="muted small">${of.content}</p>`;

/** A message that was not answered, to be sent again. @param {{ of: Turn, again: (message: string) => void }} props */
const Failed = ({ of, again }) =>
  html`<div class="bubble failed"><button type="button" class="link"
    onClick=${() => again(of.content)}>${text.assistants.resend}</button></div>`;

const PARTS = { user: Bubble, assistant: Bubble, note: Note, failed: Failed };

/** @param {{ busy: boolean, tell: (message: string) => void }} props */
function Line({ busy, tell }) {
  const [typed, setTyped] = useState("");
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (busy || !typed.trim()) return;
    tell(typed.trim());
    setTyped("");
  };
  return html`<form class="row" onSubmit=${submit}><label
    class="visually-hidden" for="message">${text.assistants.message}</label>
    <input id="message" style=${{ flex: 1, width: "auto" }}
      maxlength=${MESSAGE_CHARS} placeholder=${text.assistants.message} autocomplete="off" value=${typed}
      onInput=${(/** @type {any} */ event) => setTyped(event.target.value)} />
    <button type="submit" class="primary" disabled=${busy}>${text.send}</button></form>`;
}
