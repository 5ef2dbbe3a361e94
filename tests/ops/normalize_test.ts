import * as tf from "@weft/weft";
import { gradCheck } from "@weft/weft/testing";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { apply } from "../../src/engine/core/apply.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import { testOnDevices } from "../devices.ts";
import { ofTheDay } from "../effort.ts";
import { compareVariants, testOnGpu } from "./force_variant.ts";
import { filled, noise, random } from "./values.ts";

/** Standardizes a row, then scales and offsets it. */
function layerNormOf(row: number[], scale: number[], offset: number[], epsilon: number): number[] {
  const m = row.reduce((a, b) => a + b) / row.length;
  const v = row.reduce((a, b) => a + (b - m) ** 2, 0) / row.length;
  return row.map((x, i) => (x - m) / Math.sqrt(v + epsilon) * scale[i] + offset[i]);
}

function assertNear(actual: unknown, wanted: readonly number[], tolerance = 2e-5): void {
  const got = (actual as number[][]).flat(4) as unknown as number[];
  assertEquals(got.length, wanted.length);
  wanted.forEach((w, i) => assertAlmostEquals(got[i], w, tolerance, `element ${i}`));
}

testOnDevices("layerNorm() standardizes the last axis, or as many as scale has", () => {
  const rows = [[1, 2, 4, -3], [100, 101, 102, 103]];
  const scale = [1, 2, 3, 4], offset = [0, 1, 0, -1];
  const wanted = rows.flatMap((r) => layerNormOf(r, scale, offset, 1e-5));
  assertNear(tf.layerNorm(rows, scale, offset).arraySync(), wanted, 1e-4);
  const ones = [1, 1, 1, 1], zeros = [0, 0, 0, 0];
  assertNear(
    tf.layerNorm(rows).arraySync(),
    rows.flatMap((r) => layerNormOf(r, ones, zeros, 1e-5)),
    1e-4,
  );
  const square = tf.layerNorm(tf.reshape(tf.tensor(rows), [2, 2, 2]), [[1, 2], [3, 4]], [[0, 1], [
    0,
    -1,
  ]]);
  assertEquals(square.shape, [2, 2, 2]);
  assertNear(square.arraySync(), wanted, 1e-4);
  assertThrows(
    () => tf.layerNorm(rows, [1, 2]),
    tf.ValueError,
    "Dimension 0 in both shapes must be equal, but are 2 and 4. Shapes are",
  );
});

Deno.test("layerNorm() has right first and second gradients", () => {
  const x = [[1, 2, 4, -3], [0.3, -0.5, 0.2, 2]], scale = [1, 2, 3, 4], offset = [0, 1, 0, -1];
  const norm = (a: tf.Tensor, b: tf.Tensor, c: tf.Tensor) => tf.layerNorm(a, b, c, 1e-3);
  gradCheck(norm, [x, scale, offset]);
  gradCheck((a, b, c) => {
    const tape = new tf.GradientTape();
    tape.watch([a, b]);
    return tape.gradient(tf.square(norm(a, b, c)), [a, b]) as tf.Tensor[];
  }, [x, scale, offset]);
});

testOnDevices("batchNorm() broadcasts its statistics, and takes no other ranks", () => {
  const x = tf.tensor([[2, 4], [9, 23]]);
  const y = tf.batchNorm(x, [1, 2], [4, 9], [3, 4], [4, 5], 0.5);
  const wanted = [[2, 4], [9, 23]].flatMap(([a, b]) => [
    (a - 1) / Math.sqrt(4.5) * 4 + 3,
    (b - 2) / Math.sqrt(9.5) * 5 + 4,
  ]);
  assertNear(y.arraySync(), wanted);
  assertNear(tf.batchNorm2d(x, [[1, 2]], [[4, 9]], [[3, 4]], [[4, 5]], 0.5).arraySync(), wanted);
  const plain = tf.batchNorm(x, [1, 2], [4, 9], null, undefined, 0).arraySync();
  assertNear(plain, [0.5, 2 / 3, 4, 7]);
  assertThrows(() => tf.batchNorm3d(x, [1, 2], [4, 9]), tf.ValueError, "x has rank 2, wanted 3");
  // Every other statistic has the mean's rank, and of the fixed ranks only that of x or 1.
  const flat = [1, 2], square = [[1, 2]];
  type Statistics = [unknown, unknown, unknown?, unknown?];
  const refused: [Statistics, string][] = [
    [[flat, square], "variance has rank 2, wanted 1"],
    [[square, flat], "variance has rank 1, wanted 2"],
    [[flat, flat, square], "offset has rank 2, wanted 1"],
    [[flat, flat, flat, square], "scale has rank 2, wanted 1"],
    [[square, square, square, flat], "scale has rank 1, wanted 2"],
  ];
  for (const [statistics, message] of refused) {
    for (const f of [tf.batchNorm, tf.batchNorm2d]) {
      assertThrows(() => f(x, ...statistics as [number[], number[]]), tf.ValueError, message);
    }
  }
  for (const t of [1, [[[1, 2]]]]) {
    assertThrows(() => tf.batchNorm2d(x, t, t), tf.ValueError, "wanted 1 or 2");
  }
  assertThrows(
    () => tf.batchNorm(x, [1, 2, 3], [4, 9, 1]),
    tf.ValueError,
    "Incompatible shapes: [2,2] vs. [3]",
  );
});

Deno.test("batchNorm() has right gradients", () => {
  const x = [[[2, 4], [9, 23]], [[1, 3], [-2, 0]]];
  const norm = (...t: tf.Tensor[]) => tf.batchNorm(t[0], t[1], t[2], t[3], t[4], 0.1);
  gradCheck(norm, [x, [1, 2], [4, 9], [3, 4], [4, 5]]);
});

