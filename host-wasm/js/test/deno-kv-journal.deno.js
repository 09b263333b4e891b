/**
 * A commit through the journal, with a process that dies or sleeps at each of its operations in turn.
 *
 * @import { Kv } from "../npm/storage/deno-kv.d.ts"
 * @import { Change } from "../npm/storage/storage.d.ts"
 */

import test from "node:test";

import { DenoKvStorage } from "../npm/storage/deno-kv.js";
import { Model, same } from "./model.js";
import { Random } from "./random.js";
import { seed } from "./run.js";
import { check, everything, found, key } from "./world.js";

const { Deno } = /** @type {{ Deno: { openKv(path: string): Promise<Kv> } }} */ (/** @type {unknown} */ (globalThis));
const random = new Random(seed);
const SIZES = [0, 20, 65_536, 100_000, 300_000];

/** @type {Change[]} */
const before = Array.from({ length: 12 }, (_, at) => ({ put: key(1, at), value: random.bytes(random.pick(SIZES)) }));
/** @type {Change[]} more than one operation carries, over and beside what was there before */
const large = [
  ...Array.from({ length: 8 }, (_, at) => ({ put: key(1, at), value: random.bytes(SIZES[(at + 3) % SIZES.length]) })),
  ...Array.from({ length: 2 }, (_, at) => ({ delete: key(1, 8 + at) })),
  ...Array.from({ length: 150 }, (_, at) => ({ put: key(1, 100, at >> 8, at), value: random.bytes(10) })),
];

/**
 * Each operation first asks `gate`, with its number.
 *
 * @param {Kv} kv
 * @param {(count: number) => Promise<void>} gate
 * @returns {Kv}
 */
function gated(kv, gate) {
  let count = 0;
  const pass = () => gate(count++);
  return {
    get: (at) => pass().then(() => kv.get(at)),
    getMany: (keys) => pass().then(() => kv.getMany(keys)),
    list: (selector, options) => kv.list(selector, options),
    set: (at, value) => pass().then(() => kv.set(at, value)),
    atomic: () => {
      const operation = kv.atomic();
      const commit = operation.commit.bind(operation);
      return Object.assign(operation, { commit: () => pass().then(commit) });
    },
    close: () => kv.close(),
  };
}

/** @param {Change[][]} commits */
function modelOf(...commits) {
  const model = new Model();
  commits.forEach((changes) => model.apply(changes));
  return model;
}

/** @param {DenoKvStorage} storage */
async function everythingIn(storage) {
  return (await found(storage, [everything(1)]))[0];
}

/** All entries of the database, the state included. @param {Kv} kv */
async function entriesOf(kv) {
  let count = 0;
  for await (const _ of kv.list({ prefix: ["switchboard"] })) count += 1;
  return count;
}

/** @param {Model} model */
function entriesFor(model) {
  const rows = /** @type {[Uint8Array, Uint8Array][]} */ (model.find(everything(1)));
  return rows.reduce((sum, [, { length }]) => sum + 1 + (length > 65_536 ? Math.ceil(length / 65_536) : 0), 1);
}

/**
 * Makes the large commit in a process that dies before its operation `deadly`, and looks at what another finds.
 *
 * @param {number} deadly
 */
async function dieAt(deadly) {
  const kv = await Deno.openKv(":memory:");
  await new DenoKvStorage(kv).commit(before, undefined);
  let died = false;
  const dying = gated(kv, async (count) => {
    died ||= count >= deadly;
    if (died) throw new Error("dead");
  });
  const acknowledged = await new DenoKvStorage(dying).commit(large, undefined).catch(() => false);
  // No age is too young to be swept: the writer is known to be dead.
  const next = new DenoKvStorage(kv, 0);
  const rows = await everythingIn(next);
  const old = modelOf(before);
  const model = same(rows, old.find(everything(1))) ? old : modelOf(before, large);
  check(same(rows, model.find(everything(1))), `died at ${deadly}: the commit is there by half`);
  check(!acknowledged || model !== old, `died at ${deadly}: an acknowledged commit is lost`);
  check((await entriesOf(kv)) === entriesFor(model), `died at ${deadly}: something is left over`);
  kv.close();
  return { died, made: model !== old };
}

test("deno-kv: a process that dies at any operation leaves all of a commit or nothing", async () => {
  const made = [];
  for (let deadly = 0, died = true; died; deadly++) {
    const end = await dieAt(deadly);
    died = end.died;
    made.push(end.made);
  }
  const first = made.indexOf(true);
  check(
    first > 2 && first < made.length - 5,
    `of ${made.length} deaths the first after the decision was number ${first}`,
  );
  check(made.slice(first).every(Boolean), "what is decided stays decided");
});

/** Something to wait for. */
function signal() {
  /** @type {() => void} */
  let give = () => undefined;
  const given = new Promise((resolve) => {
    give = () => resolve(undefined);
  });
  return { give, given };
}

/**
 * Makes the large commit in a process that sleeps before its operation `sleepy`, while another sweeps, reads and
 * makes the changes `second`. Says whether it slept.
 *
 * @param {number} sleepy
 * @param {Change[]} second
 */
async function sleepAt(sleepy, second) {
  const kv = await Deno.openKv(":memory:");
  await new DenoKvStorage(kv).commit(before, undefined);
  const [falling, waking] = [signal(), signal()];
  let slept = false;
  const slow = gated(kv, async (count) => {
    if (count !== sleepy) return;
    slept = true;
    falling.give();
    await waking.given;
  });
  const late = new DenoKvStorage(slow).commit(large, undefined);
  await Promise.race([falling.given, late]);
  // Any age counts as dead, so the sleeper's journal is taken away where it is not decided yet.
  const other = new DenoKvStorage(kv, 0);
  const model = modelOf(before);
  if (!same(await everythingIn(other), model.find(everything(1)))) model.apply(large);
  check(await other.commit(second, undefined), "another process commits");
  model.apply(second);
  waking.give();
  const result = await late.then(String, String);
  // A commit without a picture begins again after another one; one that was decided stands before it.
  if (model.find({ get: key(1, 100, 0, 8) }) === null) model.apply(large);
  check(result === "true", `asleep at ${sleepy}: the late commit ended with ${result}`);
  check(
    same(await everythingIn(other), model.find(everything(1))),
    `asleep at ${sleepy}: the late process changed something`,
  );
  check((await entriesOf(kv)) === entriesFor(model), `asleep at ${sleepy}: something is left over`);
  kv.close();
  return slept;
}

test("deno-kv: who wakes late in the middle of a journal changes nothing", async () => {
  const second = [{ put: key(1, 0), value: random.bytes(90_000) }, { put: key(1, 100, 0, 7), value: random.bytes(1) }];
  for (const changes of [second, []]) {
    let sleepy = 0;
    while (await sleepAt(sleepy, changes)) sleepy += 1;
    check(sleepy > 10, `asleep at ${sleepy} operations only`);
  }
});
