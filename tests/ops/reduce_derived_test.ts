import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";

testOnDevices("logSumExp() neither overflows nor loses infinities", () => {
  assertAlmostEquals(tf.logSumExp([100, 101]).item(), 101 + Math.log1p(Math.exp(-1)), 1e-5);
  assertEquals(tf.logSumExp([-Infinity, -Infinity]).item(), -Infinity);
  assertEquals(tf.logSumExp([Infinity, 0]).item(), Infinity);
  assertEquals(tf.logSumExp([NaN, 0]).item(), NaN);
  assertEquals(tf.logSumExp([[0, 0], [0, 0]], 1, true).shape, [2, 1]);
});

testOnDevices("logSumExp() has softmax as its gradient", () => {
  const x = tf.tensor([1, 2, 3]);
  const tape = new tf.GradientTape();
  tape.watch(x);
  const dx = (tape.gradient(tf.logSumExp(x), x) as tf.Tensor).arraySync() as number[];
  const total = Math.exp(1) + Math.exp(2) + Math.exp(3);
  dx.forEach((d, i) => assertAlmostEquals(d, Math.exp(i + 1) / total, 1e-6));
});

testOnDevices("moments() has the right second gradient of the variance", () => {
  const x = tf.tensor([1, 2, 4]);
  const outer = new tf.GradientTape();
  outer.watch(x);
  const inner = new tf.GradientTape();
  inner.watch(x);
  const first = inner.gradient(tf.moments(x).variance, x) as tf.Tensor;
  const second = outer.gradient(tf.mul(first, [1, 0, 0]), x) as tf.Tensor;
  const wanted = [2 / 3 - 2 / 9, -2 / 9, -2 / 9];
  (second.arraySync() as number[]).forEach((s, i) => assertAlmostEquals(s, wanted[i], 1e-6));
});

testOnDevices("norm() of matrices over any pair of axes", () => {
  const x = tf.tensor([[[1, -2], [3, -4]], [[5, 6], [-7, 8]]]);
  assertEquals(tf.norm(x, 1, [1, 2]).arraySync(), [6, 14]);
  assertEquals(tf.norm(x, Infinity, [1, 2]).arraySync(), [7, 15]);
  assertEquals(tf.norm(x, -Infinity, [-2, -1]).arraySync(), [3, 11]);
  assertEquals(tf.norm(x, 1, [2, 0]).arraySync(), [11, 15]);
  assertEquals(tf.norm(x, "fro", [1, 2], true).shape, [2, 1, 1]);
});
