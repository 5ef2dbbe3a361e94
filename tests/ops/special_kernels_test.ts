/**
 * NaN, infinities and the ends of int32 in every variant of the kernels that compute more than a point at a time. The CPU
 * kernels say what is right.
 */

import type { NdArray } from "@weft/weft";
import { compareVariants, testOnGpu } from "./force_variant.ts";
import { filled, number, special, vector } from "./values.ts";

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

for (const [op, cases] of Map.groupBy(COMPUTE, ([op]) => op)) {
  testOnGpu(`${op} treats NaN, infinities and the ends of int32 as the CPU does`, async () => {
    for (const [, inputs, attrs = {}] of cases) {
      await compareVariants(op, inputs, attrs, { ulps: 64, ulpsOfLargest: 0, absolute: 1e-5 });
    }
  });
}
