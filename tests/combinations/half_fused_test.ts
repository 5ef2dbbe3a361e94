/** Parts of what passes make one op of, read from outside, fed, or ordered by effects, are what eager code computes. */

import { assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { testOnDevices } from "../devices.ts";
import { optimized } from "../graph/graph_text.ts";
import { fuseAll } from "../attention/fused.ts";

type T = tf.Tensor;
type Build = (q: T, k: T, v: T) => T[];

/** Programs of three tensors, all of whose results are asked for at once. */
const PROGRAMS: Readonly<Record<string, Build>> = {
  "a layer norm and its mean": (x) => {
    const mean = tf.mean(x, -1, true), centred = tf.sub(x, mean);
    const variance = tf.mean(tf.square(centred), -1, true);
    return [mean, variance, tf.mul(centred, tf.rsqrt(tf.add(variance, 1e-3)))];
  },
  "a softmax and its exponentials": (x) => {
    const e = tf.exp(tf.sub(x, tf.max(x, -1, true)));
    return [e, tf.div(e, tf.sum(e, -1, true))];
  },
  "a gelu and its error function": (x) => {
    const e = tf.erf(tf.mul(x, Math.SQRT1_2));
    return [tf.mul(tf.mul(x, 0.5), tf.add(e, 1)), e];
  },
  "an attention and its scores": (q, k, v) => {
    const scores = tf.mul(tf.matMul(q, k, false, true), 0.5);
    return [tf.matMul(tf.softmax(scores), v), scores];
  },
  "an attention of inverse scores": (q, k, v) => [
    tf.matMul(tf.softmax(tf.div(0.01, tf.matMul(tf.exp(q), tf.exp(k), false, true))), v),
  ],
  "an attention of divided scores": (q, k, v) => [
    tf.matMul(tf.softmax(tf.div(tf.matMul(q, k, false, true), 2)), v),
  ],
  "an attention of scores times a number times another": (q, k, v) => [
    tf.matMul(tf.softmax(tf.mul(3, tf.mul(tf.matMul(q, k, false, true), 0.25))), v),
  ],
};

function inputs(): [T, T, T] {
  const of = (k: number) => tf.sin(tf.add(tf.mul(tf.reshape(tf.range(0, 64), [2, 8, 4]), 0.7), k));
  return [of(0), of(1), of(2)];
}

async function near(have: readonly T[], want: readonly T[], what: string): Promise<void> {
  for (const [i, y] of want.entries()) {
    const apart = await tf.max(tf.abs(tf.sub(have[i]!, y))).array() as number;
    assertEquals(apart < 1e-5, true, `${what}, result ${i}: ${apart}`);
  }
}

for (const [name, build] of Object.entries(PROGRAMS)) {
  testOnDevices(`${name} are eager's when compiled`, async () => {
    using _scope = tf.scope();
    using _attention = fuseAll();
    const xs = inputs(), want = build(...xs);
    await near(tf.function(build)(...xs), want, "function");
    // The same with each result alone.
    for (const i of want.keys()) {
      await near([tf.function((...xs: [T, T, T]) => build(...xs)[i]!)(...xs)], [want[i]!], "alone");
    }
  });
}

testOnDevices(
  "gradients of an attention whose weights are fed are those of the fed ones",
  async () => {
    using _attention = fuseAll();
    using _scope = tf.scope();
    const [q, k, v] = inputs(), fed = tf.softmax(tf.mul(tf.matMul(k, q, false, true), 2));
    const graph = new tf.Graph();
    const { xs, weights, grads } = graph.asDefault(() => {
      const xs = [0, 1, 2].map(() => tf.placeholder("float32", [2, 8, 4]));
      const weights = tf.softmax(tf.matMul(xs[0]!, xs[1]!, false, true));
      const y = tf.matMul(weights, xs[2]!);
      return { xs, weights, grads: tf.gradients([tf.sum(tf.square(y))], xs) as T[] };
    });
    await using session = new tf.Session({ graph });
    const feeds = new Map<T, T>([[xs[0]!, q], [xs[1]!, k], [xs[2]!, v], [weights, fed]]);
    const have = await session.run(grads, { feeds } as never) as unknown as tf.NdArray[];
    const y = tf.matMul(fed, v), dy = tf.mul(y, 2), dw = tf.matMul(dy, v, false, true);
    const ds = tf.mul(tf.sub(dw, tf.sum(tf.mul(dw, fed), -1, true)), fed);
    const want = [tf.matMul(ds, k), tf.matMul(ds, q, true), tf.matMul(fed, dy, true)];
    await near(have.map((a) => tf.tensor(a)), want, "session");
  },
);

Deno.test("equal nodes after different effects are not one", () => {
  const lines = optimized(() => {
    const x = tf.placeholder("float32", [2]);
    const effect = tf.pyFunction((x: T) => x, [x], tf.TensorSpec([2], "float32"));
    const after = tf.controlDependencies([effect], () => tf.exp(x));
    return [after, tf.exp(x), tf.exp(x)];
  }, ["cse"]);
  assertEquals(lines.filter((line) => /\bExp\b/.test(line)).length, 2, lines.join("\n"));
});
