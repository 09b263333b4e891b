import type { Change, Read, Reading, Storage } from "./storage.d.ts";

/** The map in one SQLite file, for Node and Deno: synchronous, durable, shared by any number of processes. */
export class SqliteStorage implements Storage<number> {
  /** Opens or creates the file. Throws for a file that is not Switchboard's, or of a later format. */
  constructor(path: string);
  read(reads: Read[], picture?: number): Reading<number> | null;
  commit(changes: Change[], picture: number | undefined): boolean;
  close(): void;
}
