// A call's events as its page shows them: spans on a line of time and entries of a transcript. Pure.

/** @typedef {{ seq: number, at: string, type: string, [member: string]: any }} Event */
/** Something with a beginning and an end, milliseconds after the call's zero.
 * @typedef {{ seq: number, kind: string, lane: string, start: number, end: number, event: Event }} Span */
/** What a turn's answer took, milliseconds by stage. @typedef {{ turn: number, total: number, stages: Record<string, number> }} Turn */
/** @typedef {{ zero: number, answered: number | null, length: number, spans: Span[], entries: Span[], turns: Turn[], quality: Event | null, waited: number | null }} Course */

export const STAGES = ["endpoint_ms", "stt_ms", "llm_ms", "tts_ms", "transport_ms", "tool_ms"];
export const LANES = ["line", "mark", "customer", "assistant", "tool", "knowledge"];

/** What happens on the line at one moment; whatever lasts is a state of the line. */
const MARKS = new Set(["detected", "dtmf", "transfer", "hangup", "command"]);

/** Entries of the transcript besides what was said. */
const TOLD = new Set([
  "tool",
  "knowledge",
  "webhook",
  "dtmf",
  "transfer",
  "hold",
  "resume",
  "answered",
  "detected",
  "hangup",
  "command",
  "ended",
  "failed",
  "unsupported",
  "release",
  "ringing",
  "analysis",
  "recording",
  "dropped",
]);

/** @param {string | null | undefined} at */
const ms = (at) => (at ? Date.parse(at) : NaN);

/** @param {Event[]} events in their order @returns {Course} */
export function course(events) {
  const first = (/** @type {string[]} */ types) => events.find(({ type }) => types.includes(type));
  const start = first(["dialing", "ringing", "answered", "transcript"]) ?? events[0];
  const zero = start ? ms(start.at) : 0;
  const answered = first(["answered"]);
  const end = events.findLast(({ type }) => type === "ended" || type === "failed") ?? events.at(-1);
  const entries = events
    .filter(({ type }) => type === "transcript" || TOLD.has(type))
    .map((event) => span(event, zero));
  entries.sort((a, b) => a.start - b.start || a.seq - b.seq);
  const spans = [...line(events, zero), ...entries.filter(({ lane }) => lane !== "line")];
  const length = Math.max(1, end ? ms(end.at) - zero : 1, ...spans.map((one) => one.end));
  return {
    zero,
    answered: answered ? ms(answered.at) - zero : null,
    length,
    spans,
    entries,
    turns: turns(events),
    quality: events.findLast(({ type }) => type === "quality") ?? null,
    waited: events.length ? Math.max(0, zero - ms(events[0].at)) : null,
  };
}

/** @param {Event} event @param {number} zero @returns {Span} */
function span(event, zero) {
  const at = ms(event.at) - zero;
  if (event.type === "transcript") {
    const start = event.started_at ? ms(event.started_at) - zero : at;
    const end = event.ended_at ? ms(event.ended_at) - zero : at;
    return {
      seq: event.seq,
      kind: "said",
      lane: event.sender === "bot" ? "assistant" : "customer",
      start,
      end: Math.max(start, end),
      event,
    };
  }
  const own = event.type === "tool" || event.type === "knowledge";
  const lane = own ? event.type : MARKS.has(event.type) ? "mark" : "line";
  return { seq: event.seq, kind: event.type, lane, start: at - (event.duration_ms ?? 0), end: at, event };
}

/** States of the line: ringing until somebody answers, then talk, with holds in it. @param {Event[]} events @param {number} zero @returns {Span[]} */
function line(events, zero) {
  /** @type {Record<string, string | null>} */
  const states = {
    dialing: "dialing",
    ringing: "ringing",
    answered: "talk",
    hold: "hold",
    resume: "talk",
    ended: null,
    failed: null,
  };
  /** @type {Span[]} */
  const spans = [];
  for (const event of events) {
    if (!(event.type in states)) continue;
    const at = ms(event.at) - zero;
    const open = spans.at(-1);
    if (open && open.end === Infinity) open.end = at;
    const kind = states[event.type];
    if (kind) spans.push({ seq: event.seq, kind, lane: "line", start: at, end: Infinity, event });
  }
  const open = spans.at(-1);
  const last = events.at(-1);
  if (open && open.end === Infinity && last) open.end = Math.max(open.start, ms(last.at) - zero);
  return spans;
}

/** @param {Event[]} events @returns {Turn[]} */
function turns(events) {
  return events
    .filter(({ type }) => type === "metrics")
    .map((event, at) => {
      const stages = Object.fromEntries(
        STAGES.filter((name) => event[name] !== null && event[name] !== undefined).map((name) => [name, event[name]]),
      );
      const sum = Object.values(stages).reduce((all, one) => all + one, 0);
      return { turn: event.turn ?? at + 1, total: event.total_ms ?? sum, stages };
    });
}

/** Marks of an axis: at most about a dozen, at even distances. @param {number} length milliseconds @param {number} [most] */
export function ticks(length, most = 10) {
  const steps = [
    10, 20, 50, 100, 200, 500, 1_000, 2_000, 5_000, 10_000, 15_000, 30_000, 60_000, 120_000, 300_000, 600_000,
  ];
  const step = steps.find((one) => length / one <= most) ?? 1_200_000;
  return Array.from({ length: Math.floor(length / step) + 1 }, (_, at) => at * step);
}

/** The entry that is heard at a time: the last one said that has begun. @param {Span[]} entries @param {number} at */
export function heard(entries, at) {
  return entries.findLast(({ kind, start }) => kind === "said" && start <= at) ?? null;
}
