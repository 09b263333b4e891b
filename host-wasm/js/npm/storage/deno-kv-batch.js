/**
 * Mutations of Deno KV, gathered up to what one atomic operation may carry. Used by the Deno KV storage only.
 *
 * @import { Kv, KvKey } from "./deno-kv.d.ts"
 * @typedef {{ key: KvKey, value?: unknown, bytes?: number }} Mutation sets a key, or deletes it without a value
 */

/** One less than the most that are taken: a commit sets the state as well. */
const MUTATIONS_MAX = 999;
/** All keys of an operation, as they are encoded: 81,920, less what a check and the state take. */
const KEY_BYTES_MAX = 81_000;
/** All keys and values of an operation: 819,200, less what a check, the state and the values' marks take. */
const BYTES_MAX = 800_000;
/** What the encoding adds to a key of this storage besides its doubled zeros. */
const KEY_EXTRA_BYTES = 48;
/** What the encoding adds to a value. */
const VALUE_EXTRA_BYTES = 16;

export class Batch {
  /** @type {Mutation[]} */
  #mutations = [];
  #keyBytes = 0;
  #bytes = 0;

  /**
   * Takes a mutation, or says that it has no room.
   *
   * @param {Mutation} mutation
   */
  add(mutation) {
    const keyBytes = encodedBytes(mutation.key);
    const bytes = keyBytes + (mutation.value instanceof Uint8Array ? mutation.value.length : 0) + VALUE_EXTRA_BYTES;
    if (this.#mutations.length >= MUTATIONS_MAX) return false;
    if (this.#keyBytes + keyBytes > KEY_BYTES_MAX || this.#bytes + bytes > BYTES_MAX) return false;
    this.#mutations.push(mutation);
    this.#keyBytes += keyBytes;
    this.#bytes += bytes;
    return true;
  }

  /**
   * Takes mutations, or says that not all of them have room.
   *
   * @param {Iterable<Mutation>} mutations
   */
  addAll(mutations) {
    for (const mutation of mutations) {
      if (!this.add(mutation)) return false;
    }
    return true;
  }

  /**
   * An atomic operation of these mutations, to which checks may be added.
   *
   * @param {Kv} kv
   */
  operation(kv) {
    const operation = kv.atomic();
    for (const mutation of this.#mutations) {
      if ("value" in mutation) operation.set(mutation.key, mutation.value);
      else operation.delete(mutation.key);
    }
    return operation;
  }
}

/**
 * Carries out mutations in as many operations as they need, in order. An operation that `begin` lets fail ends it:
 * `false`.
 *
 * @param {Kv} kv
 * @param {AsyncIterable<Mutation> | Iterable<Mutation>} mutations
 * @param {(operation: ReturnType<Kv["atomic"]>) => void} begin adds the checks of each operation
 */
export async function carryOut(kv, mutations, begin = () => undefined) {
  let batch = new Batch();
  const flush = async () => {
    const operation = batch.operation(kv);
    begin(operation);
    batch = new Batch();
    return (await operation.commit()).ok;
  };
  for await (const mutation of mutations) {
    if (batch.add(mutation)) continue;
    if (!(await flush())) return false;
    if (!batch.add(mutation)) throw new RangeError("a mutation is larger than an operation");
  }
  return flush();
}

/**
 * No less than the bytes of a key as Deno KV stores it: zero bytes are doubled.
 *
 * @param {KvKey} key
 */
function encodedBytes(key) {
  let bytes = KEY_EXTRA_BYTES;
  for (const part of key) {
    if (!(part instanceof Uint8Array)) continue;
    bytes += part.length;
    for (const byte of part) bytes += byte === 0 ? 1 : 0;
  }
  return bytes;
}
