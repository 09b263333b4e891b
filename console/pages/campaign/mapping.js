// Columns of a file and what they become. Pure.

/** Digits that a telephone number has at least. */
const DIGITS_MIN = 7;
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

/** Records of a CSV file, whose cells may be quoted. @param {string} text @param {string} by @param {number} most */
function records(text, by, most) {
  const found = [[""]];
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    const [one, row] = [text[at], found[found.length - 1]];
    if (quoted) {
      if (one !== '"') row[row.length - 1] += one;
      else if (text[at + 1] !== '"') quoted = false;
      else {
        row[row.length - 1] += one;
        at += 1;
      }
    } else if (one === '"') quoted = true;
    else if (one === by) row.push("");
    else if (one === "\n") {
      if (found.length === most) return found;
      found.push([""]);
    } else if (one !== "\r") row[row.length - 1] += one;
  }
  return found;
}

/** The column that most likely has the telephone numbers, by its name or by what it has. @param {Sample} of */
export function columnOfNumbers({ names, rows }) {
  if (names.includes("phone_number")) return "phone_number";
  const numbers = names.filter(
    (_, at) => rows.some((row) => row[at]) && rows.every((row) => !row[at] || isNumber(row[at])),
  );
  return numbers.find((name) => OF_NUMBERS.test(name)) ?? numbers[0] ?? names.find((name) => OF_NUMBERS.test(name));
}

/** @param {string} cell */
const isNumber = (cell) => /^[+'\d\s().~/-]+$/.test(cell.trim()) && cell.replace(/\D/g, "").length >= DIGITS_MIN;

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
