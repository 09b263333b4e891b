import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

import { SqliteStorage } from "../npm/storage/sqlite.js";
import { runSuite } from "./run.js";

runSuite("sqlite", async () => {
  const folder = await mkdtemp(join(tmpdir(), "switchboard-"));
  // Two connections, as of two processes.
  const stores = [0, 1].map(() => new SqliteStorage(join(folder, "map.sqlite")));
  const close = async () => {
    stores.forEach((store) => store.close());
    await rm(folder, { recursive: true });
  };
  return { stores, close };
});
