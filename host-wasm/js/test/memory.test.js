import { MemoryStorage } from "../npm/storage/memory.js";
import { runSuite } from "./run.js";

runSuite("memory", async () => {
  const store = new MemoryStorage();
  return { stores: [store], close: () => undefined };
});
