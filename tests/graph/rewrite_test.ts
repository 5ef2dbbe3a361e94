/** Patterns that become single ops, and what looks like them and must stay. */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import type { PassName } from "../../src/engine/graph/passes/pipeline.ts";
import { difference } from "../../src/library/testing/compare.ts";
import { testOnDevices } from "../devices.ts";
import { optimized, withPasses } from "./graph_text.ts";

type Build = () => tf.Tensor | tf.Tensor[];

const place = (shape: (number | null)[], name: string): tf.Tensor =>
  tf.placeholder("float32", shape, name);
const x = (): tf.Tensor => place([3, 4], "x");

const exps = (t: tf.Tensor, axis = -1): tf.Tensor => tf.exp(tf.sub(t, tf.max(t, axis, true)));
const softmax = (t: tf.Tensor, axis = -1): tf.Tensor => {
  const e = exps(t, axis);
  return tf.div(e, tf.sum(e, axis, true));
};
const logSoftmax = (t: tf.Tensor): tf.Tensor => {
  const y = tf.sub(t, tf.stopGradient(tf.max(t, 1, true)));
  return tf.sub(y, tf.log(tf.sum(tf.exp(y), 1, true)));
};
const standard = (t: tf.Tensor): tf.Tensor => {
  const d = tf.sub(t, tf.mean(t, -1, true));
  return tf.div(d, tf.sqrt(tf.add(tf.mean(tf.mul(d, d), -1, true), 1e-3)));
};
/** As TensorFlow's Keras layer is exported. */
const layerNorm = (t: tf.Tensor, scale: tf.Tensor, offset: tf.Tensor): tf.Tensor => {
  const mean = tf.mean(t, -1, true);
  const variance = tf.mean(tf.squaredDifference(t, tf.stopGradient(mean)), -1, true);
  const factor = tf.mul(tf.rsqrt(tf.add(variance, 1e-3)), scale);
  return tf.add(tf.mul(t, factor), tf.sub(offset, tf.mul(mean, factor)));
};
const vectors = (): [tf.Tensor, tf.Tensor] => [place([4], "s"), place([4], "o")];
const scores = (q: tf.Tensor, k: tf.Tensor): tf.Tensor => tf.mul(tf.matMul(q, k, false, true), 0.5);
const qkv = (shape: number[]): tf.Tensor[] => ["q", "k", "v"].map((name) => place(shape, name));
const turned = (t: tf.Tensor): tf.Tensor => tf.transpose(t, [0, 2, 1, 3]);

/** Returns the mask for scores of `n` queries and `m` keys, counted from the end: 0 where a key is seen. */
const causal = (n: number, m: number, low: number): tf.NdArray => {
  const value = (_: unknown, i: number): number => i % m <= Math.floor(i / m) + m - n ? 0 : low;
  return new tf.NdArray("float32", [n, m], Float32Array.from({ length: n * m }, value));
};
/** Attention with scores as `mask` leaves them. */
const masked = (mask: (s: tf.Tensor) => tf.Tensor, keys = 5): tf.Tensor => {
  const [q, k, v] = [5, keys, keys].map((n, i) => place([2, n, 4], "qkv"[i]));
  return tf.matMul(tf.softmax(mask(scores(q, k))), v);
};

const MATCHES: readonly [string, PassName, string, Build][] = [
  ["softmax", "rewrite", "Softmax", () => softmax(x())],
  ["softmax of unknown batch", "rewrite", "Softmax", () => softmax(place([null, 4], "x"))],
  ["log-softmax", "rewrite", "LogSoftmax", () => logSoftmax(x())],
  ["standardisation by a root", "rewrite", "_LayerNorm", () => standard(x())],
  ["layer norm by hand", "rewrite", "_LayerNorm", () => {
    const [s, o] = vectors();
    return tf.add(o, tf.mul(s, standard(x())));
  }],
  ["layer norm by moments", "rewrite", "_LayerNorm", () => layerNorm(x(), ...vectors())],
  [
    "cross entropy",
    "rewrite",
    "SoftmaxCrossEntropyWithLogits",
    () => tf.neg(tf.sum(tf.mul(place([3, 4], "y"), logSoftmax(x())), -1)),
  ],
  ["attention of batches", "attention", "_FusedAttention", () => {
    const [q, k, v] = qkv([2, 5, 4]);
    return tf.matMul(tf.softmax(scores(q, k)), v);
  }],
  ["attention of heads", "attention", "_FusedAttention", () => {
    const [q, k, v] = qkv([2, 5, 3, 4]).map(turned);
    return turned(tf.matMul(tf.softmax(tf.div(tf.matMul(q, k, false, true), 2)), v));
  }],
  [
    "attention with a causal sum",
    "attention",
    "_FusedAttention",
    () => masked((s) => tf.add(s, causal(5, 5, -1e9))),
  ],
  [
    "attention with an infinite mask for more keys",
    "attention",
    "_FusedAttention",
    () => masked((s) => tf.add(tf.reshape(causal(5, 7, -Infinity), [1, 5, 7]), s), 7),
  ],
  [
    "attention with chosen scores",
    "attention",
    "_FusedAttention",
    () => masked((s) => tf.where(tf.equal(causal(5, 5, -1), 0), s, -1e9)),
  ],
  [
    "attention with hidden scores",
    "attention",
    "_FusedAttention",
    () => masked((s) => tf.where(tf.less(causal(5, 5, -1), 0), -Infinity, s)),
  ],
  [
    "attention with a triangle",
    "attention",
    "_FusedAttention",
    () =>
      masked((s) => tf.where(tf.greater(tf.linalg.bandPart(tf.ones([5, 5]), -1, 0), 0), s, -1e9)),
  ],
  ["causal attention of heads", "attention", "_FusedAttention", () => {
    const [q, k, v] = qkv([2, 5, 3, 4]).map(turned);
    const s = tf.add(tf.mul(tf.matMul(q, k, false, true), 0.5), causal(5, 5, -1e9));
    return turned(tf.matMul(tf.softmax(s), v));
  }],
];

