/** The stand-ins for `@std/testing` do what the tests take from the originals. */
// Runs alone: its snapshots lie beside it.

import { assertEquals, AssertionError, assertRejects, assertThrows } from "./assert.ts";
import { assertSpyCalls, spy, stub } from "./mock.ts";
import { assertSnapshot } from "./snapshot.ts";
import { FakeTime } from "./time.ts";

Deno.test("FakeTime fires timers in order, and puts the clock back", async () => {
  const before = { setTimeout, Date };
  const fired: (string | number)[] = [];
  {
    using time = new FakeTime(1000);
    setTimeout(() => fired.push("b", Date.now()), 20);
    const every = setInterval(() => fired.push("a"), 15);
    clearTimeout(setTimeout(() => fired.push("never"), 1));
    time.tick(19);
    assertEquals(fired, ["a"]);
    await time.tickAsync(11);
    assertEquals(fired, ["a", "b", 1020, "a"]);
    assertEquals([time.now, new Date().valueOf()], [1030, 1030]);
    clearInterval(every);
    assertThrows(() => new FakeTime(), TypeError);
  }
  assertEquals({ setTimeout, Date } as unknown, before as unknown);
});

Deno.test("FakeTime fires what is too long for a timer at once, as the platform does", () => {
  using time = new FakeTime();
  const fired = spy();
  setTimeout(fired, 2 ** 31);
  time.tick(1);
  assertSpyCalls(fired, 1);
});

Deno.test("spies and stubs remember their calls", () => {
  const thing = { twice: (x: number) => 2 * x }, { twice } = thing;
  {
    using replaced = stub(thing, "twice", (x: number) => 3 * x);
    assertEquals(thing.twice(2), 6);
    assertEquals(replaced.calls.map(({ args, returned }) => [args, returned]), [[[2], 6]]);
    assertThrows(() => assertSpyCalls(replaced, 2), AssertionError);
  }
  assertEquals(thing.twice === twice, true);
  {
    const counter = {
      n: 1,
      add(by: number) {
        return this.n += by;
      },
    };
    using added = spy(counter, "add");
    assertEquals([counter.add(2), counter.n, added.calls[0].args], [3, 3, [2]]);
  }
  const failing = spy(() => {
    throw new RangeError("x");
  });
  assertThrows(failing, RangeError);
  assertEquals(failing.calls[0].error instanceof RangeError, true);
});

Deno.test("assertSnapshot() compares with the file beside the test", async (t) => {
  await assertSnapshot(t, { b: [1, "two"], a: "`${x}`\\" });
  await assertSnapshot(t, "one line");
  // With --update it writes them.
  if (Deno.args.length > 0) return;
  await assertRejects(() => assertSnapshot(t, "unknown"), AssertionError, "Missing snapshot");
});
