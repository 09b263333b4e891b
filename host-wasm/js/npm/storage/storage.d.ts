/**
 * What a host needs of a store: one ordered byte map, read in consistent snapshots ("pictures") and changed in commits.
 *
 * Keys are compared byte by byte. A key has 5 to 1,000 bytes, of which the first five are its space (0 and four zero
 * bytes: the root; 1 and a number, big-endian: an account). A value has 0 to 2,000,000 bytes, a commit at most 60,000
 * changes. A value's bound is that of the narrowest store: a row of a Durable Object has 2 MB.
 *
 * Byte arrays passed in or returned are shared: neither side changes them afterwards. A storage copies what it keeps in
 * memory, so views of a larger buffer (a WebAssembly memory) are fine as arguments for the duration of the call; an
 * asynchronous storage needs them until its promise settles.
 */

export type Bytes = Uint8Array;

/** A get of one key, or a scan of at most `limit` rows with keys from `from` (inclusive) to `to` (exclusive). */
export type Read = { get: Bytes } | { from: Bytes; to: Bytes; descending: boolean; limit: number };

export type Row = [key: Bytes, value: Bytes];

/** The result of a read: the value of a get (`null` if the key is missing), the rows of a scan in its order. */
export type Found = Bytes | null | Row[];

/** One change; a commit names each key once. */
export type Change = { put: Bytes; value: Bytes } | { delete: Bytes };

export type MaybePromise<T> = T | Promise<T>;

export type Reading<Picture> = { found: Found[]; picture: Picture };

/**
 * A store. `Picture` identifies a state of the map; it is opaque, the storage's own, and structured-cloneable. A run
 * (one exchange, from its first read to its commit) passes on the latest picture it received.
 */
export interface Storage<Picture = unknown> {
  /**
   * Executes the reads on one consistent picture of the map; `found` has their results, in their order.
   *
   * `picture` is the one that the last call of the same run returned: all reads of a run then see the same picture.
   * Returns `null` when it is no longer valid: a commit since may concern what was read. (A storage that can still read
   * the old picture may do so; the commit of the run is refused then.) Without `picture` the result is never `null`.
   * Throws when the store failed.
   */
  read(reads: Read[], picture?: Picture): MaybePromise<Reading<Picture> | null>;

  /**
   * Makes all changes durable, or none. Returns `false` if the picture is no longer valid and nothing was changed;
   * without a picture nothing is compared. Throws when the store failed or the outcome is unknown.
   */
  commit(changes: Change[], picture: Picture | undefined): MaybePromise<boolean>;

  /** Releases files and connections. */
  close?(): MaybePromise<void>;
}
