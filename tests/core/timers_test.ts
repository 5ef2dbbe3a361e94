/** Timers of any length. */
import { assertEquals, assertThrows } from "@std/assert";
import { assertSpyCalls, spy } from "@std/testing/mock";
import { FakeTime } from "@std/testing/time";
import { errors } from "@weft/weft";
import { after, checkTimeout, nextSlice, nextTask } from "../../src/engine/runtime/run/timers.ts";

const MOST = 2 ** 31 - 1;

Deno.test("after() keeps delays of any length to the millisecond", () => {
  for (const ms of [0, 1, 0.5, MOST - 1, MOST, MOST + 1, 3e9, 2 * MOST, 2 * MOST + 1, 1e11]) {
    using time = new FakeTime();
    const fired = spy();
    after(ms, fired);
    // To the next of the timers, of which each has its most.
    for (let left = ms - 1; left > 0; left -= MOST) time.tick(Math.min(left, MOST));
    assertSpyCalls(fired, 0);
    time.tick(1);
    assertSpyCalls(fired, 1);
    time.tick(10 * MOST);
    assertSpyCalls(fired, 1);
  }
});

Deno.test("after() never fires for Infinity, and can be taken back at any time", () => {
  using time = new FakeTime();
  const fired = spy();
  after(Infinity, fired)();
  after(Infinity, fired);
  const takeBack = [MOST, 5 * MOST, 5 * MOST].map((ms) => after(ms, fired));
  takeBack[1]();
  time.tick(MOST - 1);
  takeBack[0]();
  time.tick(3 * MOST);
  takeBack[2]();
  time.tick(1e15);
  assertSpyCalls(fired, 0);
});

Deno.test("nextTask() lets timers fire", async () => {
  const order: string[] = [];
  setTimeout(() => order.push("timer"));
  queueMicrotask(() => order.push("microtask"));
  while (order.length < 2) await nextTask();
  assertEquals(order, ["microtask", "timer"]);
});

Deno.test("checkTimeout() takes any number of milliseconds", () => {
  for (const ms of [undefined, 0, 0.5, 2 ** 31, 1e300, Infinity]) checkTimeout("a run", ms);
  for (const [ms, text] of [[NaN, "NaN"], [-1, "-1"], ["5", "5"], [null, "null"]] as const) {
    assertThrows(() => checkTimeout("a run", ms), errors.ValueError, text);
  }
});

Deno.test("slices of long work take turns, and timers that are due come between two", async () => {
  const order: string[] = [];
  const long = async (name: string): Promise<void> => {
    for (let k = 0; k < 3; k++) {
      await nextSlice();
      order.push(name);
      // What the slice makes due has its time before the next one.
      setTimeout(() => order.push("."), 0);
    }
  };
  await Promise.all([long("a"), long("b"), long("c")]);
  await nextSlice();
  assertEquals(order.join(""), "a.b.c.".repeat(3));
});
