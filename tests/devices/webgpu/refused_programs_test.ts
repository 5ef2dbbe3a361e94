/** Programs of the library that an adapter refuses: an error, and never another number, for all that stood in the same batch of commands. */
// Runs alone: it makes adapters refuse programs.
import * as tf from "@weft/weft";
import { assert, assertEquals, assertMatch, assertThrows } from "@std/assert";
import { testOnGpu } from "../../devices.ts";
import { errorOf } from "../../script/helpers.ts";
import { dispatchesMade } from "./made.ts";
import { fine, lists, numbers, refusals, REFUSED, refusing } from "./refusing.ts";

/** Asserts that results are `wanted`, or that reading them throws the fault. */
function rightOrRefused(results: readonly tf.Tensor[], wanted: number[][], what: string): void {
  results.forEach((t, i) => {
    let found: number[];
    try {
      found = Array.from(t.dataSync());
    } catch (error) {
      return assertMatch((error as Error).message, REFUSED, what);
    }
    wanted[i]!.forEach((w, k) => assert(Math.abs(w - found[k]!) < 1e-5, `${what}: ${i} at ${k}`));
  });
}

/** Ways to compute and to read. */
const WAYS: Readonly<Record<string, (f: (x: tf.Tensor) => tf.Tensor) => unknown>> = {
  "a compiled function, read at once": (f) => compiled(f)(numbers(1)).dataSync(),
  "a compiled function, awaited": (f) => compiled(f)(numbers(1)).data(),
  "a function that is compiled ahead": async (f) =>
    (await compiled(f).async(numbers(1)) as tf.Tensor).dataSync(),
  "an op of the result": (f) => tf.add(compiled(f)(numbers(1)), 1).dataSync(),
  "a session": async (f) => {
    const graph = new tf.Graph();
    const y = graph.asDefault(() => f(tf.placeholder("float32", [24, 4], "x")));
    await using session = new tf.Session({ graph });
    return await session.run(y, { feeds: { "x:0": numbers(1) } });
  },
};

const compiled = (f: (x: tf.Tensor) => tf.Tensor) => tf.function((x: tf.Tensor) => f(x));

for (const [way, run] of Object.entries(WAYS)) {
  testOnGpu(
    `a program of the library that is refused is an error in ${way}, and others' numbers stay`,
    async () => {
      using _ = tf.scope();
      const wanted = lists(fine(numbers(1.7)));
      const f = refusing(), before = fine(numbers(1.7));
      for (let k = 0; k < 2; k++) {
        const error = await errorOf(async () => void await run(f));
        assertMatch(error.message, REFUSED);
        assert(error instanceof tf.errors.InternalError);
      }
      rightOrRefused(before, wanted, "recorded before");
      rightOrRefused(fine(numbers(1.7)), wanted, "recorded after");
      refusals.isOn = false;
      assertEquals(lists(fine(numbers(1.7))), wanted);
    },
  );
}

testOnGpu("a program that is refused and never read spoils no number that is", async () => {
  using _ = tf.scope();
  const wanted = lists(fine(numbers(1.7)));
  for (const isCompiled of [false, true]) {
    const f = refusing(), after = isCompiled ? tf.function(fine) : fine;
    // What stands in the batch of a refused program is lost, which is said; all later batches are whole.
    await errorOf(async () => {
      compiled(f)(numbers(1));
      await tf.zeros([1]).data();
      rightOrRefused(after(numbers(1.7)), wanted, "beside it");
      tf.zeros([1]).dataSync();
      throw new Error("no call has failed");
    }).then(({ message }) => assertMatch(message, REFUSED));
    assertEquals(lists(fine(numbers(1.7))), wanted);
  }
  refusals.isOn = false;
});

const errorNow = (run: () => unknown): Error => assertThrows(run, Error);

/** Uses of the refused result before compiled calls go on. */
const AFTER: Readonly<Record<string, (refused: tf.Tensor, read: () => void) => void>> = {
  "its result is held": () => {},
  "its result is free": (refused) => refused.dispose(),
  "its result was read": (_, read) => assertMatch(errorNow(read).message, REFUSED),
};

for (const [what, beside] of Object.entries(AFTER)) {
  testOnGpu(`compiled calls are given again after a refusal, where ${what}`, async () => {
    using _ = tf.scope();
    const f = tf.function((x: tf.Tensor) => fine(x)), given = numbers(1.7);
    const step = tf.function((x: tf.Tensor) => tf.mul(tf.add(x, 1), 2));
    const wanted = lists(f(given));
    for (let i = 0; i < 4; i++) tf.dispose(f(given));
    step(step(given)).dispose();
    const refused = compiled(refusing())(numbers(1));
    await errorOf(async () => void await tf.zeros([1]).data());
    refusals.isOn = false;
    beside(refused, () => void refused.dataSync());
    for (let i = 0; i < 4; i++) tf.dispose(f(given));
    assertEquals(dispatchesMade(() => tf.dispose(f(given))), 0);
    assertEquals(lists(f(given)), wanted);
    // An invalid tensor is refused by a call that is given again, each time.
    for (let i = 0; i < 4; i++) step(given).dispose();
    if (refused.isDisposed) return;
    for (let i = 0; i < 2; i++) {
      assertMatch(errorNow(() => step(refused).dataSync()).message, REFUSED);
    }
    assertEquals(dispatchesMade(() => step(given).dispose()), 0);
  });
}

testOnGpu(
  "a compiled call whose program was refused stays refused, however often it is called",
  async () => {
    using _ = tf.scope();
    const f = compiled(refusing()), given = numbers(1);
    for (let i = 0; i < 6; i++) {
      const error = await errorOf(async () => void await f(given).data());
      assertMatch(error.message, REFUSED);
    }
    refusals.isOn = false;
    assertMatch((await errorOf(async () => void await f(given).data())).message, REFUSED);
  },
);
