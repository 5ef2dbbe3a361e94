import * as tf from "@weft/weft";
import { assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { compareVariants, testOnGpu } from "./force_variant.ts";
import { filled, noise, number, random } from "./values.ts";

testOnDevices("argMax() and argMin() take the first of equals along any axis", () => {
  const x = tf.tensor([[3, 1, 3], [1, 1, 5], [0, 9, 5]]);
  assertEquals(tf.argMax(x, 0).arraySync(), [0, 2, 1]);
  assertEquals(tf.argMax(x, -1).arraySync(), [0, 2, 1]);
  assertEquals(tf.argMin(x, 0).arraySync(), [2, 0, 0]);
  assertEquals(tf.argMin(x, 1).arraySync(), [1, 0, 0]);
  assertEquals(tf.argMax([0, -0, 0]).item(), 0);
  assertEquals(tf.argMax([-0, 0]).item(), 0);
  assertEquals(tf.argMax(x).dtype, "int32");
});

testOnDevices("argMax() and argMin() pass over NaN", () => {
  assertEquals(tf.argMax([NaN, 1, NaN, 2, 2]).item(), 3);
  assertEquals(tf.argMin([NaN, 2, NaN, 1, 1]).item(), 3);
  assertEquals(tf.argMin([NaN, Infinity]).item(), 1);
  assertEquals(tf.argMax([NaN, -Infinity]).item(), 1);
  assertEquals(tf.argMax([NaN, NaN]).item(), 0);
});

testOnDevices("argMax() tells large int32 apart, and refuses empty axes", () => {
  assertEquals(tf.argMax(tf.tensor([16777216, 16777217, -5], [3], "int32")).item(), 1);
  assertEquals(tf.argMin(tf.tensor([-2147483648, 2147483647], [2], "int32")).item(), 0);
  assertThrows(() => tf.argMax(tf.tensor([], [2, 0]), 1), tf.ValueError, "axis 1 is empty");
  assertEquals(tf.argMax(tf.tensor([], [0, 2]), 1).shape, [0]);
});

testOnGpu("ArgMax, ArgMin: every variant equals the CPU", async () => {
  const ran = new Set<string>();
  const cases: [number[], number][] = [
    [[1], 0],
    [[70001], 0],
    [[3, 131], 1],
    [[400, 130], 1],
    [[1031, 3], 0],
    [[2, 5, 3], 1],
    [[0, 2], 1],
  ];
  for (const [shape, axis] of cases) {
    // Few different values, so that many are equal.
    const next = random(9);
    const x = filled("float32", shape, () => Math.floor(next() * 5));
    for (const op of ["ArgMax", "ArgMin"]) {
      for (const v of await compareVariants(op, [x, number(axis)], { output_type: "int32" })) {
        ran.add(v);
      }
      await compareVariants(op, [noise("int32", shape), number(axis)], { output_type: "int32" });
    }
  }
  assertEquals([...ran].sort(), ["rows", "strided"]);
});
