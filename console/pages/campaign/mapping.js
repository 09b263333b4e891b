// Columns of a file and what they become. Pure.

/** Names in the header row of a CSV file. @param {string} start its first characters @param {string} separator `,`, `;`, `tab`, or nothing: found */
export function headers(start, separator) {
  const line = firstRecord(start.replace(/^\uFEFF/, ""));
  if (line.startsWith("{")) return [];
  const by =
    separator === "tab"
      ? "\t"
      : separator ||
        [",", ";", "\t"].reduce((best, one) => (line.split(one).length > line.split(best).length ? one : best));
  return cells(line, by).map((cell) => cell.trim());
}

/** The first record, which may have line ends in quotes. @param {string} text */
function firstRecord(text) {
  let quoted = false;
  for (let at = 0; at < text.length; at += 1) {
    if (text[at] === '"') quoted = !quoted;
    else if (!quoted && (text[at] === "\n" || text[at] === "\r")) return text.slice(0, at);
  }
  return text;
}

/** @param {string} line @param {string} by */
function cells(line, by) {
  const found = [""];
  let quoted = false;
  for (const one of line) {
    if (one === '"') quoted = !quoted;
    else if (one === by && !quoted) found.push("");
    else found[found.length - 1] += one;
  }
  return found;
}

/** The parameter `mapping`: `Header:member` pairs; nothing where every column is as its name says.
 * @param {string[]} names @param {Record<string, string>} roles member by header */
export function mapped(names, roles) {
  const pairs = names.filter((name) => roles[name]).map((name) => `${name}:${roles[name]}`);
  return pairs.length ? pairs.join(",") : undefined;
}
