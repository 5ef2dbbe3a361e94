/** Long work has short slices beside other requests, and its own length where it is alone. */
import * as tf from "@weft/weft";
import { createHandler } from "@weft/weft/serve";
import { assertEquals } from "@std/assert";
import { stub } from "@std/testing/mock";
import { RunLimit } from "../../src/engine/runtime/run/run_context.ts";
import { askedFromElsewhere, sliceAt } from "../../src/engine/runtime/run/timers.ts";
import { ask } from "./models.ts";
import { heldClock } from "./held_clock.ts";

/** Milliseconds of a slice that has ten by itself. */
const slice = (): number => sliceAt(performance.now(), 10);

Deno.test("a request beside another one makes slices short, and one alone does not", async () => {
  using _ = heldClock();
  const gates: (() => void)[] = [];
  const slow = tf.function((x: tf.Tensor) => {
    const held = tf.numpyFunction(
      (a: tf.NdArray) => new Promise<tf.NdArray>((resolve) => gates.push(() => resolve(a))),
      [x],
      tf.TensorSpec([null], "float32"),
    ) as tf.Tensor;
    return { y: held };
  }, { inputSignature: [tf.TensorSpec([null], "float32", "x")] });
  const { fetch } = createHandler({ models: { slow } });
  const request = (): Promise<Response> =>
    ask(fetch, "/v1/models/slow:predict", '{"instances":[1]}');
  const first = request();
  while (gates.length < 1) await new Promise((resolve) => setTimeout(resolve, 1));
  assertEquals(slice(), 10);
  const second = ask(fetch, "/v2");
  assertEquals(slice(), 3);
  assertEquals((await second).status, 200);
  gates[0]();
  assertEquals(await (await first).json(), { predictions: [1] });
});

Deno.test("a run gives turns every 3 ms while requests come beside it, and for 250 ms after", async () => {
  const clock = { now: 1000 };
  using _ = stub(performance, "now", () => clock.now);
  const limit = RunLimit.of({ signal: new AbortController().signal })!;
  const after = (ms: number): Promise<void> | null => {
    clock.now += ms;
    limit.look();
    limit.due();
    return limit.pause();
  };
  try {
    askedFromElsewhere();
    for (let k = 0; k < 3; k++) {
      assertEquals(after(2), null);
      await after(1)!;
    }
    clock.now = 1249 - 3;
    await after(3)!;
    assertEquals(after(9), null);
    await after(1)!;
    assertEquals([sliceAt(clock.now, 5), sliceAt(clock.now, 2)], [5, 2]);
    askedFromElsewhere();
    assertEquals([sliceAt(clock.now, 5), sliceAt(clock.now, 2)], [3, 2]);
  } finally {
    clock.now = -Infinity;
    askedFromElsewhere();
  }
});
