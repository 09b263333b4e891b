// A voice engine of a test's own: it brings a call and says what happens in it, in real time, so that timelines look as
// those of real calls do and a live page has something to follow.

import { client } from "./service.js";

const sleep = (/** @type {number} */ ms) => new Promise((resolve) => setTimeout(resolve, ms));

/** @param {import("./service.js").Service} service @param {number} assistant */
export async function bring({ service, secrets }, assistant) {
  const { token } = await client(service, secrets.admin_token)("POST", "/admin/engine-tokens", {
    name: `test ${Date.now()}`,
  });
  const engine = client(service, token);
  const { call } = await engine("POST", "/engine/calls", { type: "web", assistant_id: assistant, protocol: 2 });
  let seq = 0;
  /** @type {any[]} */
  const commands = [];
  const report = async (/** @type {any[]} */ ...events) => {
    const told = await engine("POST", `/engine/calls/${call.id}/events`, {
      events: events.map((event) => ({ at: at(), ...event, seq: ++seq })),
    });
    commands.push(...told.commands);
  };
  const say = async (
    /** @type {"bot" | "human"} */ sender,
    /** @type {string} */ text,
    /** @type {number} */ ms,
    more = {},
  ) => {
    const started_at = at();
    await sleep(ms);
    await report({ type: "transcript", sender, text, started_at, ended_at: at(), ...more });
  };
  const tool = (/** @type {string} */ name, /** @type {any} */ given) =>
    engine("POST", `/engine/calls/${call.id}/tools/${name}`, { arguments: given });
  const ask = (/** @type {string} */ query) => engine("POST", `/engine/calls/${call.id}/knowledge`, { query });
  const record = (/** @type {number} */ seconds) =>
    engine("PUT", `/engine/calls/${call.id}/recording`, tone(seconds), { "content-type": "audio/wav" });
  return { id: call.id, token, commands, report, say, tool, ask, record };
}

/** The time now, as events have it. */
const at = () => new Date().toISOString().replace("Z", "000Z");

/** A call with everything in it, about half a minute long. @param {Awaited<ReturnType<typeof bring>>} call @param {number} [pace] divides every duration */
export async function play(call, pace = 1) {
  const { report, say, tool, ask, record } = call;
  const metrics = (/** @type {number} */ turn, /** @type {number} */ llm, more = {}) => ({
    type: "metrics",
    turn,
    endpoint_ms: 180 + 13 * turn,
    stt_ms: 110 + 7 * turn,
    llm_ms: llm,
    tts_ms: 95,
    transport_ms: 60,
    total_ms: 445 + 20 * turn + llm,
    ...more,
  });
  const began = Date.now();
  await report({ type: "dialing" }, { type: "ringing" });
  await sleep(1_800 / pace);
  await report({ type: "answered", answered_by: "human" }, { type: "detected", answered_by: "human", kind: "person" });
  await say("bot", "Hello Ana, this is Anna from Clinic North. Is this a good moment?", 2_900 / pace, {
    turn: 0,
    language: "en",
  });
  await sleep(300 / pace);
  await say("human", "Yes, but I have to be quick. It is about Tuesday, right?", 2_300 / pace, {
    turn: 1,
    language: "en",
    confidence: 0.94,
  });
  await sleep(500 / pace);
  await report(metrics(1, 310));
  await say("bot", "Right, Tuesday at ten. Shall I keep the appointment, or would another time", 2_600 / pace, {
    turn: 1,
    interrupted: true,
    language: "en",
  });
  await say("human", "Another time would be better. What is free on Tuesday?", 1_900 / pace, {
    turn: 2,
    language: "en",
    confidence: 0.91,
  });
  await tool("find_slots", { day: "2026-12-01" });
  await sleep(700 / pace);
  await report(metrics(2, 420, { tool_ms: 240, interrupted: false }));
  await say("bot", "There is half past nine and eleven o'clock. Which one suits you?", 2_400 / pace, {
    turn: 2,
    language: "en",
  });
  await sleep(250 / pace);
  await say("human", "Eleven. And where do I park?", 1_400 / pace, { turn: 3, language: "en", confidence: 0.97 });
  await ask("parking at the clinic");
  await sleep(450 / pace);
  await report(metrics(3, 280));
  await say(
    "bot",
    "Parking is free behind the house; the entrance is on Oak Street. I have noted Tuesday at eleven.",
    3_300 / pace,
    { turn: 3, language: "en" },
  );
  await report({ type: "dtmf", digits: "1#", by: "customer" });
  await report({ type: "hold" });
  await sleep(900 / pace);
  await report({ type: "resume" });
  await say("human", "Perfect, thank you. Goodbye.", 1_300 / pace, { turn: 4, language: "en", confidence: 0.98 });
  await report(metrics(4, 350));
  await say("bot", "Thank you, Ana. Goodbye!", 1_100 / pace, { turn: 4, language: "en" });
  await record(Math.max(1, (Date.now() - began - 1_800 / pace) / 1000));
  await report(
    {
      type: "analysis",
      evaluation: {
        success: true,
        sentiment: "positive",
        summary: "Ana moved her appointment to Tuesday at 11:00 and was told where to park.",
      },
      variables: { confirmed: true },
    },
    { type: "quality", mos: 4.21, loss: 0.0012, jitter_ms: 6, rtt_ms: 71, codec: "opus" },
    {
      type: "usage",
      stt_seconds: 7.4,
      tts_characters: 312,
      llm_tokens_in: 2140,
      llm_tokens_out: 156,
      carrier_seconds: 0,
    },
    { type: "ended", by: "customer", reason: "hung-up" },
  );
}

/** A recording: a soft tone, 8 kHz, 8 bits, mono. @param {number} seconds */
function tone(seconds) {
  const rate = 8_000;
  const samples = Math.round(seconds * rate);
  const file = Buffer.alloc(44 + samples);
  file.write("RIFF", 0);
  file.writeUInt32LE(36 + samples, 4);
  file.write("WAVEfmt ", 8);
  file.writeUInt32LE(16, 16);
  file.writeUInt16LE(1, 20);
  file.writeUInt16LE(1, 22);
  file.writeUInt32LE(rate, 24);
  file.writeUInt32LE(rate, 28);
  file.writeUInt16LE(1, 32);
  file.writeUInt16LE(8, 34);
  file.write("data", 36);
  file.writeUInt32LE(samples, 40);
  for (let at = 0; at < samples; at += 1)
    file[44 + at] = 128 + Math.round(24 * Math.sin(at / 6) * Math.sin(at / 4_000));
  return new Uint8Array(file);
}
