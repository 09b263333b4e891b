// Files of separated values (RFC 4180): read, whole or as they come, and written for spreadsheets. Pure.

/** Reads records piece by piece; cells may be quoted. */
export class Records {
  /** @param {string} separator */
  constructor(separator) {
    this.separator = separator;
    /** @type {string[]} */
    this.row = [];
    this.cell = "";
    this.quoted = false;
    /** Whether the last character was a quotation mark within a quoted cell, which may have ended it. */
    this.afterQuote = false;
  }

  /** The records that are complete with one more piece. @param {string} piece @returns {string[][]} */
  read(piece) {
    const found = [];
    for (const one of piece) {
      if (this.quoted && !this.afterQuote) {
        if (one === '"') this.afterQuote = true;
        else this.cell += one;
        continue;
      }
      if (one === '"') {
        // The second of two marks is one.
        if (this.afterQuote) this.cell += one;
        this.quoted = true;
        this.afterQuote = false;
        continue;
      }
      this.quoted = false;
      this.afterQuote = false;
      if (one === this.separator) this.end();
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

/** Characters that are read before it is asked whether they were enough. */
const PIECE_CHARS = 4_096;

/** The first records of a text. @param {string} text @param {string} separator @param {number} most @returns {string[][]} */
export function records(text, separator, most) {
  const reader = new Records(separator);
  const found = [];
  for (let at = 0; at < text.length && found.length < most; at += PIECE_CHARS) {
    found.push(...reader.read(text.slice(at, at + PIECE_CHARS)));
  }
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
  const text = body.pipeThrough(/** @type {any} */ (new TextDecoderStream())).getReader();
  for (let piece = await text.read(); !piece.done; piece = await text.read()) yield* named(reader.read(piece.value));
  yield* named(reader.rest());
}

/** What a file for spreadsheets begins with: by it they know UTF-8. */
export const BYTE_ORDER_MARK = "\uFEFF";

/** A line of cells for spreadsheets, of which many take a comma for the decimal point. @param {string[]} cells */
export const line = (cells) => `${cells.map(quoted).join(";")}\r\n`;

/** @param {string} cell */
const quoted = (cell) => (/[";,\r\n]/.test(cell) ? `"${cell.replaceAll('"', '""')}"` : cell);

/** A text as a cell that no spreadsheet takes for a formula, as the service writes its own; nor what follows a character
 * that separates cells elsewhere. @param {string} text */
export const plain = (text) =>
  (/^'*[=+\-@\t\r]/.test(text) ? `'${text}` : text).replace(/([;,\t\n]\s*)(?=[=+\-@])/g, "$1'");
