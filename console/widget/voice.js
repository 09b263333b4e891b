// A call of a visitor: the microphone and the assistant's voice, over the door that an engine has for browsers.

import { Refused } from "./conversation.js";
import { TEXT } from "./text.js";

/** What the browser may take to find its own addresses, milliseconds; those that it found by then are told. */
const GATHER_MS = 2_000;

export class Voice {
  /** @param {import("./conversation.js").Conversation} conversation whose assistant it is @param {() => void} over is
   * told once that the call has ended by itself */
  constructor(conversation, over) {
    this.conversation = conversation;
    this.over = over;
    this.connection = new RTCPeerConnection();
    this.sound = new Audio();
    /** @type {MediaStream | null} */
    this.microphone = null;
  }

  /** Begins the call. */
  async begin() {
    this.microphone = await listen();
    const heard = new MediaStream();
    this.sound.srcObject = heard;
    this.connection.addEventListener("track", ({ track }) => {
      heard.addTrack(track);
      void this.sound.play().catch(() => {});
    });
    for (const track of this.microphone.getTracks()) this.connection.addTrack(track, this.microphone);
    await this.connection.setLocalDescription();
    await this.#gathered();
    const { token, engine_url: door } = await this.conversation.call();
    const offer = JSON.stringify({ token, sdp: this.connection.localDescription?.sdp ?? "" });
    const sent = { method: "POST", headers: { "content-type": "application/json" }, body: offer };
    const answer = await fetch(door, { ...sent, credentials: "omit", referrerPolicy: "no-referrer" }).catch(() => null);
    if (!answer?.ok) throw new Refused(answer?.status ?? 0, TEXT.unheard);
    const { sdp } = await answer.json();
    await this.connection.setRemoteDescription({ type: "answer", sdp });
    this.connection.addEventListener("connectionstatechange", () => {
      if (["failed", "disconnected", "closed"].includes(this.connection.connectionState)) this.#ended();
    });
  }

  /** Ends it, and lets the microphone go. */
  end() {
    this.over = () => {};
    this.connection.close();
    this.microphone?.getTracks().forEach((track) => track.stop());
    this.sound.srcObject = null;
  }

  #ended() {
    const { over } = this;
    this.end();
    over();
  }

  #gathered() {
    return new Promise((resolve) => {
      const look = () => this.connection.iceGatheringState === "complete" && resolve(0);
      this.connection.addEventListener("icegatheringstatechange", look);
      setTimeout(resolve, GATHER_MS);
      look();
    });
  }
}

async function listen() {
  try {
    return await navigator.mediaDevices.getUserMedia({ audio: { echoCancellation: true, noiseSuppression: true } });
  } catch {
    throw new Refused(0, TEXT.silent);
  }
}
