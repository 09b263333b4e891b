// Files of comma-separated values (RFC 4180): read, whole or as they come, and written. Pure.

/** Reads records piece by piece; cells may be quoted. */
export class Records {
  /** @param {string} by what separates cells */
  constructor(by) {
    this.by = by;
    /** @type {string[]} */
    this.row = [];
    this.cell = "";
    this.quoted = false;
    /** Whether a quotation mark within a quoted cell may have ended it. */
    this.maybe = false;
  }

  /** The records that are complete with one more piece. @param {string} piece @returns {string[][]} */
  read(piece) {
    const found = [];
    for (const one of piece) {
      if (this.quoted && !this.maybe) {
        if (one === '"') this.maybe = true;
        else this.cell += one;
        continue;
      }
      if (one === '"') {
        // The second of two marks is one.
        if (this.maybe) this.cell += one;
        this.quoted = true;
        this.maybe = false;
        continue;
      }
      this.quoted = false;
      this.maybe = false;
      if (one === this.by) this.end();
      else if (one === "\n") found.push(this.flush());
      else if (one !== "\r") this.cell += one;
    }
    return found;
  }

  /** The last record, which no line end follows; nothing if there is none. @returns {string[][]} */
  rest() {
    return this.row.length || this.cell ? [this.flush()] : [];
  }

  end() {
    this.row.push(this.cell);
    this.cell = "";
  }

  flush() {
    this.end();
    const row = this.row;
    this.row = [];
    return row;
  }
}

/** The first records of a text. @param {string} text @param {string} by @param {number} most @returns {string[][]} */
export function records(text, by, most) {
  const reader = new Records(by);
  const found = reader.read(text);
  return [...found, ...reader.rest()].slice(0, most);
}

/** The records of an answer as it comes, by the names of their columns.
 * @param {ReadableStream<Uint8Array>} body @returns {AsyncGenerator<Record<string, string>>} */
export async function* rows(body) {
  const reader = new Records(",");
  /** @type {string[] | null} */
  let names = null;
  const named = function* (/** @type {string[][]} */ found) {
    for (const row of found) {
      if (names === null) names = row;
      else yield Object.fromEntries(names.map((name, at) => [name, row[at] ?? ""]));
    }
  };
  const text = /** @type {any} */ (body.pipeThrough(/** @type {any} */ (new TextDecoderStream())));
  for await (const piece of text) yield* named(reader.read(piece));
  yield* named(reader.rest());
}

/** A line of cells. @param {string[]} cells */
export const line = (cells) => `${cells.map(quoted).join(",")}\r\n`;

/** @param {string} cell */
const quoted = (cell) => (/[",\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

/** A text as a cell that no spreadsheet takes for a formula, as the service writes its own. @param {string} text */
export const plain = (text) => (/^'*[=+\-@\t\r]/.test(text) ? `'${text}` : text);
