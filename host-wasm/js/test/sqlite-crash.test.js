import test from "node:test";

import { surviveKills } from "./crash.js";

test("sqlite: every acknowledged commit survives kill -9, whole", async () => {
  await surviveKills("sqlite", 12);
});
