/** What the simulated engine of the page plays: the same for the same call, and to an end. */

import assert from "node:assert/strict";
import test from "node:test";

import { script } from "../examples/page/engine/script.js";

/** @param {string} digits @param {object} [assistant] */
const claimed = (digits, assistant = {}) => ({
  call: { id: 4_294_967_298, type: "outbound", client_phone_number: `+4070000${digits}`, variables: {} },
  assistant: {
    name: "Anna",
    greeting: "Hello, this is Anna.",
    voicemail: "Please call back.",
    knowledgebase_id: 7,
    functions: [{ name: "look_up", kind: "tool", parameters: { properties: { day: { type: "string" } } } }],
    tools: [{ type: "call_transfer", phone_number: "+40700000100" }],
    post_call_schema: [{ name: "confirmed", type: "bool" }],
    ...assistant,
  },
  next_seq: 2,
});

/** How each plot ends. @type {[string, string, string | undefined][]} */
const ENDS = [
  ["0001", "ended", "hung-up"],
  ["0002", "failed", "busy"],
  ["0003", "failed", "no-answer"],
  ["0004", "ended", "voicemail"],
  ["0005", "ended", "hung-up"],
  ["0006", "failed", "carrier-error"],
  ["0007", "ended", "max-duration"],
  ["0008", "ended", "hung-up"],
  ["0009", "ended", "transferred"],
  ["0010", "ended", "hung-up"],
  ["0012", "ended", "hung-up"],
  ["0013", "release", "no line reaches this number"],
  ["4711", "ended", "hung-up"],
];

for (const [digits, type, reason] of ENDS) {
  test(`${digits} comes to its end, and is the same each time`, () => {
    const steps = script(claimed(digits));
    assert.deepEqual(script(claimed(digits)), steps);
    const ends = steps.flatMap((step) =>
      "event" in step && ["ended", "failed", "release"].includes(step.event.type) ? [step.event] : []
    );
    assert.deepEqual(ends.map((event) => [event.type, event.reason]), [[type, reason]]);
  });
}

test("0011 falls silent, and asks for nothing more", () => {
  const last = script(claimed("0011")).at(-1);
  assert.ok(last && "event" in last && last.event.sender === "human");
});

test("what an assistant lacks is not asked for", () => {
  const bare = claimed("0001", { functions: [], tools: [], knowledgebase_id: null, greeting: "" });
  assert.ok(script(bare).every((step) => "event" in step));
  bare.call.client_phone_number = "+40700000009";
  const ended = script(bare).flatMap((step) => "event" in step && step.event.type === "ended" ? [step.event] : []);
  assert.deepEqual(ended.map((event) => event.by), ["customer"]);
});
