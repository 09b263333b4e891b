// A conversation of a stranger: the public operations of docs/api.md, Conversations, without a token.

import { TEXT } from "./text.js";

/** @typedef {{ role: "assistant" | "user", content: string }} Message */
/** @typedef {{ title: string, color: string | null, position: "right" | "left", theme: "auto" | "light" | "dark",
 *   voice: boolean }} Looks */
/** What the tab keeps: the conversation, whether the panel is open, and a message that was not answered yet.
 * @typedef {{ id?: string, open?: boolean, sent?: { message: string, key: string, before: number } }} Kept */

/** Waits between tries, milliseconds; together more than a turn takes, and than a host that died holds it up. */
const WAITS_MS = [500, 1_000, 2_000, 4_000, 8_000, 15_000, 15_000, 15_000, 15_000, 15_000];
/** Longest silence while an answer is written, milliseconds. */
const SILENCE_MS = 70_000;

/** A refusal in words for the person who writes. */
export class Refused extends Error {
  /** @param {number} status of the answer; 0: there was none @param {string} words */
  constructor(status, words) {
    super(words);
    this.status = status;
  }
}

/** What broke off and may be tried again. */
class Interrupted extends Error {
  constructor() {
    super("there is no answer; does the policy of the page name the service in connect-src?");
  }
}

const pause = (/** @type {number} */ ms) =>
  new Promise((resolve) => {
    setTimeout(resolve, ms);
    addEventListener("online", resolve, { once: true });
  });

/** Waits until the browser has a network. */
async function online() {
  while (!navigator.onLine) await pause(5_000);
}

export class Conversation {
  /** @param {URL} service its folder @param {string} assistant its UUID */
  constructor(service, assistant) {
    this.service = service;
    this.assistant = assistant;
    this.place = `switchboard ${assistant}`;
    /** @type {Kept} */
    this.kept = this.#recalled();
  }

  /** How the widget looks. @returns {Promise<Looks>} */
  async looks() {
    for (let tries = 0; ; tries += 1) {
      try {
        const answer = await this.#ask(`widgets/${encodeURIComponent(this.assistant)}`);
        return await answer.json();
      } catch (error) {
        if (!(error instanceof Interrupted) || tries >= WAITS_MS.length) throw error;
        await pause(WAITS_MS[tries]);
      }
    }
  }

  /** Begins a call by voice. @returns {Promise<{ token: string, engine_url: string }>} */
  async call() {
    const answer = await this.#asked(`widgets/${encodeURIComponent(this.assistant)}/web_calls`, {});
    return answer.json();
  }

  /** What was said so far; `true` if it is the beginning of a new conversation in the place of one that is over.
   * @returns {Promise<[Message[], boolean]>} */
  async history() {
    if (!this.kept.id) return [await this.#begin(), false];
    try {
      const answer = await this.#asked(`conversations/${this.kept.id}`);
      return [(await answer.json()).history, false];
    } catch (error) {
      if (!(error instanceof Refused) || error.status !== 404) throw error;
      return [await this.#begin(), true];
    }
  }

  /** Says something. A connection that breaks off is taken up again: the key makes it one message, however often it is
   * sent, and the answer is there when it comes back.
   * @param {string} message @param {number} before messages in the conversation before it
   * @param {{ heard: (text: string) => void, waits: (why: string | null) => void }} told `heard` of more of the answer
   * @returns {Promise<string | null>} null if a person took over */
  async say(message, before, told) {
    const { sent } = this.kept;
    const key = sent && sent.message === message && sent.before === before ? sent.key : newKey();
    this.keep({ sent: { message, key, before } });
    for (let tries = 0; ; tries += 1) {
      try {
        const answer = await this.#turn(message, key, told);
        told.waits(null);
        this.keep({ sent: undefined });
        return answer;
      } catch (error) {
        told.waits(null);
        if (!(error instanceof Interrupted)) {
          this.keep({ sent: undefined });
          throw error;
        }
        if (tries >= WAITS_MS.length) throw new Refused(0, TEXT.unreachable);
        told.waits(navigator.onLine ? TEXT.lost : TEXT.offline);
        await online();
        await pause(WAITS_MS[tries]);
      }
    }
  }

  /** @param {Partial<Kept>} changes */
  keep(changes) {
    this.kept = { ...this.kept, ...changes };
    try {
      sessionStorage.setItem(this.place, JSON.stringify(this.kept));
    } catch {
      // A page that may keep nothing has the conversation until it is left.
    }
  }

  /** @returns {Kept} */
  #recalled() {
    try {
      const kept = JSON.parse(sessionStorage.getItem(this.place) ?? "{}");
      return typeof kept === "object" && kept !== null ? kept : {};
    } catch {
      return {};
    }
  }

  /** @returns {Promise<Message[]>} */
  async #begin() {
    const answer = await this.#asked("conversations", { assistant_id: this.assistant });
    const { conversation_id, history } = await answer.json();
    this.keep({ id: conversation_id, sent: undefined });
    return history;
  }

