import type { Change, Read, Reading, Storage } from "./storage.d.ts";

/** The map in a browser's IndexedDB: asynchronous, durable, shared by the tabs and workers of an origin. */
export class IndexedDbStorage implements Storage<number> {
  /** Opens the database of this name, creating it if it is missing. */
  static open(name?: string): Promise<IndexedDbStorage>;
  private constructor(database: IDBDatabase);
  read(reads: Read[], picture?: number): Promise<Reading<number> | null>;
  commit(changes: Change[], picture: number | undefined): Promise<boolean>;
  close(): void;
}
