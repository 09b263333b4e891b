/**
 * What is played in a simulated call: the same call gives the same script. The last four digits of the customer's number
 * choose the plot, as those of the binary's simulated engine do.
 *
 * @typedef {{ afterMs: number, event: Record<string, any> }} EventStep reported once the time has passed
 * @typedef {{ afterMs: number, tool: string, given: Record<string, unknown> }} ToolStep
 * @typedef {{ afterMs: number, search: string }} SearchStep
 * @typedef {EventStep | ToolStep | SearchStep} Step times are those of a real call
 * @typedef {{ call: any, assistant: any, next_seq: number }} Claimed as `POST /engine/claim` answers
 */

import { AGREEMENTS, EXCHANGES, FAREWELLS, GOODBYES, HELLOS, NAMES, NOTICE, OPENERS, REFUSALS } from "./lines.js";

/** Speaking time of a character, milliseconds: about 150 words a minute. */
const CHARACTER_MS = 65;
/** A number from the range reserved for fiction, for transfers to a number of the model's choice. */
const ANYBODY = "+12025550100";
/** Functions that an engine carries out itself. */
const BUILT_IN = /^(call_transfer|warm_call_transfer|assistant_transfer|end_call|dtmf_input|collect_keypad|calendar_)/;

/** @param {Claimed} claimed @returns {Step[]} */
export function script(claimed) {
  const writer = new Writer(claimed);
  const digits = String(claimed.call.client_phone_number ?? "").replace(/\D/g, "").slice(-4);
  (PLOTS[digits] ?? talks)(writer);
  return writer.steps;
}

/** @type {Record<string, (writer: Writer) => void>} */
const PLOTS = {
  "0002": (writer) => writer.fails(1_000, "busy"),
  "0003": (writer) => {
    writer.rings();
    writer.add(1_000 * (writer.assistant.ringing_time ?? 30), { type: "failed", reason: "no-answer" });
  },
  "0004": voicemail,
  "0005": (writer) => {
    writer.rings();
    writer.answers("human");
    writer.says("human", "Not now.");
    writer.ends("customer", "hung-up", false);
  },
  "0006": (writer) => writer.fails(700, "carrier-error"),
  "0007": (writer) => {
    writer.opens();
    for (let round = 0; round < 6; round += 1) EXCHANGES.forEach((exchange) => writer.exchange(exchange));
    writer.ends("service", "max-duration", null);
  },
  "0008": (writer) => {
    writer.opens();
    writer.tools.forEach((tool) => writer.asks(tool));
    agrees(writer);
  },
  "0009": transfers,
  "0010": (writer) => {
    writer.opens();
    writer.searches();
    agrees(writer);
  },
  // It says no more: the lease of the call runs out.
  "0011": (writer) => {
    writer.opens();
    writer.says("human", writer.one(EXCHANGES).human);
  },
  "0012": (writer) => {
    writer.opens();
    writer.says("human", writer.one(REFUSALS));
    writer.says("bot", "I understand. Is there anything that would change your mind?");
    writer.says("human", "No, there is not. Please do not call again.");
    writer.says("bot", `I will note that. Goodbye, ${writer.customer}.`);
    writer.ends("customer", "hung-up", false);
  },
  "0013": (writer) => writer.add(300, { type: "release", reason: "no line reaches this number" }),
};

/** @param {Writer} writer */
function talks(writer) {
  writer.opens();
  for (let count = 2 + writer.draw(2); count > 0; count -= 1) writer.exchange(writer.one(EXCHANGES));
  if (writer.tools.length > 0) writer.asks(writer.one(writer.tools));
  if (writer.assistant.knowledgebase_id) writer.searches();
  agrees(writer);
}

/** @param {Writer} writer */
function agrees(writer) {
  writer.says("human", writer.one(AGREEMENTS));
  writer.says("bot", writer.one(FAREWELLS));
  writer.says("human", writer.one(GOODBYES));
  writer.ends("customer", "hung-up", true);
}

