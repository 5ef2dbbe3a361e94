/** Long work has short slices beside other requests, and its own length where it is alone. */
import * as tf from "@weft/weft";
import { createHandler } from "@weft/weft/serve";
import { assertEquals } from "@std/assert";
import { sliceAt } from "../../src/engine/runtime/run/timers.ts";
import { ask } from "./models.ts";

/** Milliseconds of a slice that has ten by itself. */
const slice = (): number => sliceAt(performance.now(), 10);

Deno.test("a request beside another one makes slices short, and one alone does not", async () => {
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
