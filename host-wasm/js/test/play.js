/**
 * Plays a script: inputs one after another, each at its own time and with its own seed, against an outside with fixed
 * answers. Every host that plays it must produce the same transcript and the same store.
 *
 * A script is lines of JSON. The first is `{"config": {…}}`; each other one has `now` (microseconds) and `seed` (64
 * hexadecimal digits), and is a `first` start, an `http` request, a `tick` or an `answer` to the oldest send.
 *
 * @import { Answered, Extracted, Form, Host } from "../npm/index.d.ts"
 * @import { Send } from "../npm/host/types.d.ts"
 * @import { Bytes, Storage } from "../npm/storage/storage.d.ts"
 * @typedef {{ method: string, target: string, headers: [string, string][], body: string | null, peer: string | null }} Http
 * @typedef {{ now: number, seed: string, first?: true, http?: Http, tick?: true, answer?: true }} Line
 */

import { createHost } from "../npm/index.js";

/** Rows per read of the dump. */
const DUMP_ROWS = 1_000;
/** Headers of the connection rather than the service. */
const OF_CONNECTIONS = ["date", "connection", "transfer-encoding"];

const MODEL_SAYS = JSON.stringify({ summary: "Fine.", sentiment: "positive", success: true });
const MODEL = JSON.stringify({ choices: [{ message: { content: MODEL_SAYS } }] });
const MODEL_CALL = { id: "c1", type: "function", function: { name: "look", arguments: "{}" } };
const MODEL_CALLS = JSON.stringify({ choices: [{ message: { content: null, tool_calls: [MODEL_CALL] } }] });
const MODEL_ANSWERS = JSON.stringify({ choices: [{ message: { content: "We open at nine." } }] });

/**
 * Plays a script; returns the lines of its transcript.
 *
 * @param {string} script
 * @param {Storage<any>} storage
 * @param {import("../npm/index.d.ts").HostOptions["wasm"]} [wasm]
 * @returns {Promise<string[]>}
 */
export async function play(script, storage, wasm) {
  const transcript = [];
  for await (const { result } of steps(script, storage, { wasm })) transcript.push(result);
  transcript.push(await dump(storage));
  return transcript;
}

/**
 * State that a host needs to continue where another one ended.
 *
 * @typedef {object} Stand
 * @property {import("../npm/index.d.ts").HostOptions["wasm"]} [wasm]
 * @property {number} [from] lines that are played already
 * @property {Send[]} [pending] sends that are still pending
 */

/**
 * Plays line by line: yields a line of the transcript and the pending sends after each.
 *
 * @param {string} script
 * @param {Storage<any>} storage
 * @param {Stand} [stand]
 */
export async function* steps(script, storage, { wasm, from = 0, pending = [] } = {}) {
  const [{ config }, ...lines] = script.split("\n").filter((line) => line.trim() !== "").map((line) =>
    JSON.parse(line)
  );
  const player = await Player.open(storage, config, wasm);
  player.pending = pending;
  for (let at = from; at < lines.length; at++) {
    const result = await player.play(lines[at]).catch((cause) => {
      throw new Error(`line ${at + 2} of the script: ${cause}`, { cause });
    });
    yield { result: JSON.stringify(result), pending };
  }
}

/** A host that does nothing between its inputs. */
export class Player {
  /** Sends that are still pending. @type {Send[]} */
  pending = [];
  #nowMicros = 0;
  #seed = new Uint8Array(32);
  /** @type {Host} */
  #host = /** @type {any} */ (null);

