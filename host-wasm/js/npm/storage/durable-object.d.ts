import type { Change, Read, Reading, Storage } from "./storage.d.ts";

/** The part of a Durable Object's `ctx.storage` that is used; the object's class must be backed by SQLite. */
export interface ObjectStorage {
  sql: { exec(query: string, ...bindings: any[]): { raw(): Iterable<unknown[]> } };
  transactionSync<T>(act: () => T): T;
}

/** The map in one Durable Object: synchronous, durable, at most 10 GB. Create one instance per object and share it. */
export class DurableStorage implements Storage<number> {
  /** Creates missing tables. Throws for an object of another format. */
  constructor(storage: ObjectStorage);
  read(reads: Read[], picture?: number): Reading<number> | null;
  commit(changes: Change[], picture: number | undefined): boolean;
}
