/**
 * The body of a request, as far as it is wanted.
 *
 * @import { Body } from "./types.d.ts"
 */

import { Slots } from "./slots.js";

/** Until a small body must be there, milliseconds. */
const BODY_MS = 15_000;
/** The slowest that a larger one may come, bytes a millisecond. */
const BODY_RATE = 32;
/** A body of more is large, bytes. */
const LARGE_BYTES = 1 << 20;
/** Large bodies in memory at once; more wait for a while, and so many of them. */
const LARGE_MAX = 4;
const LARGE_WAITING_MAX = 64;

/** Room for large bodies. */
export const largeBodies = () => new Slots(LARGE_MAX, LARGE_WAITING_MAX);

/** A body on its way, and the room that it takes. */
export class Coming {
  #large;
  #stream;
  #announced;
  #hasRoom = false;

  /**
   * @param {Slots} large
   * @param {ReadableStream<Uint8Array> | null} stream
   * @param {number} announced what the head says that it has, bytes; not a number where it says nothing
   */
  constructor(large, stream, announced) {
    this.#large = large;
    this.#stream = stream;
    this.#announced = announced;
  }

  /**
   * Reads at most so many bytes. Throws `Busy` where too many large bodies are under way.
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

  /** Nobody reads it any longer. */
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
 * Reads a stream, cut at a bound; what is behind it is not read.
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