/** @param {Writer} writer */
function transfers(writer) {
  writer.opens();
  writer.says("human", "I would rather speak with a person about this.");
  const tool = writer.assistant.tools?.find((/** @type {any} */ one) => one.type === "call_transfer");
  if (tool === undefined) {
    writer.says("bot", "I am sorry, there is nobody I could put you through to.");
    writer.says("human", "Then I will try it another way. Goodbye.");
    return writer.ends("customer", "hung-up", false);
  }
  writer.says("bot", "Of course, {customer}. I am putting you through; please stay on the line.");
  transfer(tool.phone_number ?? ANYBODY).forEach(({ afterMs, event }) => writer.add(afterMs, event));
  return writer.ends("assistant", "transferred", true);
}

/** A transfer that is accepted. @param {string} to @returns {EventStep[]} */
export function transfer(to) {
  const event = { type: "transfer", to, mode: "blind" };
  return [
    { afterMs: 1_000, event: { ...event, status: "started" } },
    { afterMs: 1_500, event: { ...event, status: "accepted" } },
  ];
}

/** @param {Writer} writer */
function voicemail(writer) {
  writer.rings();
  writer.answers("unknown");
  writer.says("human", "You have reached a mailbox. Nobody can take the call; please speak after the tone.");
  writer.add(200, { type: "detected", answered_by: "machine", kind: "voicemail", beep: true });
  writer.says("bot", writer.assistant.voicemail ?? writer.assistant.voice_mail_message ?? "");
  writer.ends("assistant", "voicemail", null);
}

class Writer {
  /** @type {Step[]} */
  steps = [];
  #turn = 0;
  #speaker = "bot";
  #used = { stt_seconds: 0, tts_characters: 0, llm_tokens_in: 0, llm_tokens_out: 0, carrier_seconds: 0 };
  #topic = "the call";

  /** @param {Claimed} claimed */
  constructor({ call, assistant }) {
    this.call = call;
    this.assistant = assistant;
    this.seed = Number(BigInt(call.id) % 0x7fffffffn) || 1;
    const given = { ...assistant.variables, ...call.variables }.customer_name;
    this.customer = typeof given === "string" && given !== "" ? given : this.one(NAMES);
    /** @type {any[]} */
    this.tools = (assistant.functions ?? []).filter((/** @type {any} */ one) =>
      one.kind === "tool" && !BUILT_IN.test(one.name)
    );
  }

  /** Draws a number below a bound, by Lehmer's generator. @param {number} bound */
  draw(bound) {
    this.seed = this.seed * 48_271 % 0x7fffffff;
    return this.seed % bound;
  }

  /** @template T @param {T[]} list */
  one(list) {
    return list[this.draw(list.length)];
  }

  /** @param {number} afterMs @param {Record<string, any>} event */
  add(afterMs, event) {
    this.#used.carrier_seconds += afterMs / 1_000;
    this.steps.push({ afterMs, event });
  }

  rings() {
    if (this.call.type === "outbound") this.add(0, { type: "dialing" });
    this.add(300 + this.draw(900), { type: "ringing" });
  }

  /** @param {string} by */
  answers(by) {
    this.add(800 + this.draw(4_000), { type: "answered", answered_by: by });
    this.#used.carrier_seconds = 0;
    this.add(0, { type: "transcript", sender: "bot", text: NOTICE });
  }

  opens() {
    if (this.call.type !== "web") this.rings();
    this.answers(this.call.type === "outbound" ? "human" : "unknown");
    this.says("bot", this.assistant.greeting ?? "");
    this.says("human", this.one(HELLOS));
    this.says("bot", this.one(OPENERS));
  }

