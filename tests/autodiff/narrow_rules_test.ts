/** Rules of gradients that read other values where fewer inputs have one. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { apply1 } from "../../src/engine/core/apply.ts";
import { defineOp } from "../../src/engine/core/op.ts";
import { testOnDevices } from "../devices.ts";

/** A product whose rule reads the product itself where only the first factor has a gradient. */
const Product = defineOp({
  name: "NarrowProduct",
  inputs: ["a: float", "b: float"],
  outputs: ["y: float"],
  infer: ([a]) => [a.shape],
  expand: ([a, b]) => [tf.mul(a as tf.Tensor, b as tf.Tensor)],
  grad: {
    saves: ["a", "b", "y"],
    vjp: ({ a, b, y }, [dy], { needs }) => {
      if (needs[1]) return [needs[0] ? tf.mul(dy!, b) : null, tf.mul(dy!, a)];
      return [tf.mul(dy!, tf.div(y, a)), null];
    },
  },
});

testOnDevices("a gradient of fewer inputs reads what the call has kept", async () => {
  using _scope = tf.scope();
  const f = tf.function((a: tf.Tensor, b: tf.Tensor) => {
    // A value inside of the function, which no result is.
    const y = apply1(Product, [tf.mul(a, 2), tf.mul(b, 3)]);
    return tf.square(tf.cumsum(y));
  });
  const a = tf.tensor([1, 2]), b = tf.tensor([4, 0.5]);
  const slopes = async (watched: tf.Tensor[], g: (a: tf.Tensor, b: tf.Tensor) => tf.Tensor) => {
    using tape = new tf.GradientTape();
    tape.watch(watched);
    const found = tape.gradient(g(a, b), watched) as tf.Tensor[];
    return await Promise.all(found.map((t) => t.array()));
  };
  const want = (a: tf.Tensor, b: tf.Tensor) => tf.square(tf.cumsum(tf.mul(tf.mul(a, b), 6)));
  for (const watched of [[a], [b], [a, b], [a]]) {
    assertEquals(await slopes(watched, f as never), await slopes(watched, want));
  }
  const nested = tf.function((a: tf.Tensor, b: tf.Tensor) => f(a, b) as tf.Tensor);
  assertEquals(await slopes([a], nested as never), await slopes([a], want));
});
