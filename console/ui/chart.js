// Charts by uPlot: stacked bars over numbers. Each comes with a table of the same figures, for those who do not see it.

import uPlot from "../vendor/uplot.js";
import { theme } from "../theme.js";
import { text } from "../text.js";
import { html, useEffect, useRef } from "./base.js";

const sheet = document.createElement("link");
sheet.rel = "stylesheet";
sheet.href = new URL("../vendor/uplot.css", import.meta.url).href;
document.head.append(sheet);

/** @typedef {{ name: string, color: string, values: number[] }} Series `color` names a custom property */

const HEIGHT = 180;

/** The colour that a custom property has here and now: a canvas knows nothing of them. @param {HTMLElement} box @param {string} name */
function colorOf(box, name) {
  box.style.color = `var(${name})`;
  const found = getComputedStyle(box).color;
  box.style.color = "";
  return found;
}

/** `x` ascends. @param {{ label: string, x: number[], xName: string, series: Series[], shown?: (value: number) => string, xShown?: (value: number) => string }} props */
export function Stacked({ label, x, xName, series, shown = String, xShown = String }) {
  const ref = useRef(/** @type {HTMLElement | null} */ (null));
  const key = JSON.stringify([x, series]);
  useEffect(() => {
    const box = /** @type {HTMLElement} */ (ref.current);
    const draw = () =>
      new uPlot(options(box, x, series, shown, xShown), /** @type {any} */ ([x, ...stacked(series)]), box);
    let chart = draw();
    const sized = new ResizeObserver(() => chart.setSize({ width: box.clientWidth, height: HEIGHT }));
    sized.observe(box);
    const dark = matchMedia("(prefers-color-scheme: dark)");
    const again = () => (chart.destroy(), (chart = draw()));
    dark.addEventListener("change", again);
    return () => (dark.removeEventListener("change", again), sized.disconnect(), chart.destroy());
  }, [key, theme.value]);
  return html`<figure class="stack tight"><div class="chart" ref=${ref} aria-hidden="true"></div>
    <div class="legend" aria-hidden="true">${series.map(
      ({ name, color }) => html`<span key=${name}><i
      style=${{ background: `var(${color})` }}></i>${name}</span>`,
    )}</div>
    <details class="small"><summary>${text.asTable}</summary><div class="scroll" tabindex="0" role="region"
      aria-label=${label}><table><thead><tr>
      <th scope="col">${xName}</th>${series.map(
        ({ name }) => html`<th scope="col"
      class="number">${name}</th>`,
      )}</tr></thead>
      <tbody>${x.map(
        (at, row) =>
          html`<tr><td>${xShown(at)}</td>${series.map(
            ({ values }) => html`<td
        class="number">${shown(values[row])}</td>`,
          )}</tr>`,
      )}</tbody></table></div></details></figure>`;
}

/** Sums from the bottom up, drawn from the highest down: each bar covers the lower part of the one before. @param {Series[]} series */
function stacked(series) {
  const sums = series.map((_, top) =>
    series[0].values.map((_, at) => series.slice(0, top + 1).reduce((sum, one) => sum + one.values[at], 0)),
  );
  return sums.reverse();
}

/** @param {HTMLElement} box @param {number[]} x @param {Series[]} series @param {(value: number) => string} shown @param {(value: number) => string} xShown @returns {any} */
function options(box, x, series, shown, xShown) {
  const [muted, line] = [colorOf(box, "--muted"), colorOf(box, "--line")];
  const axis = {
    stroke: muted,
    grid: { stroke: line, width: 1 },
    ticks: { show: false },
    font: "12px system-ui, sans-serif",
  };
  // Over a range without extent uPlot never ends.
  const edge = x[1] > x[0] ? (x[1] - x[0]) / 2 : 0.5;
  return {
    width: box.clientWidth || 300,
    height: HEIGHT,
    cursor: { show: false },
    legend: { show: false },
    scales: {
      x: { time: false, range: [x[0] - edge, x[x.length - 1] + edge] },
      y: { range: (/** @type {any} */ _, /** @type {number} */ __, /** @type {number} */ max) => [0, max || 1] },
    },
    axes: [
      {
        ...axis,
        size: 28,
        grid: { show: false },
        values: (/** @type {any} */ _, /** @type {number[]} */ all) =>
          all.map((one) => (Number.isInteger(one) ? xShown(one) : "")),
      },
      { ...axis, size: 58, values: (/** @type {any} */ _, /** @type {number[]} */ all) => all.map(shown) },
    ],
    series: [
      {},
      ...[...series].reverse().map(({ name, color }) => ({
        label: name,
        fill: colorOf(box, color),
        stroke: "transparent",
        width: 0,
        points: { show: false },
        paths: /** @type {any} */ (uPlot).paths.bars({ size: [0.7, 40] }),
      })),
    ],
  };
}
