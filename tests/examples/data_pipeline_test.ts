import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { makeSyntheticData, preprocess, preprocessDeclared } from "../../examples/data_pipeline.ts";

testOnDevices("the documentation's pipeline brings a script's images to 224×224", async () => {
  const ds = tf.data.range(10).map(preprocess);
  assertEquals(String(ds.elementSpec), "float32[?,224,224,?]");
  let i = 0;
  for await (using images of ds.take(2)) {
    assertEquals(images.shape, [20, 224, 224, 3]);
    using range = tf.stack([tf.min(images), tf.max(images)]);
    for (const bound of range.arraySync() as number[]) assertAlmostEquals(bound, i / 10, 1e-6);
    i++;
  }
  assertEquals(i, 2);
});

Deno.test("batches of it know their shape where the script's was declared", () => {
  const ds = tf.data.range(10).map(preprocessDeclared).batch(5);
  assertEquals(String(ds.elementSpec), "float32[?,20,224,224,3]");
});

testOnDevices("small images through script, resize, batch: values, shape and memory", async () => {
  const make = (i: tf.NdArray) => {
    const data = Float32Array.from({ length: 16 }, (_, k) => Math.floor(k / 4) + Number(i.item()));
    return new tf.NdArray("float32", [1, 4, 4, 1], data);
  };
  const ds = tf.data.range(4)
    .map((i) => tf.numpyFunction(make, [i], tf.TensorSpec([1, 4, 4, 1])), { numParallelCalls: 2 })
    .map((images) => tf.squeeze(tf.image.resize(images, [2, 2]), [0]))
    .batch(2, { dropRemainder: true });
  assertEquals(String(ds.elementSpec), "float32[2,2,2,1]");
  const before = tf.memory().numTensors;
  const seen: unknown[] = [];
  for await (using batch of ds) seen.push(tf.tidy(() => tf.reshape(batch, [2, 4]).arraySync()));
  // Half the size: each pixel is the mean of the two rows that it covers.
  assertEquals(seen, [
    [[0.5, 0.5, 2.5, 2.5], [1.5, 1.5, 3.5, 3.5]],
    [[2.5, 2.5, 4.5, 4.5], [3.5, 3.5, 5.5, 5.5]],
  ]);
  assertEquals(tf.memory().numTensors, before);
});

Deno.test("makeSyntheticData() wraps numbers as unsigned bytes do", () => {
  using made = tf.tidy(() => tf.max(makeSyntheticData(tf.scalar(257, "int32"))));
  assertAlmostEquals(made.item(), 0.1, 1e-6);
});
