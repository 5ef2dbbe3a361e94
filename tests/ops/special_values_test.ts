/**
 * Values at which kernels go wrong, in every family of ops and every variant: NaN, infinities, negative zero, the ends of int32.
 * The CPU kernels say what is right, where what they say is checked by the tests of each family.
 */

import { assert, assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import type { DType, NdArray } from "@weft/weft";
import { sameBits } from "../../src/testing/run_op.ts";
import { testOnDevices } from "../devices.ts";
import { compareVariants, filled, number, testOnGpu, vector } from "./force_variant.ts";

const FLOATS = [1, NaN, -2, Infinity, 0, -Infinity, -0, 3e38, -1, 0.5, 2];
const WHOLE = [1, 2147483647, -1, -2147483648, 0, 46341, -46341, 65536, 7, -65537, 3];

/** An array over the special values of a dtype; `every` says how many ordinary numbers are between them. */
function special(dtype: "float32" | "int32", shape: number[], every = 1, shift = 0): NdArray {
  const list = dtype === "float32" ? FLOATS : WHOLE;
  return filled(
    dtype,
    shape,
    (i) => i % every === 0 ? list[(i / every + shift) % list.length] : (i % 7) - 3,
  );
}

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
    const n = FLOATS.length;
    for (const dtype of ["float32", "int32"] as const) {
      // Every value meets every other; no divisor is 0 among whole numbers.
      const a = filled(dtype, [n, n], (i) => (dtype === "int32" ? WHOLE : FLOATS)[i % n]);
      const b = filled(dtype, [n, n], (i) => {
        const v = (dtype === "int32" ? WHOLE : FLOATS)[Math.floor(i / n)];
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

/** Ops that compute, with inputs that hold special values among others. */
const COMPUTE: readonly [op: string, inputs: NdArray[], attrs?: Record<string, unknown>][] = [
  // Products of floats that overflow on the way depend on the order.
  ["Prod", [special("int32", [33, 70], 97), vector(1)]],
  ["Prod", [special("int32", [33, 70], 97), vector(0)]],
  ...(["Sum", "Max", "Min"] as const).flatMap((op) =>
    ([[1], [0]] as const).flatMap((axes) =>
      (["float32", "int32"] as const).map((dtype) =>
        [op, [special(dtype, [33, 70], 97), vector(...axes)]] as [string, NdArray[]]
      )
    )
  ),
  ["Mean", [special("float32", [33, 70], 97), vector(1)]],
  ...(["ArgMax", "ArgMin"] as const).flatMap((op) =>
    (["float32", "int32"] as const).map((dtype) =>
      [op, [special(dtype, [33, 70], 9), number(1)], { output_type: "int32" }] as [
        string,
        NdArray[],
        Record<string, unknown>,
      ]
    )
  ),
  ["Cumsum", [special("int32", [5, 300], 3), number(1)]],
  ["Cumprod", [special("int32", [5, 300], 50), number(1)]],
  ["Cumsum", [special("float32", [9, 40], 120), number(1)]],
  ["Softmax", [special("float32", [33, 70], 97)]],
  ["LogSoftmax", [special("float32", [33, 70], 97)]],
  ["TopKV2", [special("float32", [3, 90], 5), number(90)]],
  ["TopKV2", [special("int32", [3, 90], 2), number(90)]],
  ["MatMul", [special("int32", [17, 33], 2), special("int32", [33, 20], 3, 4)]],
  ["MatMul", [special("float32", [17, 33], 80), special("float32", [33, 20], 1000, 4)]],
  ["BatchMatMulV2", [special("int32", [2, 3, 16], 2), special("int32", [2, 16, 1], 3, 4)]],
  [
    "Conv2D",
    [special("float32", [1, 9, 9, 3], 60), special("float32", [3, 3, 3, 5], 1000, 2)],
    { strides: [1, 1, 1, 1], padding: "VALID" },
  ],
  [
    "ScatterNd",
    [filled("int32", [40, 1], (i) => i % 4), special("int32", [40, 5]), vector(4, 5)],
  ],
  ["UnsortedSegmentSum", [
    special("int32", [40, 5]),
    filled("int32", [40], (i) => i % 3),
    number(3),
  ]],
];

testOnGpu("other kernels do so as well", async () => {
  for (const [op, inputs, attrs = {}] of COMPUTE) {
    await compareVariants(op, inputs, attrs, { ulps: 64, ulpsOfLargest: 0, absolute: 1e-5 });
  }
});

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
    if (!sameBits(got, asWords(same, got.dtype))) changed.push(name);
  }
  assertEquals(changed, [], "These change bits");
  tf.dispose([x, words]);
});

function asWords(a: NdArray, dtype: DType): NdArray {
  const { buffer, byteOffset, length } = a.data as Uint32Array<ArrayBuffer>;
  return new tf.NdArray(dtype, a.shape, new Float32Array(buffer, byteOffset, length));
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
