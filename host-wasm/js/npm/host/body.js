/**
 * The body of a request, read only as far as the core asks for it.
 *
 * @import { Body } from "./types.d.ts"
 */

import { Slots } from "./slots.js";

/** Time limit for a small body, milliseconds. */
const BODY_MS = 15_000;
/** Slowest accepted rate of a larger body, bytes per millisecond. */
const BODY_RATE = 32;
/** Bodies above this size are large, bytes. */
const LARGE_BYTES = 1 << 20;
/** Large bodies in memory at once; up to `LARGE_WAITING_MAX` more wait for a while. */
const LARGE_MAX = 4;
const LARGE_WAITING_MAX = 64;

/** Creates the slots for large bodies. */
export const largeBodies = () => new Slots(LARGE_MAX, LARGE_WAITING_MAX);

/** An incoming body and the slot it takes if it is large. */
export class Coming {
  #large;
  #stream;
  #announced;
  #hasRoom = false;

  /**
   * @param {Slots} large
   * @param {ReadableStream<Uint8Array> | null} stream
   * @param {number} announced the `Content-Length`, bytes; `NaN` without one
   */
  constructor(large, stream, announced) {
    this.#large = large;
    this.#stream = stream;
    this.#announced = announced;
  }

  /**
   * Reads at most `bytesMax` bytes. Throws `Busy` where too many large bodies are in progress.
   *
   * @param {number} bytesMax
   * @returns {Promise<Body>}
   */
  async read(bytesMax) {
    if (this.#stream === null) return null;
    const bytes = Math.min(Number.isNaN(this.#announced) ? bytesMax : this.#announced, bytesMax);
    if (bytes > LARGE_BYTES) {
      await this.#large.enterWithin(BODY_MS);
      this.#hasRoom = true;
    }
    const stream = this.#stream;
    this.#stream = null;
    return readBody(stream, bytesMax, BODY_MS + bytes / BODY_RATE);
  }

  /** Releases the body: it is not read any further. */
  close() {
    if (this.#hasRoom) this.#large.leave();
    this.#hasRoom = false;
    this.#stream?.cancel().catch(() => {});
    this.#stream = null;
  }
}

/**
 * @param {ReadableStream<Uint8Array>} stream
 * @param {number} bytesMax
 * @param {number} limitMs
 * @returns {Promise<Body>}
 */
async function readBody(stream, bytesMax, limitMs) {
  const reader = stream.getReader();
  let late = false;
  const deadline = setTimeout(() => {
    late = true;
    reader.cancel().catch(() => {});
  }, limitMs);
  try {
    const { bytes, cut } = await readBytes(reader, bytesMax);
    if (late) return "cut";
    return cut ? "too-large" : bytes;
  } catch {
    return "cut";
  } finally {
    clearTimeout(deadline);
  }
}

/**
 * Reads a stream, cut off after `bytesMax`; the rest is not read.
 *
 * @param {ReadableStreamDefaultReader<Uint8Array>} reader
 * @param {number} bytesMax
 */
export async function readBytes(reader, bytesMax) {
  const chunks = [];
  let length = 0;
  for (;;) {
    const { value } = await reader.read();
    if (value === undefined) return { bytes: joined(chunks, length), cut: false };
    const room = bytesMax - length;
    chunks.push(value.length > room ? value.subarray(0, room) : value);
    length += Math.min(value.length, room);
    if (value.length > room) {
      reader.cancel().catch(() => {});
      return { bytes: joined(chunks, length), cut: true };
    }
  }
}

/**
 * @param {Uint8Array[]} chunks
 * @param {number} length
 */
function joined(chunks, length) {
  if (chunks.length === 1) return chunks[0];
  const bytes = new Uint8Array(length);
  let at = 0;
  for (const chunk of chunks) {
    bytes.set(chunk, at);
    at += chunk.length;
  }
  return bytes;
}
