// The call of this browser with an assistant, over the door that an engine has for browsers. It belongs to no page: it
// goes on while pages come and go, until one side hangs up or the person signs out.

import { ApiError, post } from "./api.js";
import { follow } from "./live.js";
import { account } from "./session.js";
import { text } from "./text.js";
import { effect, signal } from "./ui/base.js";

/** What the browser may take to find its own addresses, milliseconds; those that it found by then are told. */
const GATHER_MS = 2_000;
/** Events after which nothing more is heard. */
const LAST = ["ended", "failed", "completed"];

/** @typedef {{ seq: number, sender: "bot" | "human", text: string }} Said */
/** What pages show of it; what was said stays when it is over. `call` 0: it has no number yet.
 * @typedef {{ assistant: { id: number, name: string }, state: "connecting" | "live" | "over", call: number, sound: MediaStream | null, muted: boolean, said: Said[], partial: string, error: string | null }} Talk */
/** What carries it. @typedef {{ call: number, over: boolean, connection: RTCPeerConnection | null, microphone: MediaStream | null, stop: () => void }} Line */

/** The talk that runs, or the last one. @type {import("@preact/signals").Signal<Talk | null>} */
export const talk = signal(null);
/** @type {Line | null} */
let line = null;

/** Whether a talk runs, or is about to. */
export const talks = () => talk.value !== null && talk.value.state !== "over";

/** @param {Partial<Talk>} changes */
const change = (changes) => talk.value && (talk.value = { ...talk.value, ...changes });

/** Calls an assistant. @param {{ id: number, name: string }} assistant */
export async function begin({ id, name }) {
  if (talks()) return;
  /** @type {Line} */
  const made = { call: 0, over: false, connection: null, microphone: null, stop: () => {} };
  line = made;
  talk.value = {
    assistant: { id, name },
    state: "connecting",
    call: 0,
    sound: null,
    muted: false,
    said: [],
    partial: "",
    error: null,
  };
  try {
    await connect(made, id);
  } catch (failure) {
    if (made === line) over({ hangUp: made.call > 0, error: /** @type {Error} */ (failure).message });
  }
}

/** Hangs up; resolves when the service has been asked to. */
export const hangUp = () => over({ hangUp: true });

/** The talk is over: lets everything go. @param {{ hangUp: boolean, error?: string | null }} how @returns {Promise<void>} */
async function over({ hangUp: asks, error = null }) {
  const left = line;
  if (!left) return;
  line = null;
  change({ state: "over", partial: "", muted: false, error });
  leave(left);
  if (asks) await end(left);
}

/** Takes away what is said of the last talk's end. */
export const dismiss = () => change({ error: null });

export function mute() {
  const muted = !talk.value?.muted;
  line?.microphone?.getTracks().forEach((track) => (track.enabled = !muted));
  change({ muted });
}

/** @param {any} event */
function hear(event) {
  if (event.type === "answered") change({ state: "live" });
  if (event.type === "partial") change({ partial: event.text });
  if (event.type === "transcript") change({ partial: "", said: [...(talk.value?.said ?? []), event] });
  const failed = event.type === "failed" ? text.talk.failed(text.reasons[event.reason] ?? event.reason ?? "") : null;
  if (LAST.includes(event.type)) over({ hangUp: false, error: failed });
}

/** Lets the microphone and the connection go. @param {Line} left */
function leave(left) {
  left.over = true;
  left.stop();
  left.connection?.close();
  left.microphone?.getTracks().forEach((track) => track.stop());
}

/** Has the service hang up. @param {Line} left @returns {Promise<void>} */
const end = ({ call }) => (call ? post(`/user/calls/${call}/hangup`).catch(() => {}) : Promise.resolve());

/** Makes the call: the service is asked first, as without an engine nobody needs a microphone. Whoever hangs up meanwhile
 * leaves it wherever it is. @param {Line} made @param {number} assistant */
async function connect(made, assistant) {
  // A page that came over plain HTTP from another machine has no microphone.
  if (!navigator.mediaDevices) throw new Error(text.talk.insecure);
  const { call_id: call, token, engine_url: url } = await post("/user/web_calls", { assistant_id: assistant });
  made.call = call;
  if (made.over) return end(made);
  change({ call });
  made.microphone = await listen();
  if (made.over) return leave(made);
  const connection = (made.connection = new RTCPeerConnection());
  const sound = new MediaStream();
  connection.addEventListener("track", ({ track }) => sound.addTrack(track));
  connection.addEventListener("connectionstatechange", () => {
    if (made === line && ["failed", "closed"].includes(connection.connectionState))
      over({ hangUp: true, error: text.talk.lost });
  });
  for (const track of made.microphone.getTracks()) connection.addTrack(track, made.microphone);
  await connection.setLocalDescription();
  await gathered(connection);
  if (made.over) return undefined;
  const sdp = await answer(url, { token, sdp: connection.localDescription?.sdp ?? "" });
  if (made.over) return undefined;
  await connection.setRemoteDescription({ type: "answer", sdp });
  if (made.over) return undefined;
  change({ sound });
  made.stop = follow(`/user/calls/${call}/events`, { message: hear });
  return undefined;
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

// Signing out leaves nothing of it; `signOut` has hung up before.
effect(() => {
  if (account.value) return;
  hangUp();
  talk.value = null;
});
