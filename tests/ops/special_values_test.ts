/**
 * Values at which kernels go wrong: NaN, infinities, negative zero, the ends of int32, and none at all. The CPU kernels say
 * what is right.
 */

import { assert, assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import type { NdArray } from "@weft/weft";
import { testOnDevices } from "../devices.ts";
import { compareVariants, testOnGpu } from "./force_variant.ts";
import { filled, SPECIAL_FLOATS, SPECIAL_INTS } from "./values.ts";

const FLOAT_PAIRS: readonly string[] = [
  ...["AddV2", "Sub", "Mul", "RealDiv", "Maximum", "Minimum", "FloorDiv", "SquaredDifference"],
  ...["Equal", "NotEqual", "Less", "LessEqual", "Greater", "GreaterEqual"],
];
const FLOAT_ONES: readonly string[] = [
  ...["Neg", "Abs", "Sign", "Relu", "Relu6", "Floor", "Ceil", "IsNan", "IsInf", "IsFinite"],
];
const WHOLE_PAIRS: readonly string[] = [
  ...["AddV2", "Sub", "Mul", "FloorDiv", "FloorMod", "TruncateDiv", "TruncateMod", "Maximum"],
  ...["Minimum", "Less", "GreaterEqual", "BitwiseAnd", "BitwiseXor", "SquaredDifference"],
];
const WHOLE_ONES: readonly string[] = ["Neg", "Abs", "Sign", "Square", "Invert"];

/** Values that a GPU makes of these are the CPU's, NaN for NaN. */
const SAME = { ulps: 4, ulpsOfLargest: 0 };

testOnGpu(
  "pointwise kernels treat NaN, infinities and the ends of int32 as the CPU does",
  async () => {
    const n = SPECIAL_FLOATS.length;
    for (const dtype of ["float32", "int32"] as const) {
      // Every value meets every other; no divisor is 0 among whole numbers.
      const a = filled(
        dtype,
        [n, n],
        (i) => (dtype === "int32" ? SPECIAL_INTS : SPECIAL_FLOATS)[i % n],
      );
      const b = filled(dtype, [n, n], (i) => {
        const v = (dtype === "int32" ? SPECIAL_INTS : SPECIAL_FLOATS)[Math.floor(i / n)];
        return dtype === "int32" && v === 0 ? 5 : v;
      });
      for (const op of dtype === "int32" ? WHOLE_PAIRS : FLOAT_PAIRS) {
        await compareVariants(op, [a, b], {}, SAME);
      }
      for (const op of dtype === "int32" ? WHOLE_ONES : FLOAT_ONES) {
        await compareVariants(op, [a], {}, SAME);
      }
    }
  },
);

/** NaN with and without payload, infinities, zeros and a number too small to be normal. */
const BITS = [0x7fc00000, 0xffc12345, 0x7f812345, 0x7f800000, 0xff800000, 0x80000000, 0, 1];

testOnDevices("what only moves elements keeps every bit of them", () => {
  const bits = (n: number) => Uint32Array.from({ length: n }, (_, i) => BITS[i % 8]);
  const x = tf.tensor(new Float32Array(bits(96).buffer), [8, 12], "float32");
  const words = tf.tensor(bits(96), [8, 12], "uint32");
  const index = (values: number[]) => tf.tensor(values, [values.length], "int32");
  const moves: Readonly<Record<string, (t: tf.Tensor) => tf.Tensor>> = {
    transpose: (t) => tf.transpose(t),
    reshape: (t) => tf.reshape(t, [12, 8]),
    slice: (t) => tf.slice(t, [1, 3], [5, 7]),
    stridedSlice: (t) => tf.stridedSlice(t, [0, 1], [8, 12], [2, 3]),
    reverse: (t) => tf.reverse(t, [0, 1]),
    concat: (t) => tf.concat([t, t], 1),
    stack: (t) => tf.stack([t, t], 1),
    split: (t) => tf.split(t, 3, 1)[1],
    gather: (t) => tf.gather(t, index([7, 0, 0, 5])),
    "gather of columns": (t) => tf.gather(t, index([7, 0, 0, 11]), 1),
    pad: (t) => tf.pad(t, [[1, 2], [0, 3]]),
    tile: (t) => tf.tile(t, [2, 2]),
    roll: (t) => tf.roll(t, 5, 1),
    broadcastTo: (t) => tf.broadcastTo(tf.slice(t, [0, 0], [1, 12]), [5, 12]),
  };
  const changed: string[] = [];
  for (const [name, move] of Object.entries(moves)) {
    using y = tf.tidy(() => move(x)), wanted = tf.tidy(() => move(words));
    const got = y.ndarraySync(), same = wanted.ndarraySync();
    assertEquals(got.shape, same.shape, name);
    if (wordsOf(got).join() !== wordsOf(same).join()) changed.push(name);
  }
  assertEquals(changed, [], "These change bits");
  tf.dispose([x, words]);
});

function wordsOf(a: NdArray): Uint32Array {
  const { buffer, byteOffset, length } = a.data as Uint32Array;
  return new Uint32Array(buffer, byteOffset, length);
}

testOnDevices("nothing has no elements in every family of ops", () => {
  const none = (...shape: number[]) => tf.zeros(shape);
  const shapes: [string, () => tf.Tensor, number[]][] = [
    ["pointwise", () => tf.add(none(0, 3), none(1, 3)), [0, 3]],
    ["a broadcast of nothing", () => tf.mul(none(2, 0), none(1)), [2, 0]],
    ["reduce", () => tf.sum(none(0, 3), 1), [0]],
    ["reduce of nothing", () => tf.sum(none(0, 3), 0), [3]],
    ["matMul", () => tf.matMul(none(0, 3), none(3, 2)), [0, 2]],
    ["matMul without terms", () => tf.matMul(none(4, 0), none(0, 2)), [4, 2]],
    ["conv2d", () => tf.conv2d(none(0, 5, 5, 2) as never, none(3, 3, 2, 4) as never, 1, "same"), [
      0,
      5,
      5,
      4,
    ]],
    ["maxPool", () => tf.maxPool(none(0, 4, 4, 2) as never, 2, 2, "valid"), [0, 2, 2, 2]],
    ["gather", () => tf.gather(none(3, 4), tf.zeros([0], "int32")), [0, 4]],
    ["scatterND", () => tf.scatterND(tf.zeros([0, 1], "int32"), none(0, 4), [3, 4]), [3, 4]],
    ["concat", () => tf.concat([none(0, 3), none(2, 3)], 0), [2, 3]],
    ["transpose", () => tf.transpose(none(0, 3)), [3, 0]],
    ["softmax", () => tf.softmax(none(0, 3)), [0, 3]],
    ["softmax of empty rows", () => tf.softmax(none(3, 0)), [3, 0]],
    ["cumsum", () => tf.cumsum(none(3, 0), 1), [3, 0]],
    ["topk", () => tf.topk(none(0, 5), 2).values, [0, 2]],
  ];
  for (const [name, make, shape] of shapes) {
    using y = tf.tidy(make);
    assertEquals(y.shape, shape, name);
    assert((y.dataSync() as Float32Array).every((v) => v === 0), name);
  }
});