const STAYS: readonly [string, PassName, Build][] = [
  ["softmax over another axis", "rewrite", () => softmax(x(), 0)],
  ["softmax whose powers are fetched", "rewrite", () => {
    const e = exps(x());
    return [tf.div(e, tf.sum(e, -1, true)), e];
  }],
  ["softmax whose sums are read elsewhere", "rewrite", () => {
    const e = exps(x()), sum = tf.sum(e, -1, true);
    return [tf.div(e, sum), tf.neg(sum)];
  }],
  ["softmax with the greatest of another value", "rewrite", () => {
    const t = x(), e = tf.exp(tf.sub(t, tf.max(place([3, 4], "y"), -1, true)));
    return tf.div(e, tf.sum(e, -1, true));
  }],
  ["softmax turned around", "rewrite", () => {
    const e = exps(x());
    return tf.div(tf.sum(e, -1, true), e);
  }],
  ["log-softmax without the sum", "rewrite", () => {
    const y = tf.sub(x(), tf.max(x(), -1, true));
    return tf.sub(y, tf.log(tf.exp(y)));
  }],
  ["standardisation whose mean is fetched", "rewrite", () => {
    const t = x(), mean = tf.mean(t, -1, true), d = tf.sub(t, mean);
    return [tf.mul(d, tf.rsqrt(tf.add(tf.mean(tf.square(d), -1, true), 1e-3))), mean];
  }],
  ["standardisation by a sum", "rewrite", () => {
    const d = tf.sub(x(), tf.mean(x(), -1, true));
    return tf.mul(d, tf.rsqrt(tf.add(tf.sum(tf.square(d), -1, true), 1e-3)));
  }],
  ["standardisation by columns", "rewrite", () => {
    const t = x(), d = tf.sub(t, tf.mean(t, 0, true));
    return tf.mul(d, tf.rsqrt(tf.add(tf.mean(tf.square(d), 0, true), 1e-3)));
  }],
  [
    "cross entropy of one row for all",
    "rewrite",
    () => tf.neg(tf.sum(tf.mul(place([1, 4], "y"), tf.logSoftmax(x())), -1)),
  ],
  ["attention of a depth without kernels", "attention", () => {
    const [q, k, v] = qkv([2, 5, 3]);
    return tf.matMul(tf.softmax(scores(q, k)), v);
  }],
  ["attention whose weights are fetched", "attention", () => {
    const [q, k, v] = qkv([2, 5, 4]), p = tf.softmax(scores(q, k));
    return [tf.matMul(p, v), p];
  }],
];

const opsOf = (lines: readonly string[]): string[] =>
  lines.flatMap((l) => / = (\w+)\(/.exec(l)?.[1] ?? [])
    .filter((op) => !["Placeholder", "Const", "Reshape"].includes(op));

for (const [what, pass, op, build] of MATCHES) {
  Deno.test(`${pass}() makes one ${op} of ${what}`, () => {
    const lines = optimized(build, [pass]);
    assertEquals(opsOf(lines), [op], lines.join("\n"));
  });
}

Deno.test("rewrite() and fuseAttention() leave alone what is not quite a pattern, or read elsewhere", () => {
  for (const [what, pass, build] of STAYS) {
    assertEquals(optimized(build, [pass]), optimized(build, []), what);
  }
});

const TOLERANCE = { ulps: 64, ulpsOfLargest: 64, absolute: 1e-6 };

testOnDevices("patterns compute what their parts do", async (device) => {
  for (
    const [what, pass, , build] of [
      ...MATCHES,
      ...STAYS.map(([a, b, c]) => [a, b, "", c] as const),
    ]
  ) {
    const graph = new tf.Graph();
    const { fetches, inputs } = graph.asDefault(() => {
      const made = build();
      const fetches = Array.isArray(made) ? made : [made];
      const inputs = graph.operations.filter((o) => o.type === "Placeholder").map((o) =>
        o.outputs[0]
      );
      return { fetches, inputs };
    });
    const feeds = new Map(inputs.map((t, i): [tf.Tensor, tf.NdArray] => {
      const shape = t.staticShape!.map((d) => d ?? 3);
      const size = shape.reduce((n, d) => n * d, 1);
      const values = Float32Array.from({ length: size }, (_, k) => Math.sin(k * 1.7 + i) + 0.1 * k);
      return [t, new tf.NdArray("float32", shape, values)];
    }));
    const results: tf.NdArray[][] = [];
    for (const passes of [[], [pass]] as PassName[][]) {
      await using session = new tf.Session({ graph });
      results.push(await withPasses(passes, () => session.run(fetches, { feeds })) as tf.NdArray[]);
    }
    results[0].forEach((wanted, k) => {
      const wrong = difference(results[1][k], wanted, "float32", TOLERANCE);
      assert(wrong === null, `${what} on ${device}: result ${k} ${wrong}`);
    });
  }
});
