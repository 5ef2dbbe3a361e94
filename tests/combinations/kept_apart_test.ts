/** Programs of parts that differ in one thing, which passes over graphs must keep apart: compiled code gives what eager code gives. */

import * as tf from "@weft/weft";
import { assertEquals, assertNotEquals } from "@std/assert";
import { difference } from "../../src/library/testing/compare.ts";
import { attentionOptions } from "../../src/engine/graph/passes/attention.ts";
import { testOnDevices } from "../devices.ts";

/** Makes several results out of two matrices `[4, 4]`. */
type Build = (x: tf.Tensor, y: tf.Tensor) => tf.Tensor[];

const bits = (values: readonly number[]): tf.Tensor =>
  tf.tensor(new Int32Array(Float32Array.from(values).buffer), [values.length], "int32");
const triangle = (n: number, seen: number, hidden: number): tf.Tensor =>
  tf.tensor(Array.from({ length: n * n }, (_, i) => i % n <= Math.floor(i / n) ? seen : hidden), [
    n,
    n,
  ]);

/** Attention as users write it, of one batch. */
function attention(
  x: tf.Tensor,
  y: tf.Tensor,
  score: (s: tf.Tensor) => tf.Tensor,
  { transposeA = false, transposeB = true } = {},
): tf.Tensor[] {
  const q = tf.reshape(x, [1, 4, 4]), k = tf.reshape(y, [1, 4, 4]);
  return [tf.matMul(tf.softmax(score(tf.matMul(q, k, transposeA, transposeB))), tf.sin(k))];
}

const CASES: Readonly<Record<string, Build>> = {
  "outputs of one op": (x) => tf.unstack(x).map((row) => tf.exp(row)),
  "later outputs of equal ops": (x) => [
    tf.topk(x, 2).values,
    tf.cast(tf.topk(x, 2).indices, "float32"),
    tf.unstack(x)[1],
    tf.unstack(x)[2],
  ],
  "operands in two orders": (
    x,
    y,
  ) => [tf.sub(x, y), tf.sub(y, x), tf.matMul(x, y), tf.matMul(y, x)],
  "attributes": (x, y) => [
    tf.matMul(x, y),
    tf.matMul(x, y, true),
    tf.matMul(x, y, false, true),
    tf.sum(x, 0),
    tf.sum(x, 0, true),
  ],
  "attributes of zero and minus zero": (x) => [
    tf.div(1, tf.leakyRelu(tf.neg(tf.abs(x)), 0)),
    tf.div(1, tf.leakyRelu(tf.neg(tf.abs(x)), -0)),
  ],
  "constants of zero and minus zero": (x) => [
    tf.div(1, tf.mul(tf.abs(x), tf.constant(0))),
    tf.div(1, tf.mul(tf.abs(x), tf.constant(-0))),
  ],
  "shapes of constants": (x) => [
    tf.add(x, tf.tensor([1, 2, 3, 4], [1, 4])),
    tf.add(x, tf.tensor([1, 2, 3, 4], [4, 1])),
  ],
  "dtypes of constants": (x) => [
    tf.add(x, tf.cast(bits([1, 2, 3, 4]), "float32")),
    tf.add(x, tf.cast(tf.tensor([1, 2, 3, 4]), "float32")),
  ],
  "dtypes that are cast to": (x, y) => [
    tf.add(tf.cast(tf.cast(tf.mul(x, 3), "int32"), "float32"), y),
    tf.add(tf.cast(tf.cast(tf.mul(x, 3), "bool"), "float32"), y),
    tf.add(tf.cast(tf.cast(tf.mul(x, 3), "uint8"), "float32"), y),
    tf.add(tf.cast(tf.cast(tf.mul(x, 3), "float16"), "float32"), y),
  ],
  "sums and means over first axes": (x, y) => [tf.sum(x, 0), tf.mean(y, 0), tf.mean(x, 0)],
  "sums over other axes": (x, y) => [tf.sum(x, 0), tf.sum(y, 1), tf.sum(y), tf.sum(y, -2)],
  "sums of other dtypes": (x, y) => [
    tf.sum(x, 0),
    tf.cast(tf.sum(tf.cast(tf.mul(y, 9), "int32"), 0), "float32"),
  ],
  "sums of terms": (x, y) => [tf.sum(x, 0), tf.norm(y, 2, 0), tf.prod(y, 0), tf.max(y, 0)],
  "sums of sums": (x) => {
    const all = tf.sum(x, 0);
    return [all, tf.sum(tf.mul(x, tf.exp(tf.neg(all))), 0)];
  },
  "attention": (x, y) => attention(x, y, (s) => s),
  "attention of scaled scores": (x, y) => attention(x, y, (s) => tf.mul(s, 0.25)),
  "attention of divided scores": (x, y) => attention(x, y, (s) => tf.div(s, 4)),
  "attention of scores without a transposed operand": (x, y) =>
    attention(x, y, (s) => s, { transposeB: false }),
  "attention of scores with both operands transposed": (x, y) =>
    attention(x, y, (s) => s, { transposeA: true }),
  "attention with a triangle of scores": (x, y) =>
    attention(x, y, (s) => tf.add(s, triangle(4, 0, -1e9))),
  "attention with a triangle that only lowers": (x, y) =>
    attention(x, y, (s) => tf.add(s, triangle(4, 0, -2))),
  "attention with a triangle of the keys before": (x, y) =>
    attention(x, y, (s) => tf.add(s, tf.transpose(triangle(4, 0, -1e9)))),
  "attention with chosen scores": (x, y) =>
    attention(x, y, (s) => tf.where(tf.cast(triangle(4, 1, 0), "bool"), s, -1e9)),
  "attention with scores chosen the other way": (x, y) =>
    attention(x, y, (s) => tf.where(tf.cast(triangle(4, 0, 1), "bool"), s, -1e9)),
  "attention with hidden scores": (x, y) =>
    attention(x, y, (s) => tf.where(tf.cast(triangle(4, 0, 1), "bool"), -1e9, s)),
  "attention with lowered scores": (x, y) =>
    attention(x, y, (s) => tf.where(tf.cast(triangle(4, 1, 0), "bool"), s, -1)),
};