  /** A line of one of both; behind an answer of the assistant, how quick it was.
   *
   * @param {"bot" | "human"} sender @param {string} line */
  says(sender, line) {
    const text = line.replaceAll("{customer}", this.customer).slice(0, 2_000).trim();
    if (text === "") return;
    const isAnswer = sender === "bot" && this.#speaker === "human";
    if (sender === "human" && (this.#speaker === "bot" || this.#turn === 0)) this.#turn += 1;
    this.#speaker = sender;
    const turn = this.#turn;
    const parts = {
      endpoint_ms: 180 + this.draw(80),
      stt_ms: 60 + this.draw(120),
      llm_ms: 220 + this.draw(400),
      tts_ms: 90 + this.draw(120),
      transport_ms: 30 + this.draw(40),
    };
    const totalMs = Object.values(parts).reduce((sum, part) => sum + part);
    const talkMs = text.length * CHARACTER_MS;
    const said = { type: "transcript", sender, text, turn, language: "en", interrupted: false, talkMs };
    const sure = { confidence: (86 + this.draw(13)) / 100 };
    this.add(talkMs + (isAnswer ? totalMs : 300 + this.draw(900)), sender === "human" ? { ...said, ...sure } : said);
    if (isAnswer) this.add(0, { type: "metrics", turn, ...parts, total_ms: totalMs });
    this.#counts(sender, text.length, talkMs);
  }

  /** @param {string} sender @param {number} characters @param {number} talkMs */
  #counts(sender, characters, talkMs) {
    if (sender === "human") this.#used.stt_seconds += talkMs / 1_000;
    else this.#used.tts_characters += characters;
    this.#used[sender === "human" ? "llm_tokens_in" : "llm_tokens_out"] += Math.ceil(characters / 4);
  }

  /** @param {{ topic: string, human: string, bot: string }} exchange */
  exchange({ topic, human, bot }) {
    this.#topic = topic;
    this.says("human", human);
    this.says("bot", bot);
  }

  /** @param {{ name: string, parameters?: any }} tool */
  asks({ name, parameters }) {
    this.says("human", "Could you look that up for me?");
    this.says("bot", "One moment, please.");
    const members = Object.entries(parameters?.properties ?? {}).map(([member, schema]) => [member, value(schema)]);
    this.steps.push({ afterMs: 300, tool: name, given: Object.fromEntries(members) });
    this.says("bot", "Thank you for waiting.");
  }

  searches() {
    const { topic } = this.one(EXCHANGES);
    this.#topic = topic;
    this.says("human", `What do your documents say about ${topic}?`);
    this.says("bot", "Let me look into them.");
    this.steps.push({ afterMs: 300, search: topic });
    this.says("bot", "I have looked it up.");
  }

  /** @param {number} afterMs @param {string} reason */
  fails(afterMs, reason) {
    if (this.call.type === "outbound") this.add(0, { type: "dialing" });
    this.add(afterMs, { type: "failed", reason });
  }

  /** @param {string} by @param {string} reason @param {boolean | null} success */
  ends(by, reason, success) {
    this.add(400, { type: "analysis", ...this.#analysis(success) });
    this.steps.push(...ending(by, reason, this.#used));
  }

  /** @param {boolean | null} success */
  #analysis(success) {
    const sentiment = success === null ? "neutral" : success ? "positive" : "negative";
    const heard = `${this.customer} talked with ${this.assistant.name} about ${this.#topic} and agreed to go on.`;
    const summary = success === null
      ? "There was no conversation with the customer."
      : success
      ? heard
      : `${this.customer} heard ${this.assistant.name} out and refused.`;
    const fields = (this.assistant.post_call_schema ?? []).map((/** @type {any} */ field) => [
      field.name,
      field.type === "bool" ? success === true : field.type === "number" ? 1 : this.#topic,
    ]);
    return { evaluation: { success, sentiment, summary }, variables: Object.fromEntries(fields) };
  }
}

/** The end of an answered call, with what is known only then.
 *
 * @param {string} by @param {string} reason @param {Record<string, number>} used @returns {EventStep[]} */
export function ending(by, reason, used) {
  const seconds = used.carrier_seconds ?? 0;
  const events = [
    { type: "ended", by, reason },
    { type: "quality", mos: 4.2, loss: 0.001, jitter_ms: 6, rtt_ms: 60, codec: "simulated" },
    { type: "usage", ...used },
    { type: "cost", carrier_cost: micros(seconds * 200), total_cost: micros(seconds * 1_500) },
  ];
  return events.map((event) => ({ afterMs: 0, event }));
}

/** Dollars of a number of millionths. @param {number} count */
const micros = (count) => Math.round(count) / 1e6;

/** A value for an argument of a tool. @param {any} schema */
function value(schema) {
  if (schema?.enum?.length > 0) return schema.enum[0];
  if (schema?.type === "number" || schema?.type === "integer") return 1;
  if (schema?.type === "boolean") return true;
  if (schema?.type === "array") return [];
  return schema?.type === "object" ? {} : "Tuesday";
}
