import type { Change, Read, Reading, Storage } from "./storage.d.ts";

/** What is used of a Durable Object's `ctx.storage`; the object's class must be one with SQLite. */
export interface ObjectStorage {
  sql: { exec(query: string, ...bindings: any[]): { raw(): Iterable<unknown[]> } };
  transactionSync<T>(act: () => T): T;
}

/** The map in one Durable Object: synchronous, durable, at most 10 GB. An object makes one and shares it. */
export class DurableStorage implements Storage<number> {
  /** Makes the tables where there are none. Throws for an object of another format. */
  constructor(storage: ObjectStorage);
  read(reads: Read[], picture?: number): Reading<number> | null;
  commit(changes: Change[], picture: number | undefined): boolean;
}
