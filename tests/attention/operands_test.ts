/** Attentions whose operands, masks and readers are of an odd kind: where plans make one op of them, and that results are those of eager calls. */
import * as tf from "@weft/weft";
import { assertAlmostEquals, assertEquals } from "@std/assert";
import { testOnDevices } from "../devices.ts";
import { optimized } from "../graph/graph_text.ts";
import { noise } from "../ops/values.ts";
import { fuseAll } from "./fused.ts";

interface Case {
  readonly shapes: readonly (readonly number[])[];
  /** Ops of the plan: attentions, their gradients, transpositions. */
  readonly ops: readonly [forward: number, backward: number, turns: number];
  /** Ops as the program has them that stay in the plan; default 0. */
  readonly whole?: number;
  readonly build: (...inputs: tf.Tensor[]) => tf.Tensor | tf.Tensor[];
}

const scores = (q: tf.Tensor, k: tf.Tensor): tf.Tensor => tf.matMul(q, k, false, true);
const triangle = (n: number, m: number): tf.Tensor =>
  tf.tensor(
    Array.from({ length: n }, (_, i) => Array.from({ length: m }, (_, j) => j <= i + m - n)),
  );
const grads = (f: (...x: tf.Tensor[]) => tf.Tensor, ...inputs: tf.Tensor[]): tf.Tensor[] =>
  tf.grads((...x: tf.Tensor[]) => tf.sum(tf.sin(f(...x))))(inputs) as tf.Tensor[];
const QKV = [[2, 3, 8], [2, 5, 8], [2, 5, 8]];

