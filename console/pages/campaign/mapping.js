// Columns of a file and what they become. Pure.

import { records } from "../../csv.js";

/** Digits that a telephone number has at least. */
const DIGITS_MIN = 7;
const DATE = /^(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4})\b/;
const OF_NUMBERS = /phone|number|mobile|cell|telefon|handy|nummer|numar|tel\b/i;

/** @typedef {{ names: string[], rows: string[][] }} Sample The header of a file, and its first records. */

/** The header of a CSV file and its first records; of JSON lines, nothing.
 * @param {string} start its first characters @param {string} separator `,`, `;`, `tab`, or nothing: found @param {number} most records @returns {Sample} */
export function sample(start, separator, most) {
  const text = start.replace(/^\uFEFF/, "");
  if (text.trimStart().startsWith("{")) return { names: [], rows: [] };
  const [names = [], ...rows] = records(text, separator === "tab" ? "\t" : separator || found(text), most + 1);
  return { names: names.map((name) => name.trim()), rows: rows.filter((row) => row.some(Boolean)) };
}

/** What separates the header: of what may, what it has most of. @param {string} text */
function found(text) {
  const header = (/** @type {string} */ by) => records(text, by, 1)[0]?.length ?? 0;
  return [",", ";", "\t"].reduce((best, one) => (header(one) > header(best) ? one : best));
}

/** The column that most likely has the telephone numbers, by its name and by what it has. @param {Sample} of */
export function columnOfNumbers({ names, rows }) {
  if (names.includes("phone_number")) return "phone_number";
  const likely = names.map((name, at) => {
    const held = rows.map((row) => row[at]).filter(Boolean);
    const looks = held.reduce((sum, cell) => sum + looksLikeNumber(cell.trim()), 0) / (held.length || 1);
    return { name, weight: looks + (OF_NUMBERS.test(name) ? 1 : 0) };
  });
  const [best] = likely.toSorted((one, other) => other.weight - one.weight);
  return best && best.weight >= 0.4 ? best.name : undefined;
}

/** How much a cell looks like a telephone number, from 0 to 1: a date or an amount does not, digits alone may be anything.
 * @param {string} cell */
function looksLikeNumber(cell) {
  const digits = cell.replace(/\D/g, "").length;
  if (!/^['+(]?[\d\s().~/-]+$/.test(cell) || digits < DIGITS_MIN || DATE.test(cell)) return 0;
  return /^\D?[+0]|[\s()]/.test(cell) ? 1 : 0.4;
}

/** The variable that a column becomes by itself: as the service names it. @param {string} name */
export const variable = (name) =>
  name
    .split(/[^\p{Alphabetic}\p{N}_.-]+/u)
    .filter(Boolean)
    .join("_");

/** The parameter `mapping`: `Header:member` pairs; nothing where every column is as its name says.
 * @param {string[]} names @param {Record<string, string>} roles member by header */
export function mapped(names, roles) {
  const pairs = names
    .filter((name) => roles[name] && roles[name] !== variable(name))
    .map((name) => `${name}:${roles[name]}`);
  return pairs.length ? pairs.join(",") : undefined;
}
