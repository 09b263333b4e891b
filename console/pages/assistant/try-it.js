// A conversation by text with an assistant, as it is written, with what it asked of tools and knowledge.

import { ApiError, post, send } from "../../api.js";
import { messages } from "../../live.js";
import { account } from "../../session.js";
import { text } from "../../text.js";
import { effect, html, signal, useEffect, useRef } from "../../ui/base.js";
import { place } from "../../ui/controls.js";
import { Notice, Panel } from "../../ui/parts.js";
import { Bubble } from "../conversation/bubble.js";

/** @typedef {import("../conversation/bubble.js").Said | { role: "failed" | "note", content: string }} Turn */

const MESSAGE_CHARS = 2_000;

/** @param {{ row: any }} props */
export function TryIt({ row }) {
  const chat = chatWith(row.uuid);
  const { id, said, now, error, busy } = chat.value;
  const end = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => end.current?.scrollTo({ top: end.current.scrollHeight }), [said, now]);
  const again = (/** @type {string} */ message) => tell(chat, message);
  return html`<${Panel} title=${text.assistants.tryIt} actions=${
    id &&
    html`<button type="button" class="quiet"
    disabled=${busy} onClick=${() => begin(chat, row.uuid)}>${text.assistants.restart}</button>`
  }>
    <p class="muted small">${text.assistants.tryWords}</p>
    ${error && html`<${Notice} tone="bad" role="alert">${error}<//>`}
    ${
      id === null
        ? html`<div><button type="button" class="primary" disabled=${busy}
          onClick=${() => begin(chat, row.uuid)}>${text.assistants.begin}</button></div>`
        : html`<div class="chat" role="log" aria-label=${text.assistants.tryIt} tabindex="0" ref=${end}>
          ${said.map((one, at) => html`<${PARTS[one.role]} key=${at} of=${one} again=${again} />`)}
          ${
            now &&
            html`<div class="bubble assistant">${
              now.tool &&
              html`<p
            class="muted small">${text.assistants.working(now.tool)}</p>`
            }${now.text || "…"}</div>`
          }
        </div><${Line} chat=${chat} />`
    }
  <//>`;
}

/** A conversation, what is being written of it, and what is typed. @typedef {{ id: string | null, said: Turn[], now: { text: string, tool: string | null } | null, error: string | null, busy: boolean, typed: string }} Chat */
/** @typedef {import("@preact/signals").Signal<Chat>} ChatSignal */

/** Conversations by the uuid of their assistant: each goes on while other pages are open. @type {Map<string, ChatSignal>} */
const chats = new Map();
effect(() => {
  if (!account.value) chats.clear();
});

/** @param {string} uuid @returns {ChatSignal} */
function chatWith(uuid) {
  const chat =
    chats.get(uuid) ??
    signal(/** @type {Chat} */ ({ id: null, said: [], now: null, error: null, busy: false, typed: "" }));
  chats.set(uuid, chat);
  return chat;
}

/** @param {ChatSignal} chat @param {Partial<Chat>} changes */
const change = (chat, changes) => (chat.value = { ...chat.value, ...changes });

/** @param {ChatSignal} chat @param {() => Promise<void>} act */
async function during(chat, act) {
  change(chat, { busy: true, error: null });
  await act().catch((failure) => change(chat, { error: failure.message }));
  change(chat, { now: null, busy: false });
}

/** @param {ChatSignal} chat @param {string} uuid of the assistant */
const begin = (chat, uuid) =>
  during(chat, async () => {
    const isStill = place();
    const { conversation_id: id, history } = await post("/conversations", { assistant_id: uuid, type: "test" });
    change(chat, { id, said: history });
    requestAnimationFrame(() => {
      if (isStill()) document.getElementById("message")?.focus();
    });
  });

/** @param {ChatSignal} chat @param {string} message */
const tell = (chat, message) =>
  during(chat, async () => {
    const before = chat.value.said;
    const said = before.filter(({ role }) => role !== "failed");
    if (before.at(-1)?.role !== "failed") said.push({ role: "user", content: message });
    change(chat, { said, now: { text: "", tool: null } });
    try {
      const answer = await turn(chat.value.id ?? "", message, (now) => change(chat, { now }));
      /** @type {Turn} */
      const told =
        answer.message === null
          ? { role: "note", content: text.conversations.unanswered }
          : { role: "assistant", content: answer.message, function_calls: answer.function_calls };
      change(chat, { said: [...said, told] });
    } catch (failure) {
      change(chat, { said: [...said, { role: "failed", content: message }] });
      throw failure;
    }
  });

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

/** @param {{ chat: ChatSignal }} props */
function Line({ chat }) {
  const { typed, busy } = chat.value;
  const submit = (/** @type {Event} */ event) => {
    event.preventDefault();
    if (busy || !typed.trim()) return;
    change(chat, { typed: "" });
    tell(chat, typed.trim());
  };
  return html`<form class="row" onSubmit=${submit}><label
    class="visually-hidden" for="message">${text.assistants.message}</label>
    <input id="message" style=${{ flex: 1, width: "auto" }}
      maxlength=${MESSAGE_CHARS} placeholder=${text.assistants.message} autocomplete="off" value=${typed}
      onInput=${(/** @type {any} */ event) => change(chat, { typed: event.target.value })} />
    <button type="submit" class="primary" disabled=${busy}>${text.send}</button></form>`;
}
