import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test from "node:test";

import { DenoKvStorage } from "../npm/storage/deno-kv.js";
import { surviveKills } from "./crash.js";
import { Random } from "./random.js";
import { runSuite, seed } from "./run.js";
import { check, found, key } from "./world.js";

async function open() {
  const folder = await mkdtemp(join(tmpdir(), "switchboard-"));
  // Two connections, as two processes have them.
  const stores = [await DenoKvStorage.open(join(folder, "map")), await DenoKvStorage.open(join(folder, "map"))];
  const close = async () => {
    stores.forEach((store) => store.close());
    await rm(folder, { recursive: true });
  };
  return { stores, close };
}

runSuite("deno-kv", open);

test("deno-kv: commits about as large as one operation may be are made", async () => {
  const { stores, close } = await open();
  const random = new Random(seed);
  // Changes, bytes of a key, bytes of a value: the three bounds of an operation, each from both sides.
  const shapes = [998, 999, 1_000].map((count) => [count, 8, 8]);
  for (let length = 76; length <= 84; length++) {
    shapes.push([900, length >> 1, 8], [900, length, 8], [length * 9, 100, 8]);
  }
  for (let count = 11; count <= 13; count++) {
    shapes.push([count, 10, 61_000], [count, 10, 65_536], [count * 16, 20, 3_900]);
  }
  for (const [count, length, bytes] of shapes) {
    const filler = Array(length - 7).fill(random.below(2));
    const changes = Array.from(
      { length: count },
      (_, at) => ({ put: key(1, at >> 8, at, ...filler), value: random.bytes(bytes) }),
    );
    check(await stores[0].commit(changes, undefined), "the commit is made");
    const [last] = await found(stores[1], [{ get: changes[count - 1].put }]);
    check(String(last) === String(changes[count - 1].value), "its last row is there");
  }
  await close();
});

test("deno-kv: every acknowledged commit survives kill -9, whole", async () => {
  await surviveKills("deno-kv", 12);
});
