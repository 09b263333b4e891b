/** The host's clock while the platform's is set forward and back. */

import assert from "node:assert/strict";
import test from "node:test";

import { Clock } from "../npm/host/clock.js";

const HOUR_MS = 3_600_000;

/** Creates a platform clock that the test sets, and the host's clock over it. */
function faked() {
  const time = { ms: 1_790_000_000_000, monotonic: 0 };
  const clock = new Clock({
    now: () => time.ms,
    monotonic: () => time.monotonic,
    random: () => {},
    timer: () => () => {},
  });
  const pass = (/** @type {number} */ ms) => {
    time.ms += ms;
    time.monotonic += ms;
  };
  return { time, clock, pass };
}

test("time goes on at half speed after the clock was set back, until that has caught up", () => {
  const { time, clock, pass } = faked();
  time.ms += HOUR_MS;
  const ahead = clock.now();
  assert.equal(ahead, time.ms * 1000, "a step forward is followed");
  time.ms -= HOUR_MS;
  assert.equal(clock.now(), ahead);
  for (let second = 1; second <= 60; second += 1) {
    pass(1000);
    assert.equal(clock.now(), ahead + second * 500_000);
  }
  pass(2 * HOUR_MS - 61_000);
  assert.equal(clock.now(), time.ms * 1000 + 500_000);
  pass(1000);
  assert.equal(clock.now(), time.ms * 1000);
  pass(1000);
  assert.equal(clock.now(), time.ms * 1000);
});

test("a wait ends at its time while the clock is ahead", () => {
  const { time, clock, pass } = faked();
  clock.now();
  time.ms -= 10_000;
  for (const seconds of [0, 4, 4, 40]) {
    const at = clock.now() + seconds * 1_000_000;
    const [wait, platformMs] = [clock.untilMs(at), clock.platformMs(at)];
    pass(wait);
    assert.deepEqual([clock.now(), clock.untilMs(at), platformMs], [at, 0, time.ms], `${seconds} s`);
  }
});