  /** One try of a turn. @param {string} message @param {string} key @param {{ heard: (text: string) => void }} told */
  async #turn(message, key, { heard }) {
    const silence = new AbortController();
    let timer = setTimeout(() => silence.abort(), SILENCE_MS);
    try {
      const headers = { "idempotency-key": key, accept: "text/event-stream" };
      const path = `conversations/${this.kept.id}/messages`;
      const answer = await this.#ask(path, { message }, { headers, signal: silence.signal });
      if (!answer.headers.get("content-type")?.startsWith("text/event-stream")) return (await answer.json()).message;
      let text = "";
      for await (const { event, data } of events(answer.body)) {
        clearTimeout(timer);
        timer = setTimeout(() => silence.abort(), SILENCE_MS);
        if (event === "delta") heard((text += data.text));
        if (event === "done") return data.message;
        if (event === "error") throw refused(data.retry_after ? 429 : 502, data);
      }
    } catch (error) {
      throw error instanceof Refused ? error : new Interrupted();
    } finally {
      clearTimeout(timer);
    }
    throw new Interrupted();
  }

  /** As `#ask`, for the person who waits. @param {string} path @param {object} [body] */
  async #asked(path, body) {
    try {
      return await this.#ask(path, body);
    } catch (error) {
      throw error instanceof Interrupted ? new Refused(0, TEXT.unreachable) : error;
    }
  }

  /** @param {string} path @param {object} [body] @param {RequestInit} [more] */
  async #ask(path, body, more = {}) {
    const answer = await fetch(new URL(path, this.service), {
      method: body ? "POST" : "GET",
      credentials: "omit",
      referrerPolicy: "no-referrer",
      ...(body && { body: JSON.stringify(body) }),
      ...more,
      headers: { ...(body && { "content-type": "application/json" }), ...more.headers },
    }).catch(() => {
      throw new Interrupted();
    });
    if (answer.ok) return answer;
    const told = await answer.json().catch(() => ({}));
    // The last message is still being answered, or the service has no room or is between two releases.
    if ([409, 503].includes(answer.status) || (answer.status > 500 && !body)) throw new Interrupted();
    throw refused(answer.status, { retry_after: Number(answer.headers.get("retry-after")), ...told });
  }
}

/** @param {number} status @param {{ errors?: object, message?: unknown, retry_after?: number }} told */
function refused(status, { errors, message, retry_after: seconds }) {
  if (status === 404) return new Refused(status, TEXT.closed);
  if (status === 403) return new Refused(status, TEXT.foreign);
  if (status === 422) return new Refused(status, errors ? String(message) : TEXT.full);
  if (status === 429) return new Refused(status, TEXT.tooMany(Math.max(1, seconds || 60)));
  return new Refused(status, TEXT.failed);
}

/** The events of a stream. @param {ReadableStream<Uint8Array> | null} body */
async function* events(body) {
  if (!body) return;
  const reader = body.pipeThrough(/** @type {any} */ (new TextDecoderStream())).getReader();
  let rest = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return;
    const parts = (rest + value).split(/\r?\n\r?\n/);
    rest = parts.pop() ?? "";
    for (const part of parts) {
      const event = /^event: ?(.*)$/m.exec(part)?.[1];
      const data = [...part.matchAll(/^data: ?(.*)$/gm)].map(([, line]) => line).join("\n");
      if (event && data) yield { event, data: JSON.parse(data) };
    }
  }
}

/** A key that nobody else has; `randomUUID` is there over HTTPS alone. */
function newKey() {
  return Array.from(crypto.getRandomValues(new Uint32Array(4)), (part) => part.toString(36)).join("-");
}
