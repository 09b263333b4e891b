import type { Bytes, Change, Found, MaybePromise, Read, Row, Storage } from "./storage.d.ts";

/** What is used of a Durable Object's `ctx.storage`; its class must be one of those with SQLite. */
export interface ObjectStorage {
  sql: { exec(query: string, ...bindings: any[]): { raw(): Iterable<unknown[]> } };
  transactionSync<T>(act: () => T): T;
  setAlarm(atMs: number): Promise<void>;
}

/** From the first key to the last, which is not included. */
export type Range = [from: Bytes, to: Bytes];

/** What a run has seen of one space: the ranges that it read, as they were after so many commits. */
export type SpacePicture = { commits: number; ranges: Range[] };

/** What a run has seen, by the names of the spaces. */
export type Pictures = Record<string, SpacePicture>;

/** Reads of one space; `wait: false` refuses at once where an undecided commit concerns what was seen. */
export type Ask = { reads: Read[]; picture?: SpacePicture; wait: boolean };

/** Results of the first reads; `cut`: the last of them is a scan that has more rows. */
export type Answer = { found: Found[]; cut: boolean; commits: number };

/** Changes of a commit at one participant; a large commit has further claims with the same id. */
export type Claim = {
  id: string;
  coordinator: string;
  part: "first" | "further" | "whole";
  picture?: SpacePicture;
  changes: Change[];
};

export type Decision = "committed" | "refused" | "running";

/** A page of a dump, and the key after which the next begins; `null` at the end. */
export type Page = { rows: Row[]; next: Bytes | null };

/** What the object of another space answers: a stub of the class that forwards these to its shard. */
export interface Peer {
  read(ask: Ask): MaybePromise<Answer | null>;
  prepare(claim: Claim): MaybePromise<boolean>;
  finish(id: string, committed: boolean): MaybePromise<void>;
  decision(id: string, participant: string): MaybePromise<Decision>;
  dump(after?: Bytes): MaybePromise<Page>;
}

export interface ShardOptions {
  /** The object of a space: "root", or "account-" and its number. */
  peer(space: string): Peer;
  /** Called once changes of this object's own space are made, within the turn in which they are. */
  onCommit?(changes: Change[]): void;
  /** Time in milliseconds, for tests. */
  now?(): number;
  /** A pause, for tests. */
  sleep?(ms: number): Promise<unknown>;
}

/**
 * One space of the map in a Durable Object, and its way to all others.
 *
 * The object's class forwards `read`, `prepare`, `finish`, `decision` and `dump` to it, and in its alarm handler
 * awaits `alarm()`.
 */
export class Shard implements Peer {
  /** The whole map, for the runs of this object. */
  readonly storage: Storage<Pictures>;

  /**
   * @param space this object's own, by its name; it is remembered, for an alarm makes an object without its name
   */
  constructor(storage: ObjectStorage, space: string | undefined, options: ShardOptions);
  read(ask: Ask): MaybePromise<Answer | null>;
  prepare(claim: Claim): MaybePromise<boolean>;
  finish(id: string, committed: boolean): void;
  decision(id: string, participant: string): Decision;
  dump(after?: Bytes): Page;

  /**
   * Asks for an alarm at this time instead of the one asked for before; it survives the object. The object's
   * alarm belongs to the shard: nobody else sets it.
   */
  wakeAt(atMs: number | null): void;

  /**
   * Settles what was left undecided. True: the time given to `wakeAt` has come; the owner does its work and then
   * calls `wakeAt` again, or throws to be called again.
   */
  alarm(): Promise<boolean>;
}
