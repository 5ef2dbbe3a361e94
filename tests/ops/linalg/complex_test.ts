/** Inverses, determinants and systems of complex matrices, beside TensorFlow, whose gradient of det alone is another. */

import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals, assertThrows } from "@std/assert";
import { testOnDevices } from "../../devices.ts";

const RE = [[[1, 2], [3, 5]], [[0, 1], [2, -1]]], IM = [[[0, 1], [1, 0]], [[2, 0], [0, 1]]];
const given = (dtype: "complex64" | "complex128"): tf.Tensor => tf.cast(tf.complex(RE, IM), dtype);
const right = (x: tf.Tensor): tf.Tensor =>
  tf.cast(tf.complex([[[1], [3]], [[0], [2]]], [[[1], [0]], [[0], [1]]]), x.dtype);

/** Real and imaginary parts of values and of the gradient of twice the sum of the real ones and that of the others. */
type Told = readonly [value: [number[], number[]], gradient: [number[], number[]]];
const CASES: Readonly<Record<string, readonly [(x: tf.Tensor) => tf.Tensor, Told]>> = {
  "inv()": [(x) => tf.linalg.inv(x), [[[0.0, 0.2, 0.2, 0.0, 0.1, 0.2, 0.4, -0.2], [
    1.0,
    -0.4,
    -0.6,
    0.2,
    -0.3,
    -0.1,
    -0.2,
    -0.4,
  ]], [[0.2, -0.4, -0.4, 0.2, 0.45, 0.8, 0.55, 0.7], [
    0.6,
    -0.2,
    0.0,
    -0.2,
    -0.65,
    -0.6,
    -0.1,
    0.1,
  ]]]],
  "inv() of adjoints": [(x) => tf.linalg.inv(x, true), [[
    [0.0, 0.2, 0.2, 0.0, 0.1, 0.4, 0.2, -0.2],
    [-1.0, 0.6, 0.4, -0.2, 0.3, 0.2, 0.1, 0.4],
  ], [[0.6, -0.4, -0.24, -0.04, -0.25, 0.0, 0.25, 0.5], [
    0.2,
    0.2,
    0.32,
    -0.28,
    -0.75,
    -1.0,
    -0.5,
    -0.5,
  ]]]],
  "det()": [(x) => tf.linalg.det(x), [[[0.0, -4.0], [-5.0, -2.0]], [[
    10.0,
    -7.0,
    -5.0,
    2.0,
    -1.0,
    -4.0,
    -2.0,
    2.0,
  ], [5.0, -1.0, 0.0, 1.0, -3.0, -2.0, -1.0, -4.0]]]],
  "solve()": [(x) => tf.linalg.solve(x, right(x)), [
    [[-0.4, 0.8, 0.5, 0.0], [-0.2, 0.2, 0.0, -1.0]],
    [[0.2, -0.52, 0.2, -0.28, -0.25, 1.5, 0.25, 1.0], [
      -0.4,
      0.64,
      0.2,
      -0.44,
      -0.75,
      -0.5,
      -0.5,
      0.5,
    ]],
  ]],
  "solve() of adjoints": [(x) => tf.linalg.solve(x, right(x), true), [[[1.6, -0.2, 0.6, -0.8], [
    0.8,
    0.0,
    0.8,
    0.6,
  ]], [[-0.8, -0.8, -0.04, 0.16, -0.2, 0.2, 1.1, 1.4], [
    2.4,
    -1.6,
    -0.28,
    0.12,
    -1.1,
    -1.4,
    -0.2,
    0.2,
  ]]]],
  "slogdet()": [(x) => tf.linalg.slogdet(x)[1], [[[1.6094, 1.4979], [0, 0]], [[
    0.0,
    0.4,
    0.4,
    0.0,
    0.2,
    0.8,
    0.4,
    -0.4,
  ], [-2.0, 1.2, 0.8, -0.4, 0.6, 0.4, 0.2, 0.8]]]],
};

for (const dtype of ["complex64", "complex128"] as const) {
  for (const [name, [f, [value, slope]]] of Object.entries(CASES)) {
    testOnDevices(
      `linalg.${name} of ${dtype} is TensorFlow's, eager and compiled, with gradients`,
      async () => {
        const near = async (
          y: tf.Tensor,
          [re, im]: readonly [number[], number[]],
        ): Promise<void> => {
          for (const [part, wanted] of [[tf.real(y), re], [tf.imag(y), im]] as const) {
            const got = [...await part.data()] as number[];
            assertEquals(got.length, wanted.length, name);
            got.forEach((n, i) => assertAlmostEquals(n, wanted[i]!, 1e-4, `${name} ${i}`));
          }
        };
        const loss = (x: tf.Tensor): tf.Tensor => {
          const y = f(x);
          return tf.add(tf.mul(tf.sum(tf.real(y)), 2), tf.sum(tf.imag(y)));
        };
        const both = (x: tf.Tensor): tf.Tensor[] => {
          using tape = new tf.GradientTape();
          tape.watch(x);
          return [f(x), tape.gradient(loss(x), x) as tf.Tensor];
        };
        const x = given(dtype);
        for (const run of [both, tf.function(both)]) {
          const [y, dx] = run(x) as tf.Tensor[];
          assertEquals(y!.dtype, dtype);
          await near(y!, value);
          await near(dx!, slope);
        }
        const rows = tf.vmap(f)(tf.stack([x, x])) as tf.Tensor;
        for (const row of tf.unstack(rows)) await near(row, value);
      },
    );
  }
}

testOnDevices("singular complex matrices are refused, and have determinants of 0", async () => {
  const x = tf.complex([[1, 2], [2, 4]], [[1, 2], [2, 4]]);
  for (const f of [tf.linalg.inv, (x: tf.Tensor) => tf.linalg.solve(x, x)]) {
    assertThrows(() => f(x).dataSync(), tf.errors.InvalidArgumentError, "not invertible");
  }
  assertEquals(await tf.abs(tf.linalg.det(x)).array(), 0);
  const [sign, log] = tf.linalg.slogdet(x);
  assertEquals([await tf.real(sign).array(), await tf.real(log).array()], [0, -Infinity]);
});