  /**
   * @param {Storage<any>} storage
   * @param {object} config
   * @param {import("../npm/index.d.ts").HostOptions["wasm"]} wasm
   */
  static async open(storage, config, wasm) {
    const player = new Player();
    player.#host = await createHost({
      storage,
      config,
      wasm,
      now: () => player.#nowMicros / 1000,
      random: (bytes) => bytes.set(player.#seed),
      fetch: /** @type {any} */ (outside),
      extract,
      // A script has only one client: whoever waits for news would wait in vain, so timers fire at once.
      timer: (_, act) => {
        queueMicrotask(act);
        return () => {};
      },
      report: (error) => {
        throw error;
      },
    });
    return player;
  }

  /** @param {Line} line */
  async play({ now, seed, first, http, tick, answer }) {
    this.#nowMicros = now;
    this.#seed = Uint8Array.from(seed.match(/../g) ?? [], (digits) => Number.parseInt(digits, 16));
    if (first) return this.#first();
    if (http !== undefined) return this.#http(http);
    if (tick) return this.#decided(await this.#host.decide({ tick: true }));
    if (answer) return this.#answer();
    throw new Error("a line is a first start, a request, a tick or an answer");
  }

  async #first() {
    const reply = await this.#host.firstStart();
    return { status: reply?.status ?? null, body: reply?.body === undefined ? null : base64(reply.body) };
  }

  /** @param {Http} http */
  async #http({ method, target, headers, body, peer }) {
    const bytes = body === null ? new Uint8Array() : Uint8Array.from(atob(body), (letter) => letter.charCodeAt(0));
    const answer = await this.#host.answer({
      method,
      target,
      headers: headers.map(([name, value]) => /** @type {[string, string]} */ ([name.toLowerCase(), value])),
      // As over HTTP, where an empty body is none.
      body: bytes.length === 0 ? null : new Blob([bytes]).stream(),
      peer: peer ?? undefined,
    });
    return shown(answer, method);
  }

  async #answer() {
    const send = this.pending.shift();
    if (send?.ticket === undefined) return { wake: null, sends: [] };
    const { ticket } = send;
    const answer = await this.#host.perform(send.work);
    return this.#decided(await this.#host.decide({ answered: { ticket, answer } }));
  }

  /** @param {import("../npm/index.d.ts").Decided} decided */
  #decided({ wake, sends }) {
    this.pending.push(...sends);
    return { wake: wake ?? null, sends: sends.map(shownSend) };
  }
}

/**
 * @param {Answered} answer
 * @param {string} method
 */
async function shown({ status, headers, body }, method) {
  const left = [...OF_CONNECTIONS, ...(method === "HEAD" ? [] : ["content-length"])];
  const kept = headers.filter(([name]) => !left.includes(name)).sort(byText);
  return { status, headers: kept, body: base64(await bytesOf(body)) };
}

/** Returns a body's bytes: of an event stream only the first ones. @param {Answered["body"]} body */
async function bytesOf(body) {
  if (body === null) return new Uint8Array();
  if (body instanceof Uint8Array) return body;
  const reader = body.getReader();
  const { value } = await reader.read();
  await reader.cancel();
  return value ?? new Uint8Array();
}

/** @param {Send} send */
function shownSend({ ticket, work }) {
  const known = { account: ticket?.account, task: ticket && hex(ticket.task), lease: ticket?.lease, kind: work.kind };
  if (work.kind !== "http") return known;
  return { ...known, method: work.method, url: work.url, headers: work.headers, body: base64(work.body) };
}

/**
 * Answers a request of the service, always in the same way.
 *
 * @param {string} url
 * @param {RequestInit} [init]
 */
async function outside(url, init) {
  const headers = { "content-type": "application/json" };
  if (url.includes("/refuse")) throw new TypeError("nobody listens");
  if (url.includes("/missing")) return new Response("{}", { status: 404, headers });
  if (!url.endsWith("/chat/completions")) return new Response('{"ok":true}', { headers });
  return new Response(said(await new Response(init?.body).text()), { headers });
}

/** What the model says: after a call, or in a conversation. @param {string} question */
function said(question) {
  if (question.includes('"response_format"')) return MODEL;
  return question.includes('"name":"look"') && !question.includes('"role":"tool"') ? MODEL_CALLS : MODEL_ANSWERS;
}

/**
 * @param {Form} form
 * @returns {Extracted}
 */
function extract(form) {
  if (form === "pdf") throw new Error("This file is damaged.");
  return { title: null, text: "We open at nine.\nWe close at five.", links: [] };
}

/**
 * Returns the last line of a transcript: all rows, sorted by key.
 *
 * @param {Storage<any>} storage
 */
export async function dump(storage) {
  /** @type {[string, string][]} */
  const all = [];
  const to = new Uint8Array([3, 0, 0, 0, 0]);
  for (let from = new Uint8Array(5);;) {
    const reading = await storage.read([{ from, to, descending: false, limit: DUMP_ROWS }]);
    const rows = /** @type {[Bytes, Bytes][]} */ (reading?.found[0]);
    all.push(...rows.map(([key, value]) => /** @type {[string, string]} */ ([hex(key), hex(value)])));
    if (rows.length < DUMP_ROWS) return JSON.stringify({ dump: all });
    from = new Uint8Array([...rows[rows.length - 1][0], 0]);
  }
}

/** @param {string[]} one @param {string[]} other */
function byText(one, other) {
  const [left, right] = [one.join("\n"), other.join("\n")];
  return left < right ? -1 : Number(left > right);
}

/** @param {Bytes} bytes */
export function hex(bytes) {
  return Array.from(bytes, (byte) => byte.toString(16).padStart(2, "0")).join("");
}

/** @param {Bytes} bytes */
function base64(bytes) {
  return btoa(Array.from(bytes, (byte) => String.fromCharCode(byte)).join(""));
}