const CASES: Readonly<Record<string, Case>> = {
  "plain operands": {
    shapes: QKV,
    ops: [1, 0, 0],
    build: (q, k, v) => tf.matMul(tf.softmax(scores(q, k)), v),
  },
  "queries that begin between units of four": {
    shapes: [[2, 3, 12], [2, 5, 8]],
    ops: [1, 0, 0],
    build: (x, k) => tf.matMul(tf.softmax(scores(tf.slice(x, [0, 0, 2], [2, 3, 8]), k)), k),
  },
  "queries whose elements lie apart": {
    shapes: [[2, 3, 8, 4], [2, 5, 8]],
    ops: [1, 0, 0],
    build: (x, k) => {
      const q = tf.reshape(tf.slice(x, [0, 0, 0, 0], [2, 3, 8, 1]), [2, 3, 8]);
      return tf.matMul(tf.softmax(scores(q, k)), k);
    },
  },
  "keys stored as columns": {
    shapes: [[2, 3, 8], [2, 8, 5], [2, 5, 8]],
    ops: [0, 0, 0],
    build: (q, k, v) => tf.matMul(tf.softmax(tf.matMul(q, k)), v),
  },
  "more loops than an op has": {
    shapes: [[2, 3, 2, 3, 4, 8], [3, 2, 3, 2, 5, 8]],
    ops: [0, 0, 1],
    build: (x, k) => tf.matMul(tf.softmax(scores(tf.transpose(x, [3, 2, 1, 0, 4, 5]), k)), k),
  },
  "a mask of one row and one matrix": {
    shapes: [[2, 4, 3, 8], [2, 4, 5, 8], [2, 1, 1, 5]],
    ops: [1, 0, 0],
    build: (q, k, m) => tf.matMul(tf.softmax(tf.where(tf.greater(m, 0), scores(q, k), -1e9)), k),
  },
  "later keys hidden, more keys than queries, and its gradients": {
    shapes: QKV,
    ops: [1, 1, 0],
    build: (...x) =>
      grads(
        (q, k, v) => tf.matMul(tf.softmax(tf.where(triangle(3, 5), scores(q, k), -1e9)), v),
        ...x,
      ),
  },
  "gradients that read no result": {
    shapes: [...QKV, [2, 3, 8]],
    ops: [1, 1, 0],
    build: (q, k, v, dy) =>
      tf.grads((...[q, k, v]: tf.Tensor[]) =>
        tf.sum(tf.mul(tf.matMul(tf.softmax(scores(q, k)), v), dy))
      )([q, k, v]) as tf.Tensor[],
  },
  "gradients of shares that are dropped and scaled": {
    shapes: [...QKV, [2, 3, 5]],
    ops: [1, 1, 0],
    build: (q, k, v, m) =>
      grads(
        (q, k, v) => {
          const kept = tf.cast(tf.greater(m, 0), "float32");
          return tf.matMul(tf.mul(tf.softmax(scores(q, k)), tf.mul(kept, 2)), v);
        },
        q,
        k,
        v,
      ),
  },
  "gradients of shares that are read, too": {
    shapes: QKV,
    ops: [0, 0, 0],
    build: (q, k, v) => [
      ...grads((q, k, v) => tf.matMul(tf.softmax(scores(q, k)), v), q, k, v),
      tf.softmax(scores(q, k)),
    ],
  },
  "two sets of keys for the same queries, and gradients": {
    shapes: [[2, 3, 4, 8], [2, 5, 4, 8], [2, 5, 4, 8]],
    ops: [2, 2, 3],
    build: (...x) =>
      grads(
        (q, k, v) =>
          tf.add(
            tf.scaledDotProductAttention(q!, k!, v!),
            tf.scaledDotProductAttention(q!, v!, k!),
          ),
        ...x,
      ),
  },
  "the op, and its gradients": {
    shapes: [[2, 3, 4, 8], [2, 5, 4, 8], [2, 5, 4, 8]],
    ops: [1, 1, 0],
    build: (...x) => {
      const attend = (q: tf.Tensor, k: tf.Tensor, v: tf.Tensor): tf.Tensor =>
        tf.scaledDotProductAttention(q, k, v);
      const [q, k, v] = x;
      return [attend(q!, k!, v!), ...grads((q, k, v) => attend(q!, k!, v!), ...x)];
    },
  },
  "the op and its gradients beside ops of other values, factors and keys that are seen": {
    shapes: [[2, 3, 4, 8], [2, 5, 4, 8], [2, 5, 4, 8]],
    ops: [1, 1, 0],
    whole: 3,
    build: (...x) => {
      const [q, k, v] = x;
      return [
        tf.scaledDotProductAttention(q!, k!, tf.neg(v!)),
        tf.scaledDotProductAttention(q!, k!, v!, { scale: 0.3 }),
        tf.scaledDotProductAttention(q!, k!, v!, { causal: true }),
        ...grads((q, k, v) => tf.scaledDotProductAttention(q!, k!, v!), ...x),
      ];
    },
  },
  "gradients of heads": {
    shapes: [[2, 3, 4, 8], [2, 5, 4, 8], [2, 5, 4, 8]],
    ops: [1, 1, 1],
    build: (...x) =>
      grads((...x) => {
        const [q, k, v] = x.map((x) => tf.transpose(x, [0, 2, 1, 3]));
        return tf.transpose(tf.matMul(tf.softmax(tf.mul(scores(q!, k!), 0.25)), v!), [0, 2, 1, 3]);
      }, ...x),
  },
};

for (const [name, { shapes, ops, whole = 0, build }] of Object.entries(CASES)) {
  Deno.test(`attention of ${name} is as many ops as may be`, () => {
    const lines = optimized(() =>
      build(...shapes.map((shape, i) => tf.placeholder("float32", shape, `x${i}`)))
    );
    const names = ["_FusedAttention", "_FusedAttentionGrad", "Transpose", "_Attention"];
    const found = names.map((op) => lines.filter((line) => line.includes(`= ${op}(`)).length);
    assertEquals(found, [...ops, whole], lines.join("\n"));
  });
  testOnDevices(`attention of ${name} is that of eager calls`, async () => {
    const inputs = shapes.map((shape, i) => tf.tensor(noise("float32", [...shape], i + 1)));
    using _all = fuseAll();
    const all = (...x: tf.Tensor[]): tf.Tensor[] => [build(...x)].flat();
    const f = tf.function(all), have = f(...inputs), want = all(...inputs);
    for (const [i, y] of have.entries()) {
      const [a, b] = [await y.data(), await want[i]!.data()] as Float32Array[];
      assertEquals(a!.length, b!.length);
      a!.forEach((v, k) => assertAlmostEquals(v, b![k]!, 1e-4, `result ${i}, element ${k}`));
    }
  });
}