testOnDevices("FusedBatchNormV3 normalizes by the batch, or by what is given", () => {
  const values = Array.from({ length: 12 }, (_, i) => (i * 7) % 11);
  const x = tf.tensor(values, [2, 1, 3, 2]);
  const give = [tf.tensor([1, 2]), tf.tensor([0, 1]), tf.tensor([3, 4]), tf.tensor([4, 9])];
  const [y, mean, variance] = apply(lookupOp("FusedBatchNormV3")!, [x, ...give], { epsilon: 0 });
  const channel = (c: number) => values.filter((_, i) => i % 2 === c);
  const stats = [0, 1].map((c) => {
    const v = channel(c), m = v.reduce((a, b) => a + b) / 6;
    return { m, v: v.reduce((a, b) => a + (b - m) ** 2, 0) / 6 };
  });
  assertNear(mean.arraySync(), stats.map((s) => s.m));
  assertNear(variance.arraySync(), stats.map((s) => s.v * 6 / 5), 1e-4);
  assertNear(
    y.arraySync(),
    values.map((v, i) =>
      (v - stats[i % 2].m) / Math.sqrt(stats[i % 2].v) * [1, 2][i % 2] + (i % 2)
    ),
  );
  const attrs = { epsilon: 0, is_training: false, data_format: "NCHW" };
  const turned = tf.transpose(x, [0, 3, 1, 2]);
  const [z, same] = apply(lookupOp("FusedBatchNormV3")!, [turned, ...give], attrs);
  assertEquals(same.arraySync(), [3, 4]);
  assertNear(
    tf.transpose(z, [0, 2, 3, 1]).arraySync(),
    values.map((v, i) => (v - [3, 4][i % 2]) / [2, 3][i % 2] * [1, 2][i % 2] + (i % 2)),
  );
});

Deno.test("FusedBatchNormV3 has the right gradient in training", () => {
  const next = random(3);
  const x = filled("float64", [2, 2, 1, 2], () => next());
  const run = (a: tf.Tensor, b: tf.Tensor, c: tf.Tensor) => {
    const stats = [tf.tensor([0, 0], [2], "float64"), tf.tensor([1, 1], [2], "float64")];
    return apply(lookupOp("FusedBatchNormV3")!, [a, b, c, ...stats], { U: "float64" })[0];
  };
  gradCheck(run, [x, [1, 2], [0.5, 0]]);
});

testOnDevices("localResponseNormalization() divides by the squares around", () => {
  const row = [1, 20, 300, 4];
  const y = tf.localResponseNormalization([[row]], 1, 1, 2, 0.5).arraySync();
  const wanted = row.map((v, i) => {
    const around = row.filter((_, k) => Math.abs(k - i) <= 1).reduce((s, r) => s + r * r, 0);
    return v / Math.sqrt(1 + 2 * around);
  });
  assertNear(y, wanted);
  assertThrows(() => tf.localResponseNormalization([row]), tf.ValueError, "rank 3 or 4");
  assertThrows(() => tf.localResponseNormalization([[row]], 1.5), tf.ValueError, "depthRadius");
});

Deno.test("localResponseNormalization() has right first and second gradients", () => {
  const lrn = (x: tf.Tensor) => tf.localResponseNormalization(x, 1, 1, 0.5, 0.75);
  const x = [[[1, 2, 0.5, -1]], [[0.3, -2, 1, 0]]];
  gradCheck(lrn, [x]);
  gradCheck((t) => {
    const tape = new tf.GradientTape();
    tape.watch(t);
    return tape.gradient(lrn(t), t) as tf.Tensor;
  }, [x]);
});

testOnDevices("movingAverage() refuses other shapes and dtypes", () => {
  assertEquals(tf.movingAverage([0, 4], [2, 2], 0.5, 1, false).arraySync(), [1, 3]);
  assertThrows(
    () => tf.movingAverage([0, 4], [2], 0.5, 1),
    tf.ValueError,
    "Dimension 0 in both shapes must be equal, but are 2 and 1. Shapes are",
  );
  assertThrows(
    () => tf.movingAverage([0], tf.tensor([2], [1], "int32"), 0.5, 1),
    TypeError,
    "Cannot average: v is float32, x is int32, wanted one dtype",
  );
  assertThrows(() => tf.movingAverage([0], [2], 0.5), tf.ValueError, "step");
});

testOnGpu("layer normalization and windows: every variant equals the CPU", async () => {
  const ran = new Set<string>();
  const some = [[1], [3, 5], [5, 64], [3, 257], [300, 68], [2, 1500], [1, 5000]];
  const more = [[3, 3281], [3, 3284], [3, 3288], [2, 3, 8], [0, 4], [2, 0]];
  for (const shape of ofTheDay([...some, ...more], 3)) {
    const columns = shape[shape.length - 1];
    const x = noise("float32", shape, 1), dy = noise("float32", shape, 2);
    const scale = noise("float32", [columns], 3), offset = noise("float32", [columns], 4);
    const near = { absolute: 5e-5 * Math.max(1, shape[0] / 16), ulpsOfLargest: 64 };
    const attrs = { epsilon: 1e-3 };
    for (const v of await compareVariants("_LayerNorm", [x, scale, offset], attrs, near)) {
      ran.add(v);
    }
    await compareVariants("_LayerNormGrad", [dy, x, scale], attrs, near);
    await compareVariants("_WindowSum", [x], { radius: 3 }, near);
  }
  const image = noise("float32", [2, 3, 3, 7]);
  await compareVariants("LRN", [image], { depth_radius: 2, beta: 0.75 }, { ulps: 64 });
  assertEquals([...ran].sort(), ["thread", "workgroup"]);
});
