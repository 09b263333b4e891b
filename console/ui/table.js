// Tables of rows, and their pages. On a phone each row is a card with the names of its cells; the roles are written out,
// since a cell that is laid out otherwise would lose its own.

import { besides } from "../days.js";
import { count, zone } from "../format.js";
import { filter, go, route, to } from "../router.js";
import { text } from "../text.js";
import { html } from "./base.js";
import { Typed } from "./controls.js";
import { Picker } from "./picker.js";
import { useOptions } from "./references.js";

/** @typedef {{ name: string, cell: (row: any) => import("preact").ComponentChildren, number?: boolean, clip?: boolean, title?: string }} Column */

/** @param {{ label: string, columns: Column[], rows: any[], href?: (row: any) => string | null, empty?: import("preact").ComponentChildren }} props
 *   `href` the page of a row; its first cell is then a link */
export function Table({ label, columns, rows, href, empty }) {
  if (!rows.length && empty) return empty;
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${label}><table role="table">
    <thead role="rowgroup"><tr role="row">${columns.map(
      ({ name, number, title }) => html`<th scope="col"
      role="columnheader" class=${number ? "number" : undefined}
      title=${title}>${name}</th>`,
    )}</tr></thead>
    <tbody role="rowgroup">${rows.map(
      (row, at) => html`<${Row} key=${row.id ?? at} row=${row} columns=${columns}
      href=${href?.(row) ?? null} />`,
    )}</tbody>
  </table></div>`;
}

/** @param {{ row: any, columns: Column[], href: string | null }} props */
function Row({ row, columns, href }) {
  /** @param {MouseEvent} event */
  const open = (event) => {
    if (!href || (event.target instanceof Element && event.target.closest("a, button, input, select"))) return;
    if (String(getSelection())) return;
    go(href);
  };
  return html`<tr role="row" class=${href ? "link" : undefined} onClick=${open}>
    ${columns.map(({ name, cell, number, clip }, at) => {
      const held = cell(row);
      return html`<td role="cell" data-name=${name} class=${number ? "number" : clip ? "clip" : undefined}>
        <div>${at === 0 && href ? html`<a class="cell" href=${href}>${held}</a>` : held}</div></td>`;
    })}
  </tr>`;
}

/** Pages of an envelope; which one is open stands in the address. @param {{ of: { current_page: number, last_page: number, from: number | null, to: number | null, total: number }, param?: string }} props */
export function Pager({ of, param = "page" }) {
  const { current_page: at, last_page: last, from, to: until, total } = of;
  const turn = (/** @type {number} */ page) => filter({ page: null, [param]: page === 1 ? null : page });
  if (!total) return null;
  return html`<nav class="pager small" aria-label=${text.pages}>
    <span class="muted">${text.rows(count(from), count(until), count(total))}</span>
    ${
      last > 1 &&
      html`<span class="row">
      <button type="button" disabled=${at <= 1} onClick=${() => turn(1)}>${text.first}</button>
      <button type="button" disabled=${at <= 1} onClick=${() => turn(at - 1)}>${text.previous}</button>
      <span class="nowrap">${text.pageOf(count(at), count(last))}</span>
      <button type="button" disabled=${at >= last} onClick=${() => turn(at + 1)}>${text.next}</button>
    </span>`
    }
  </nav>`;
}

/** Filters of a list, made of the parameters that its operation has in the document; each stands in the address.
 * @param {{ fields: import("../schema.js").Field[], names?: Record<string, string>, children?: import("preact").ComponentChildren }} props */
export function Filters({ fields, names = {}, children }) {
  const { query, path } = route.value;
  const any = fields.some(({ name }) => query[name]);
  const more = fields.some(({ name }) => isDay(name)) ? besides(query) : null;
  return html`<form class="filters" role="search" aria-label=${text.filters}
    onSubmit=${(/** @type {Event} */ event) => event.preventDefault()}>
    ${fields.map(
      (field) => html`<${Filter} key=${field.name} field=${field} value=${query[field.name] ?? ""}
      name=${names[field.name] ?? field.name} />`,
    )}
    ${children}
    ${
      any &&
      html`<button type="button" class="quiet"
      onClick=${() => go(to(path), { replace: true })}>${text.clearFilters}</button>`
    }
    ${more && html`<p class="muted small" role="status">${text.days.more(more.from, more.until, zone())}</p>`}
  </form>`;
}

/** Whether a filter is a day. @param {string} name */
const isDay = (name) => name.startsWith("date_");

/** Any assistant, not only those that a campaign may have. */
const ANY = { type: "any" };

/** @param {{ field: import("../schema.js").Field, value: string, name: string }} props */
function Filter({ field, value, name }) {
  const change = (/** @type {string} */ one) => filter({ [field.name]: one.trim() });
  const found = useOptions(field.name, ANY);
  const options = found?.options ?? field.choices?.map((one) => ({ value: one, words: text.states[one] ?? one }));
  if (found?.more)
    return html`<label class="field" title=${field.hint}><span>${name}</span><${Picker} name=${field.name}
      values=${ANY} value=${value} known=${found.options}
      pick=${change} /></label>`;
  const known = !value || options?.some((one) => one.value === value);
  const kind = isDay(field.name) ? "date" : field.kind === "number" ? "number" : "text";
  return html`<label class="field" title=${isDay(field.name) ? text.days.hint(zone()) : field.hint}><span>${name}</span>
    ${
      options
        ? html`<select value=${value} onChange=${(/** @type {any} */ event) => change(event.target.value)}><option value="">${text.any}</option>${
            !known &&
            html`<option
          value=${value} selected>#${value}</option>`
          }${options.map(
            (one) => html`<option key=${one.value}
          value=${one.value} selected=${one.value === value}>${one.words}</option>`,
          )}</select>`
        : html`<${Typed} type=${kind} value=${value} maxlength=${field.kind === "text" ? field.max : undefined}
          change=${change} />`
    }
  </label>`;
}
