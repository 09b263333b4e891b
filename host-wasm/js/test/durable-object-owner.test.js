/** What a shard does for the object that it lives in: names, alarms, news of commits; and what it refuses. */

import test from "node:test";

import { Sim } from "./durable-object-sim.js";
import { check, everything, key } from "./world.js";

const CALM = { lost: 1e9, slowMs: 10 };
const value = new Uint8Array([1]);

test("durable objects: the owner is woken at its time, by whatever instance lives then", async () => {
  for (const dies of [false, true]) {
    const sim = new Sim(1, CALM);
    const object = sim.object("account-1");
    const atMs = sim.nowMs + 5_000;
    object.shard.wakeAt(sim.nowMs + 60_000);
    object.shard.wakeAt(atMs);
    if (dies) object.die();
    await sim.pass(4_999);
    check(String(object.wokenMs) === "", "not before its time");
    await sim.pass(100_000);
    check(String(object.wokenMs) === String(atMs), `woken at ${object.wokenMs} instead of ${atMs}`);
    object.shard.wakeAt(sim.nowMs + 10);
    object.shard.wakeAt(null);
    await sim.pass(1_000);
    check(String(object.wokenMs) === String(atMs), "not after it asked for nothing");
  }
});

test("durable objects: an owner's time stands beside the shard's own alarms", async () => {
  const sim = new Sim(2, CALM);
  const [one, two] = [sim.object("account-1"), sim.object("account-2")];
  const atMs = sim.nowMs + 30_000;
  two.shard.wakeAt(atMs);
  // A claim whose coordinator knows nothing of it: it is asked by the alarm, and the claim is dropped.
  const claim = {
    id: "unknown",
    coordinator: "account-1",
    part: /** @type {const} */ ("first"),
    changes: [{ put: key(2, 1), value }],
  };
  check(await sim.act(() => two.shard.prepare(claim)), "it is prepared");
  check(two.count("prepared") === 1 && two.wokenMs.length === 0, "it waits");
  await sim.pass(10_000);
  check(two.count("prepared") === 0 && two.count("prepared_rows") === 0 && two.count("rows") === 0, "it was refused");
  await sim.pass(30_000);
  check(two.wokenMs.join() === String(atMs), "the owner was woken at its own time only");
  check(one.shard.decision("unknown", "account-2") === "refused", "it stays refused");
});

test("durable objects: the owner is told of all changes of its space, and of no others", async () => {
  const sim = new Sim(3, CALM);
  const [one, two] = [sim.object("account-1"), sim.object("account-2")];
  const put = (/** @type {number} */ account, /** @type {number} */ at) => ({ put: key(account, at), value });
  const commit = (/** @type {any[]} */ ...changes) => sim.act(() => one.shard.storage.commit(changes, undefined));
  check(await commit(put(1, 1)), "one of its own");
  check(await commit(put(2, 2)), "one of another");
  check(await commit(put(1, 3), put(2, 3), { delete: key(2, 2) }), "one of both");
  await sim.pass(100);
  const told = (/** @type {typeof one} */ object) =>
    object.told.map((changes) => changes.map((change) => ("put" in change ? change.put[5] : -change.delete[5])).join());
  check(told(one).join(" ") === "1 3", `the first was told of ${told(one).join(" ")}`);
  check(told(two).join(" ") === "2 -2,3", `the second was told of ${told(two).join(" ")}`);
});

test("durable objects: an owner that throws undoes nothing", async () => {
  const sim = new Sim(4, CALM);
  const object = sim.object("root");
  object.told = /** @type {any} */ ({
    push: () => {
      throw new Error("the owner's own error");
    },
  });
  const logged = console.error;
  console.error = () => undefined;
  check(await sim.act(() => object.shard.storage.commit([{ put: key(0, 1), value }], undefined)), "it is made");
  console.error = logged;
  const reading = await sim.act(() => object.shard.storage.read([{ get: key(0, 1) }]));
  check(reading?.found[0] instanceof Uint8Array, "it is there");
});

test("durable objects: a scan over several spaces and a key of none are refused", async () => {
  const { shard } = new Sim(5, CALM).object("root");
  const refused = [
    { from: key(0), to: key(2), descending: false, limit: 1 },
    { from: key(1), to: new Uint8Array([255]), descending: false, limit: 1 },
    { get: new Uint8Array([2, 0, 0, 0, 0, 1]) },
    { get: new Uint8Array([0, 0, 0, 0, 1, 1]) },
    { get: new Uint8Array([1, 0, 0]) },
  ];
  for (const read of refused) {
    const outcome = await Promise.resolve().then(() => shard.storage.read([read])).catch((error) => error);
    check(outcome instanceof RangeError, "it is refused");
  }
  check((await shard.storage.read([everything(0)])) !== null, "a whole space is not");
});

test("durable objects: an object remembers its space, and is no other's", async () => {
  const sim = new Sim(6, CALM);
  const object = sim.object("account-1");
  check(await sim.act(() => object.shard.storage.commit([{ put: key(1, 1), value }], undefined)), "it is made");
  object.die();
  object.name = /** @type {any} */ (undefined);
  const reading = await sim.act(() => object.shard.storage.read([{ get: key(1, 1) }]));
  check(reading?.found[0] instanceof Uint8Array && "account-1" in reading.picture, "without its name it is the same");
  object.die();
  object.name = "account-2";
  const outcome = await Promise.resolve().then(() => object.shard).catch((error) => error);
  check(outcome instanceof Error, "under another name it is refused");
});
