// Talking with an assistant: a call of this browser, over the door that an engine has for browsers, with what is said.

import { ApiError, post } from "../../api.js";
import { follow } from "../../live.js";
import { to } from "../../router.js";
import { text } from "../../text.js";
import { html, useEffect, useRef, useState } from "../../ui/base.js";
import { Badge, Notice, Panel } from "../../ui/parts.js";

/** What the browser may take to find its own addresses, milliseconds; those that it found by then are told. */
const GATHER_MS = 2_000;
/** Events after which nothing more is heard. */
const LAST = ["ended", "failed", "completed"];

/** @typedef {{ seq: number, sender: "bot" | "human", text: string }} Said */
/** @typedef {{ id: number, connection: RTCPeerConnection, microphone: MediaStream, sound: MediaStream }} Line */

/** @param {{ row: any }} props */
export function Talk({ row }) {
  const { line, state, said, partial, error, muted, begin, end, mute } = useLine(row);
  const sound = useRef(/** @type {HTMLAudioElement | null} */ (null));
  const log = useRef(/** @type {HTMLElement | null} */ (null));
  useEffect(() => {
    if (sound.current) sound.current.srcObject = line?.sound ?? null;
  }, [line]);
  useEffect(() => log.current?.scrollTo({ top: log.current.scrollHeight }), [said, partial]);
  return html`<${Panel} title=${text.talk.title}>
    <p class="muted small">${text.talk.words}</p>
    ${error && html`<${Notice} tone="bad" role="alert">${error}<//>`}
    <div class="row" role="status">${
      line
        ? html`<${Badge} state="in-progress" words=${text.talk.states[state]} />
          <button type="button" aria-pressed=${muted ? "true" : "false"} onClick=${mute}>${text.talk.mute}</button>
          <button type="button" class="danger" onClick=${end}>${text.talk.end}</button>
          <a href=${to(`/calls/${line.id}`)}>${text.talk.page}</a>`
        : html`<button type="button" class="primary" disabled=${state === "connecting"}
          onClick=${begin}>${state === "connecting" ? text.talk.states.connecting : text.talk.begin}</button>`
    }</div>
    <audio ref=${sound} autoplay></audio>
    ${
      (said.length > 0 || partial) &&
      html`<div class="chat" role="log" aria-label=${text.talk.title} tabindex="0" ref=${log}>
        ${said.map((one) => html`<div key=${one.seq} class=${bubble(one.sender)}>${one.text}</div>`)}
        ${partial && html`<div class=${bubble("human")}>${partial} …</div>`}
      </div>`
    }
  <//>`;
}

/** @param {Said["sender"]} sender */
const bubble = (sender) => `bubble ${sender === "bot" ? "assistant" : "user"}`;

/** A call of this browser, and what moves it. @param {any} row */
function useLine(row) {
  const [line, setLine] = useState(/** @type {Line | null} */ (null));
  const [state, setState] = useState(/** @type {"idle" | "connecting" | "live"} */ ("idle"));
  const [said, setSaid] = useState(/** @type {Said[]} */ ([]));
  const [partial, setPartial] = useState("");
  const [error, setError] = useState(/** @type {string | null} */ (null));
  const [muted, setMuted] = useState(false);
  /** Lets everything go, and hangs up a call that is not over. @type {{ current: (isOver: boolean) => void }} */
  const leave = useRef((/** @type {boolean} */ _) => {});
  const gone = useRef(false);
  useEffect(
    () => () => {
      gone.current = true;
      leave.current(false);
    },
    [],
  );

  const over = (/** @type {boolean} */ isOver) => {
    leave.current(isOver);
    leave.current = () => {};
    setLine(null);
    setState("idle");
    setPartial("");
    setMuted(false);
  };
  const hear = (/** @type {any} */ event) => {
    if (event.type === "answered") setState("live");
    if (event.type === "partial") return setPartial(event.text);
    if (event.type === "transcript") {
      setPartial("");
      setSaid((all) => [...all, event]);
    }
    if (LAST.includes(event.type)) over(true);
    if (event.type === "failed") setError(text.talk.failed(text.reasons[event.reason] ?? event.reason ?? ""));
  };
  const begin = async () => {
    setState("connecting");
    setError(null);
    setSaid([]);
    try {
      const made = await connect(row);
      const stop = follow(`/user/calls/${made.id}/events`, { message: hear });
      leave.current = (isOver) => {
        stop();
        close(made, isOver);
      };
      if (gone.current) return leave.current(false);
      made.connection.addEventListener("connectionstatechange", () => {
        if (!["failed", "closed"].includes(made.connection.connectionState)) return;
        setError(text.talk.lost);
        over(false);
      });
      return setLine(made);
    } catch (failure) {
      setState("idle");
      return setError(/** @type {Error} */ (failure).message);
    }
  };
  const mute = () => {
    line?.microphone.getTracks().forEach((track) => (track.enabled = muted));
    setMuted(!muted);
  };
  return { line, state, said, partial, error, muted, begin, end: () => over(false), mute };
}

/** Makes a call of this browser: the service is asked first, as without an engine nobody needs a microphone.
 * @param {any} row @returns {Promise<Line>} */
async function connect(row) {
  // A page that came over plain HTTP from another machine has no microphone.
  if (!navigator.mediaDevices) throw new Error(text.talk.insecure);
  const { call_id: id, token, engine_url: url } = await post("/user/web_calls", { assistant_id: row.id });
  const connection = new RTCPeerConnection();
  const sound = new MediaStream();
  connection.addEventListener("track", ({ track }) => sound.addTrack(track));
  /** @type {Line} */
  const line = { id, connection, microphone: new MediaStream(), sound };
  try {
    const microphone = (line.microphone = await listen());
    microphone.getTracks().forEach((track) => connection.addTrack(track, microphone));
    await connection.setLocalDescription();
    await gathered(connection);
    const sdp = await answer(url, { token, sdp: connection.localDescription?.sdp ?? "" });
    await connection.setRemoteDescription({ type: "answer", sdp });
    return line;
  } catch (failure) {
    close(line, false);
    throw failure;
  }
}

/** Lets the microphone go, and hangs up a call that is not over. @param {Line} line @param {boolean} isOver */
function close({ id, connection, microphone }, isOver) {
  connection.close();
  microphone.getTracks().forEach((track) => track.stop());
  if (!isOver) post(`/user/calls/${id}/hangup`).catch(() => {});
}

async function listen() {
  try {
    return await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: true, noiseSuppression: true } });
  } catch {
    throw new Error(text.talk.silent);
  }
}

/** @param {RTCPeerConnection} connection */
function gathered(connection) {
  return new Promise((resolve) => {
    const look = () => connection.iceGatheringState === "complete" && resolve(0);
    connection.addEventListener("icegatheringstatechange", look);
    setTimeout(resolve, GATHER_MS);
    look();
  });
}

/** Shows an engine's door the token and what this browser offers; returns its answer. @param {string} url
 * @param {{ token: string, sdp: string }} offer @returns {Promise<string>} */
async function answer(url, offer) {
  const headers = { "content-type": "application/json" };
  const told = await fetch(url, { method: "POST", headers, body: JSON.stringify(offer) }).catch(() => null);
  if (!told) throw new Error(text.talk.unreachable(url));
  const body = await told.json().catch(() => null);
  if (!told.ok) throw new ApiError(told.status, body);
  return body.sdp;
}
