import type { Change, Read, Reading, Storage } from "./storage.d.ts";

/** A key of Deno KV, as far as this storage makes them. */
export type KvKey = (Uint8Array | string | number)[];

/** An entry that was looked up; `versionstamp` is `null` where there is none. */
export type KvEntry = { key: readonly unknown[]; value: unknown; versionstamp: string | null };

/** What is used of `Deno.AtomicOperation`. */
export interface KvAtomic {
  check(...checks: { key: KvKey; versionstamp: string | null }[]): this;
  set(key: KvKey, value: unknown): this;
  delete(key: KvKey): this;
  commit(): Promise<{ ok: true; versionstamp: string } | { ok: false }>;
}

/** What is used of `Deno.Kv`. */
export interface Kv {
  get(key: KvKey): Promise<KvEntry>;
  getMany(keys: KvKey[]): Promise<KvEntry[]>;
  list(
    selector: { start: KvKey; end: KvKey } | { prefix: KvKey },
    options?: { limit?: number; reverse?: boolean; batchSize?: number },
  ): AsyncIterable<KvEntry>;
  set(key: KvKey, value: unknown): Promise<{ versionstamp: string }>;
  atomic(): KvAtomic;
  close(): void;
}

/** The map in Deno KV, under the key part "switchboard"; needs `--unstable-kv`. */
export class DenoKvStorage implements Storage<string> {
  /** Opens the database at `path`, or the one that Deno chooses for this program. */
  static open(path?: string): Promise<DenoKvStorage>;

  /** @param journalAgeMs after which a journal that no commit refers to is removed */
  constructor(kv: Kv, journalAgeMs?: number);
  read(reads: Read[], picture?: string): Promise<Reading<string> | null>;
  commit(changes: Change[], picture: string | undefined): Promise<boolean>;
  close(): void;
}
