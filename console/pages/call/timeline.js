// The call as lanes over one line of time: the line itself, who spoke, tools, knowledge. What it shows stands in words
// in the transcript below, so that it needs no keys of its own; a click plays from there. What happened on the line at
// one moment stands in words right below it.

import { offset, span as lasting } from "../../format.js";
import { text } from "../../text.js";
import { html, useRef, useState } from "../../ui/base.js";
import { LANES, ticks } from "./model.js";
import { sentence } from "./transcript.js";

/** Spans that are drawn at most; longer calls show the first of them, and say so. */
const SPANS_MAX = 4_000;
/** Marks that stand in words below it at most. */
const MARKS_MAX = 30;
/** The part of the width that a mark's label may take. */
const LABEL_PART = 0.12;
const ZOOMS = [1, 2, 4, 8, 16];

/** @typedef {import("./model.js").Course} Course */
/** @typedef {import("./model.js").Span} Span */

/** @param {{ course: Course, at: import("@preact/signals").Signal<number | null>, seek: (ms: number) => void, runs: boolean }} props */
export function Timeline({ course, at, seek, runs }) {
  const [zoom, setZoom] = useState(1);
  const box = useRef(/** @type {HTMLElement | null} */ (null));
  const { length, spans } = course;
  const lanes = LANES.filter((lane) => lane === "line" || spans.some((one) => one.lane === lane));
  const share = (/** @type {number} */ ms) => `${Math.min(100, Math.max(0, (ms / length) * 100))}%`;
  const press = (/** @type {MouseEvent} */ event) => {
    const area = /** @type {HTMLElement} */ (event.currentTarget).getBoundingClientRect();
    seek(((event.clientX - area.left) / area.width) * length);
  };
  const marks = ticks(length, 8 * zoom);
  const labelled = marks.filter((mark) => mark <= length * (1 - 0.07 / zoom));
  return html`<div class="stack tight">
    <div class="row spread small"><${Legend} lanes=${lanes} />
      <div class="row" role="group" aria-label=${text.call.zoom}>${ZOOMS.map(
        (one) => html`<button type="button"
        class="quiet" key=${one} aria-pressed=${one === zoom ? "true" : "false"}
        onClick=${() => setZoom(one)}>${one}×</button>`,
      )}</div></div>
    <div class="timeline" ref=${box}>
      <div class="lane-names" aria-hidden="true">${lanes.map(
        (lane) => html`<span
        key=${lane}>${text.call.lanes[lane]}</span>`,
      )}<span></span></div>
      <div class="lanes-scroll" tabindex="0" role="img" aria-label=${summary(course)}>
        <div class="lanes" style=${{ width: `${zoom * 100}%` }} onClick=${press}>
          ${marks.map((mark) => html`<i class="grid" key=${mark} style=${{ left: share(mark) }}></i>`)}
          ${lanes.map(
            (lane) =>
              html`<div class="lane" key=${lane}>${spans
                .filter((one) => one.lane === lane)
                .slice(0, SPANS_MAX)
                .map((one) => html`<${Piece} key=${one.seq} of=${one} share=${share} length=${length} />`)}
                ${lane === "mark" && roomy(spans, (length * LABEL_PART) / zoom).map((one) => html`<${Label} key=${`label ${one.seq}`} of=${one} share=${share} late=${one.start > length * (1 - LABEL_PART / zoom)} />`)}</div>`,
          )}
          <div class="axis">${labelled.map(
            (mark) => html`<span key=${mark}
            style=${{ left: share(mark) }}>${offset(mark).replace(/\.000$/, "")}</span>`,
          )}</div>
          <${Playhead} at=${at} share=${share} />
        </div>
      </div>
    </div>
    <${Marks} of=${spans.filter(({ lane }) => lane === "mark")} seek=${seek} />
    ${runs && !spans.length && html`<p class="muted" role="status">${text.call.waiting}</p>`}
    ${spans.length > SPANS_MAX && html`<p class="muted small">${text.call.cut(SPANS_MAX)}</p>`}
  </div>`;
}

/** @param {{ at: import("@preact/signals").Signal<number | null>, share: (ms: number) => string }} props */
const Playhead = ({ at, share }) =>
  at.value === null ? null : html`<i class="playhead" style=${{ left: share(at.value) }}></i>`;

/** @param {{ of: import("./model.js").Span, share: (ms: number) => string, length: number }} props */
function Piece({ of, share, length }) {
  const { kind, lane, start, end, event } = of;
  const failed = event.error || (kind === "tool" && event.status >= 400);
  const words =
    kind === "said"
      ? event.text
      : kind === "tool"
        ? `${event.name} ${event.status ?? event.error ?? ""}`
        : kind === "knowledge"
          ? event.query
          : lane === "mark"
            ? sentence(event)
            : (text.call.line[kind] ?? kind);
  return html`<i class=${`piece ${lane} ${kind}${failed ? " failed" : ""}${event.interrupted ? " cut" : ""}`}
    style=${{ left: share(start), width: `${Math.max(0, ((end - start) / length) * 100)}%` }}
    title=${`${offset(start)} – ${offset(end)} (${lasting(end - start)})\n${String(words).slice(0, 300)}`}></i>`;
}

/** Marks whose labels do not stand on one another. @param {Span[]} spans @param {number} apart milliseconds */
function roomy(spans, apart) {
  let free = -Infinity;
  return spans.filter(({ lane, start }) => lane === "mark" && start >= free && ((free = start + apart), true));
}

/** @param {{ of: Span, share: (ms: number) => string, late: boolean }} props */
const Label = ({ of, share, late }) =>
  html`<span class=${late ? "label late" : "label"} style=${{ left: share(of.start) }}>${text.call.told[of.kind]}</span>`;

/** @param {{ of: Span[], seek: (ms: number) => void }} props */
const Marks = ({ of, seek }) =>
  of.length > 0 &&
  html`<ul class="list marks small" aria-label=${text.call.lanes.mark}>${of.slice(0, MARKS_MAX).map(
    ({ seq, start, event }) => html`<li key=${seq}><button type="button" class="quiet"
      onClick=${() => seek(start)}><span class="muted">${offset(start)}</span> ${sentence(event)}</button></li>`,
  )}</ul>${of.length > MARKS_MAX && html`<p class="muted small">${text.call.moreMarks(of.length - MARKS_MAX)}</p>`}`;

/** @param {{ lanes: string[] }} props */
const Legend = ({ lanes }) =>
  html`<div class="legend" aria-hidden="true">${lanes
    .filter((lane) => lane !== "line" && lane !== "mark")
    .map(
      (lane) => html`<span
    key=${lane}><i style=${{ background: `var(--${lane}-fill)` }}></i>${text.call.lanes[lane]}</span>`,
    )}</div>`;

/** @param {Course} course */
function summary({ spans, length }) {
  const of = (/** @type {string} */ lane) => spans.filter((one) => one.lane === lane).length;
  return text.call.summary(lasting(length), of("customer"), of("assistant"), of("tool"), of("knowledge"));
}
