import type { Change, Read, Reading, Storage } from "./storage.d.ts";

/** The map in memory: synchronous, and gone with the process. */
export class MemoryStorage implements Storage<number> {
  read(reads: Read[], picture?: number): Reading<number> | null;
  commit(changes: Change[], picture: number | undefined): boolean;
}
