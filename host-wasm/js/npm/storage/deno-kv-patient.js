/**
 * Deno KV on a file that several processes share: what finds the file locked is done again. Used by the Deno KV
 * storage only.
 *
 * Deno lets such an operation fail at once. It could not begin, so doing it again is safe. On Deno Deploy there
 * is no such failure.
 *
 * @import { Kv, KvEntry, KvKey } from "./deno-kv.d.ts"
 */

const LOCKED = "database is locked";
const BUSY_MS = 5_000;
const PAUSE_MS = 3;

/** @implements {Kv} */
export class PatientKv {
  #kv;

  /** @param {Kv} kv */
  constructor(kv) {
    this.#kv = kv;
  }

  /** @param {KvKey} key */
  get(key) {
    return patiently(() => this.#kv.get(key));
  }

  /** @param {KvKey[]} keys */
  getMany(keys) {
    return patiently(() => this.#kv.getMany(keys));
  }

  /**
   * @param {Parameters<Kv["list"]>[0]} selector
   * @param {Parameters<Kv["list"]>[1]} options
   * @returns {AsyncIterable<KvEntry>}
   */
  async *list(selector, options) {
    yield* await patiently(async () => {
      const entries = [];
      for await (const entry of this.#kv.list(selector, options)) entries.push(entry);
      return entries;
    });
  }

  /**
   * @param {KvKey} key
   * @param {unknown} value
   */
  set(key, value) {
    return patiently(() => this.#kv.set(key, value));
  }

  atomic() {
    const operation = this.#kv.atomic();
    const commit = operation.commit.bind(operation);
    return Object.assign(operation, { commit: () => patiently(commit) });
  }

  close() {
    this.#kv.close();
  }
}

/**
 * @template T
 * @param {() => Promise<T>} act
 */
export async function patiently(act) {
  for (const end = Date.now() + BUSY_MS;;) {
    try {
      return await act();
    } catch (error) {
      if (!(error instanceof Error && error.message.includes(LOCKED)) || Date.now() > end) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
  }
}
