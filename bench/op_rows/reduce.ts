// Ops that fold axes, walk along them, or search in them.

import type { Tensor } from "@tensorflow/tfjs-core";
import type { Tf } from "../peers/tfjs.ts";
import type { Row } from "../row.ts";
import { opCase, unaryCase } from "./op_case.ts";
import { integers, normals } from "../random.ts";

const SQUARE = [1000, 1000] as const, CUBE = [100, 100, 100] as const;

type Reduce = (x: Tensor, axis?: number) => Tensor;
const reduce = (tf: Tf, name: string): Reduce => (tf as unknown as Record<string, Reduce>)[name]!;

/** Every axis, the rows, the columns. */
const AXES: readonly (readonly [string, number | undefined])[] = [
  ["all", undefined],
  ["rows", 1],
  ["columns", 0],
];

function reductions(name: string, dtype: "float32" | "int32" | "bool" = "float32"): Row[] {
  const arg = name.startsWith("arg");
  return AXES.filter(([, axis]) => !arg || axis !== undefined).map(([which, axis]) =>
    unaryCase(
      `${name}_${which}${dtype === "int32" ? "_int32" : ""}`,
      SQUARE,
      (tf, x) => reduce(tf, name)(x, axis),
      dtype,
    )
  );
}

/** Rows of this file. */
export const REDUCE_ROWS: readonly Row[] = [
  ...["sum", "mean", "max", "min", "logSumExp", "argMax", "argMin"].flatMap((name) =>
    reductions(name)
  ),
  ...reductions("sum", "int32"),
  ...["any", "all"].flatMap((name) => reductions(name, "bool")),
  ...["sum", "max"].map((name) =>
    unaryCase(`${name}_middle`, CUBE, (tf, x) => reduce(tf, name)(x, 1))
  ),
  ...["sum", "argMax", "softmax"].map((name) =>
    unaryCase(`${name}_rows_of_10`, [10_000, 10], (tf, x) => reduce(tf, name)(x, 1))
  ),
  unaryCase("softmax", SQUARE, (tf, x) => tf.softmax(x)),
  unaryCase("logSoftmax", SQUARE, (tf, x) => tf.logSoftmax(x)),
  unaryCase("moments", SQUARE, (tf, x) => tf.tidy(() => tf.moments(x, 1).variance)),
  unaryCase("euclideanNorm", [1000, 100], (tf, x) => tf.tidy(() => tf.norm(x))),
  unaryCase("cumsum_rows", SQUARE, (tf, x) => tf.cumsum(x, 1)),
  unaryCase("cumsum_columns", SQUARE, (tf, x) => tf.cumsum(x, 0)),
  unaryCase("topk_5", SQUARE, (tf, x) => tf.tidy(() => tf.topk(x, 5).values)),
  unaryCase("topk_100", [100, 10_000], (tf, x) => tf.tidy(() => tf.topk(x, 100).values)),
  opCase("batchNorm", (tf) => {
    const x = tf.tensor(normals(16 * 28 * 28 * 32, 1), [16, 28, 28, 32]);
    const [mean, offset, scale] = [2, 3, 4].map((seed) => tf.tensor1d(normals(32, seed)));
    const variance = tf.tensor1d(normals(32, 5).map((v) => v * v + 1));
    return () => tf.batchNorm(x, mean as never, variance, offset as never, scale as never);
  }),
  opCase("unsortedSegmentSum", (tf) => {
    const x = tf.tensor(normals(1e6, 1), [1000, 1000]), ids = tf.tensor1d(integers(1000, 2, 50));
    const segments = tf.cast(ids, "int32") as typeof ids;
    return () => tf.unsortedSegmentSum(x, segments, 50);
  }),
  opCase("bincount", (tf) => {
    const x = tf.tensor1d(integers(100_000, 1, 50), "int32"), weights = tf.tensor1d([]);
    return () => tf.bincount(x, weights, 50);
  }),
];
