import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { compareVariants, testOnGpu } from "./force_variant.ts";
import { filled, noise, number, random } from "./values.ts";

const ints = (values: number[], shape?: number[]) =>
  tf.tensor(values, shape ?? [values.length], "int32");

testOnDevices("bincount() counts, or adds up weights of either dtype", (device) => {
  const x = ints([3, 1, 1, 9, 0, 3]);
  assertEquals(tf.bincount(x, [], 5).arraySync(), [1, 2, 0, 2, 0]);
  const whole = tf.bincount(x, ints([16777217, 2, 3, 4, 5, -1]), 4);
  assertEquals(whole.dtype, "int32");
  assertEquals(whole.arraySync(), [5, 5, 0, 16777216]);
  assertEquals(tf.bincount(x, [1, 2, 4, 8, 16, 32], 4).arraySync(), [16, 6, 0, 33]);
  assertEquals(tf.bincount(ints([]), [], 2).arraySync(), [0, 0]);
  assertEquals(tf.bincount(x, [], 0).shape, [0]);
  if (device === "cpu") {
    assertThrows(
      () => tf.bincount(ints([-1]), [], 2),
      tf.errors.InvalidArgumentError,
      "non-negative",
    );
  }
});

testOnDevices("denseBincount() goes row by row, and says what occurs", () => {
  const x = ints([1, 1, 0, 2, 5, 2], [2, 3]);
  assertEquals(tf.denseBincount(x, tf.tensor([], [0, 0]), 3).arraySync(), [[1, 2, 0], [0, 0, 2]]);
  assertEquals(tf.denseBincount(x, [], 3, true).arraySync(), [[1, 1, 0], [0, 0, 1]]);
  const weights = [[1, 2, 4], [8, 16, 32]];
  assertEquals(tf.denseBincount(x, weights, 3).arraySync(), [[4, 3, 0], [0, 0, 40]]);
});

testOnDevices("confusionMatrix() leaves out what is no class", () => {
  const m = tf.math.confusionMatrix(ints([0, 1, 2, 2, 3, -1, 1]), ints([0, 2, 2, 1, 0, 0, 5]), 3);
  assertEquals(m.dtype, "int32");
  assertEquals(m.arraySync(), [[1, 0, 0], [0, 0, 1], [0, 1, 1]]);
  assertThrows(
    () => tf.math.confusionMatrix([0], [0, 1], 2),
    tf.ValueError,
    "Cannot count: received 1 labels and 2 predictions, wanted equally",
  );
  assertThrows(
    () => tf.math.confusionMatrix([0], [0], 0),
    tf.ValueError,
    "Cannot count: numClasses must be a positive whole number, received 0",
  );
});

testOnGpu("Bincount, DenseBincount: every variant equals the CPU", async () => {
  for (const shape of [[1], [1000], [3, 70], [0], [2, 0]]) {
    const next = random(3);
    const x = filled("int32", shape, () => Math.floor(next() * 12));
    const none = noise("float32", [0]);
    const size = number(9);
    const floats = filled("float32", shape, () => Math.floor(next() * 8));
    for (const weights of [none, floats, noise("int32", shape), noise("int32", [0])]) {
      for (const binary_output of [false, true]) {
        await compareVariants("DenseBincount", [x, size, weights], { binary_output });
      }
      if (shape.length === 1) await compareVariants("Bincount", [x, size, weights]);
    }
  }
});
