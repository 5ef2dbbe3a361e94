/** A reduction and a row op as CONTRIBUTING.md says they are added: one definition each, and kernels on both devices from it. */

import { assertEquals, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import { opCheck, type OpSample } from "@weft/weft/testing";
import { apply1 } from "../../src/engine/core/apply.ts";
import type { MeaningOf } from "../../src/engine/core/meaning.ts";
import type { OpDef } from "../../src/engine/core/op.ts";
import { castTo, scalar } from "../../src/engine/core/scalar/expr.ts";
import { defineReduction } from "../../src/engine/ops/reduce/define_reduction.ts";
import { defineRows } from "../../src/engine/ops/rows/define_rows.ts";
import { difference } from "../../src/library/testing/compare.ts";
import { ENGINES } from "../devices/cpu/engines.ts";
import { op, runFast, runLoops } from "../devices/cpu/kernel_runs.ts";
import { testOnDevices } from "../devices.ts";
import { any, distinct, positive, sample, vector } from "../op_samples/inputs.ts";
import { compareVariants, testOnGpu } from "../ops/force_variant.ts";

/** The root of the mean of squares. */
const RootMeanSquare = defineReduction("TestRootMeanSquare", {
  op: "mean",
  term: (x) => scalar.mul(x, x),
  finish: (mean) => scalar.sqrt(mean),
  types: "floating",
  expand: ([x, axes], { keep_dims }) => [
    tf.sqrt(tf.mean(tf.square(x), axes as tf.Tensor, keep_dims)),
  ],
});

/** Counts the elements above 0.5: terms need not have the type of elements. */
const Count = defineReduction("TestCount", {
  op: "sum",
  term: (x) => castTo(scalar.gt(x, 0.5), "float32"),
  finish: (count) => scalar.mul(count, 100),
  types: "{float}",
  grad: null,
  expand: ([x, axes], { keep_dims }) => {
    const ones = tf.cast(tf.greater(x as tf.Tensor, 0.5), "float32");
    return [tf.mul(tf.sum(ones, axes as tf.Tensor, keep_dims), 100)];
  },
});

/** Rows over the root of the mean of their squares. */
const RmsNorm = defineRows(
  "TestRmsNorm",
  ([x, scale], row, { epsilon }) => {
    const mean = row.mean(scalar.mul(x, x));
    return scalar.mul(scalar.mul(x, scalar.rsqrt(scalar.add(mean, epsilon))), scale);
  },
  {
    columns: ["scale"],
    attrs: ["epsilon: float"],
    expand: ([x, scale], { epsilon }) => [
      tf.mul(tf.mul(x, tf.rsqrt(tf.add(tf.mean(tf.square(x), -1, true), epsilon))), scale),
    ],
  },
);

/** Every fold, beside others and after them. */
const Folds = defineRows(
  "TestFolds",
  ([x, y], row) => {
    const power = scalar.exp(scalar.sub(x, row.max(x)));
    const least = row.min(scalar.add(x, y)), mean = row.mean(y);
    return scalar.add(scalar.div(scalar.sub(power, least), row.sum(power)), scalar.mul(mean, 2));
  },
  {
    inputs: ["x", "y"],
    output: "z",
    expand: ([x, y]) => {
      const power = tf.exp(tf.sub(x, tf.stopGradient(tf.max(x, -1, true))));
      const shifted = tf.sub(power, tf.min(tf.add(x, y), -1, true));
      const share = tf.div(shifted, tf.sum(power, -1, true));
      return [tf.add(share, tf.mul(tf.mean(y, -1, true), 2))];
    },
    grad: null,
  },
);

const SHAPES: readonly [shape: readonly number[], axes: readonly number[]][] = [
  [[2, 3], [1]],
  [[2, 3, 4], [0, 2]],
  [[5], [0]],
  [[2, 3], []],
  [[3, 1031], [1]],
  [[1031, 3], [0]],
  [[3, 5, 7, 2], [1, 3]],
];
const reductions = SHAPES.map(([shape, axes], i) =>
  sample([positive(...shape), vector(...axes)], { keep_dims: i % 2 === 1 })
);
const rows = SHAPES.map(([shape]) => shape);
const OPS: readonly [OpDef, readonly OpSample[]][] = [
  [RootMeanSquare, reductions],
  [Count, reductions],
  [RmsNorm, rows.map((s) => sample([any(...s), positive(s.at(-1)!)], { epsilon: 0.1 }))],
  [Folds, rows.map((s) => sample([distinct(...s), distinct(...s)]))],
];

testOnDevices("opCheck() holds of ops that are one definition each", async (device) => {
  const devices = [device === "cpu" ? "CPU" : "GPU"] as const;
  for (const [def, samples] of OPS) await opCheck(def, samples, { devices });
});

/** Numbers that look random, the same in each run. */
const numbers = (shape: number[]): tf.NdArray => {
  const x = tf.NdArray.zeros("float32", shape);
  (x.data as Float32Array).forEach((_, i, data) => data[i] = ((i * 37) % 101) / 40 - 1);
  return x;
};
const AXIS = new tf.NdArray("int32", [1], Int32Array.of(1));
/** Rows that end in part of a vector, and inputs of each op. */
const CASES: readonly [string, tf.NdArray[], Record<string, unknown>][] = [
  ["TestRootMeanSquare", [numbers([6, 131]), AXIS], { keep_dims: true }],
  ["TestCount", [numbers([6, 131]), AXIS], {}],
  ["TestRmsNorm", [numbers([6, 131]), numbers([131])], { epsilon: 0.1 }],
  ["TestFolds", [numbers([6, 131]), numbers([6, 131])], {}],
  ["TestRmsNorm", [numbers([0, 3]), numbers([3])], { epsilon: 0.1 }],
  ["TestFolds", [numbers([3, 0]), numbers([3, 0])], {}],
];

Deno.test("ops of one definition have vector code that agrees with loops or with their parts", () => {
  for (const [, engine] of ENGINES) {
    for (const [name, inputs, attrs] of CASES) {
      const [got] = runFast(engine, op(name), inputs, attrs)!;
      const [wanted] = runLoops(op(name), inputs, attrs);
      const wrong = difference(got, wanted, "float32", { ulps: 16, ulpsOfLargest: 16 });
      assertEquals(wrong, null, `${name} of [${inputs[0].shape}]`);
    }
  }
});

testOnGpu("ops of one definition have every kind of GPU kernel", async () => {
  for (const [name, inputs, attrs] of CASES.slice(0, 4)) {
    const kinds = await compareVariants(name, inputs, attrs, { ulps: 64 });
    const wanted = inputs[1] === AXIS ? ["rows", "strided"] : ["thread", "workgroup"];
    assertEquals([...kinds].sort(), wanted, name);
  }
});

testOnDevices("a row op finds what is of rows once, and says which shapes it takes", () => {
  const { steps } = RmsNorm.meaning as MeaningOf<"row steps">;
  // The mean, and the root that follows from it.
  assertEquals(steps({ epsilon: 0.1 }).found.map(({ fold }) => fold), ["mean", null]);
  const run = (x: tf.Tensor, scale: tf.Tensor) => apply1(RmsNorm, [x, scale], { epsilon: 0.1 });
  assertThrows(() => run(tf.scalar(1), tf.ones([1])), tf.ValueError, "rank 0 for 'TestRmsNorm'");
  assertThrows(() => run(tf.ones([2, 3]), tf.ones([2])), tf.ValueError);
  assertThrows(() => run(tf.ones([2, 3]), tf.ones([2, 3])), tf.ValueError);
});