/** Updates of two variables in one step, which differ in one thing. */
const STEPS: Readonly<Record<string, () => readonly [tf.Optimizer, tf.Optimizer]>> = {
  "one rule": () => {
    const one = tf.train.adam(0.1);
    return [one, one];
  },
  "learning rates": () => [tf.train.sgd(0.1), tf.train.sgd(0.3)],
  "momenta": () => [tf.train.momentum(0.1, 0.5), tf.train.momentum(0.1, 0.9)],
  "Nesterov's rule": () => [
    tf.train.momentum(0.1, 0.9, true),
    tf.train.momentum(0.1, 0.9, false),
  ],
  "decay of moments": () => [tf.train.adam(0.1, 0.9, 0.99), tf.train.adam(0.1, 0.5, 0.7)],
};

// Plans make one op of attention however small it is.
attentionOptions.leastOnCpu = 0;

const TOLERANCE = { ulps: 256, ulpsOfLargest: 256, absolute: 2e-5 };

/** The results that differ. */
function differing(found: readonly tf.Tensor[], want: readonly tf.Tensor[]): string[] {
  return found.flatMap((t, i) => {
    const text = difference(t.ndarraySync(), want[i].ndarraySync(), t.dtype, TOLERANCE);
    return text === null ? [] : [`result ${i} ${text}`];
  });
}

for (const [name, build] of Object.entries(CASES)) {
  testOnDevices(`compiled code keeps apart, as eager code does: ${name}`, async () => {
    using _ = tf.scope();
    const numbers = (by: number): tf.Tensor =>
      tf.tensor(Array.from({ length: 16 }, (_, i) => 2 * Math.sin(by * i + 1)), [4, 4]);
    const x = numbers(1.7), y = numbers(2.9);
    assertEquals(differing(await tf.function(build).async(x, y), build(x, y)), []);
  });
}

for (const [name, optimizers] of Object.entries(STEPS)) {
  testOnDevices(`compiled steps keep apart, as eager steps do: ${name}`, async () => {
    using _ = tf.scope();
    const make = () => {
      const used = optimizers();
      const variables = [tf.variable([1, -2, 3]), tf.variable([[0.5, 4]])];
      const step = (): void =>
        variables.forEach((v, i) =>
          void used[i].minimize(() => tf.sum(tf.square(tf.sub(v, i))), false, [v])
        );
      return { variables, step };
    };
    const eager = make(), compiled = make();
    const fn = tf.function(compiled.step);
    for (let i = 0; i < 3; i++) {
      eager.step();
      await fn.async();
    }
    assertEquals(differing(compiled.variables, eager.variables), []);
  });
}

/** Eager calls of one op that read alike, each pair with results that differ. */
const ALIKE: Readonly<Record<string, readonly [() => tf.Tensor, () => tf.Tensor]>> = {
  "an attribute of zero and minus zero": [
    () => tf.div(1, tf.leakyRelu([-3, -5], 0)),
    () => tf.div(1, tf.leakyRelu([-3, -5], -0)),
  ],
  "texts that hold what stands between attributes": [
    () => tf.string.staticRegexReplace(["a;rewrite=b"], "a;rewrite=b", "c"),
    () => tf.string.staticRegexReplace(["a;rewrite=b"], "a", "b;rewrite=c"),
  ],
};

for (const [name, [first, second]] of Object.entries(ALIKE)) {
  // Drivers of GPUs need not keep the sign of zero.
  Deno.test(`eager calls keep apart ${name}`, async () => {
    await tf.setBackend("cpu");
    using _ = tf.scope();
    const found = [first(), second()].map((t) => t.arraySync());
    assertNotEquals(found[0], found[1]);
  });
}
