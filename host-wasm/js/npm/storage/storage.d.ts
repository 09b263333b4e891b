/**
 * What a host needs of a store: one ordered byte map, read in consistent pictures and changed in commits.
 *
 * Keys are compared byte by byte. A key has 5 to 1,000 bytes, of which the first five are its space (0 and four
 * zero bytes: the root; 1 and a number, big-endian: an account). A value has 0 to 2,000,000 bytes, a commit at
 * most 60,000 changes. A value's bound is that of the narrowest store: a row of a Durable Object has 2 MB.
 *
 * Byte arrays that are given or returned belong to both sides: nobody changes them afterwards. A storage copies
 * what it keeps in memory, so views of a larger buffer (a WebAssembly memory) are fine as arguments as long as
 * the call runs; an asynchronous storage needs them until its promise settles.
 */

export type Bytes = Uint8Array;

/** The value of a key, or at most `limit` rows of the keys in `from` (included) to `to` (not included). */
export type Read = { get: Bytes } | { from: Bytes; to: Bytes; descending: boolean; limit: number };

export type Row = [key: Bytes, value: Bytes];

/** What a read gave: the value of a get (`null`: there is none), the rows of a scan in its order. */
export type Found = Bytes | null | Row[];

/** One change; a commit names each key once. */
export type Change = { put: Bytes; value: Bytes } | { delete: Bytes };

export type MaybePromise<T> = T | Promise<T>;

export type Reading<Picture> = { found: Found[]; picture: Picture };

/**
 * A store. `Picture` stands for a state of the map; it is opaque, the storage's own, and can be cloned by
 * structure. A run (one exchange, from its first read to its commit) hands on the latest picture it was given.
 */
export interface Storage<Picture = unknown> {
  /**
   * Carries out the reads on one consistent picture of the map; `found` has their results, in their order.
   *
   * `picture` is what the last call of the same run gave: all reads of a run are then of one picture. `null` is
   * returned when it does not hold any longer: something was committed since that may concern what was read. (A
   * storage that can still read the old picture may do so; the commit of the run is refused then.) Without
   * `picture` the result is never `null`. Throws when the store failed.
   */
  read(reads: Read[], picture?: Picture): MaybePromise<Reading<Picture> | null>;

  /**
   * Makes all changes durable, or none. `false`: the picture does not hold any longer and nothing was changed;
   * without a picture nothing is compared. Throws when the store failed or the outcome is not known.
   */
  commit(changes: Change[], picture: Picture | undefined): MaybePromise<boolean>;

  /** Lets go of files and connections. */
  close?(): MaybePromise<void>;
}
