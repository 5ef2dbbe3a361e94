/** Attention as people write it: every mask beside every layout becomes one op, which computes what its parts do. */
import * as tf from "@weft/weft";
import { assert, assertEquals } from "@std/assert";
import { difference } from "../../src/library/testing/compare.ts";
import { PASS_NAMES } from "../graph/graph_text.ts";
import { optimized, withPasses } from "../graph/graph_text.ts";
import { testOnDevices } from "../devices.ts";
import { noise } from "../ops/values.ts";
import { some } from "../effort.ts";

const [B, H, G, N, M, D] = [2, 4, 2, 5, 7, 8];

type Feed = (shape: readonly number[], name: string, dtype?: "float32" | "bool") => tf.Tensor;
type Change = (x: tf.Tensor, feed: Feed) => tf.Tensor;

/** Makes scores into results, between products in the layout's own way. */
type Layout = (feed: Feed, scores: Change, weights: Change, m: number) => tf.Tensor;

const turned = (x: tf.Tensor): tf.Tensor => tf.transpose(x, [0, 2, 1, 3]);
const attend = (
  [q, k, v]: readonly tf.Tensor[],
  feed: Feed,
  scores: Change,
  weights: Change,
  product: (q: tf.Tensor, k: tf.Tensor) => tf.Tensor = (q, k) =>
    tf.mul(tf.matMul(q, k, false, true), 0.3),
): tf.Tensor => tf.matMul(weights(tf.softmax(scores(product(q, k), feed)), feed), v);

const LAYOUTS: Readonly<Record<string, Layout>> = {
  "heads outside": (feed, s, w, m) =>
    attend([feed([B, H, N, D], "q"), feed([B, H, m, D], "k"), feed([B, H, m, D], "v")], feed, s, w),
  "heads inside": (feed, s, w, m) => {
    const [q, k, v] = [N, m, m].map((n, i) => turned(feed([B, n, H, D], "qkv"[i])));
    return turned(attend([q, k, v], feed, s, w));
  },
  "keys transposed": (feed, s, w, m) => {
    const k = tf.transpose(feed([B, m, H, D], "k"), [0, 2, 3, 1]);
    const [q, v] = [turned(feed([B, N, H, D], "q")), turned(feed([B, m, H, D], "v"))];
    const y = attend([q, k, v], feed, s, w, (q, k) => tf.div(tf.matMul(q, k), 2));
    return tf.reshape(turned(y), [B, N, H * D]);
  },
  "split of one product": (feed, s, w) => {
    const parts = tf.split(feed([B, N, 3 * H * D], "x"), 3, -1);
    return turned(attend(parts.map((x) => turned(tf.reshape(x, [B, N, H, D]))), feed, s, w));
  },
  "parts of a stack": (feed, s, w) => {
    const x = tf.transpose(tf.reshape(feed([B, N, 3 * H * D], "x"), [B, N, 3, H, D]), [
      2,
      0,
      3,
      1,
      4,
    ]);
    return turned(attend(tf.unstack(x), feed, s, w));
  },
  "slices": (feed, s, w) => {
    const x = feed([B, N, 3 * H * D], "x");
    const part = (i: number): tf.Tensor =>
      turned(tf.reshape(tf.slice(x, [0, 0, i * H * D], [B, N, H * D]), [B, N, H, D]));
    return turned(attend([part(0), part(1), part(2)], feed, s, w));
  },
  "scaled queries": (feed, s, w, m) => {
    const q = tf.mul(turned(feed([B, N, H, D], "q")), 0.25);
    const k = feed([B, H, m, D], "k"), v = feed([B, H, m, D], "v");
    return attend([q, k, v], feed, s, w, (q, k) => tf.matMul(q, k, false, true));
  },
  "repeated heads": (feed, s, w, m) => {
    const repeated = (name: string): tf.Tensor => {
      const x = tf.expandDims(feed([B, H / G, m, D], name), 2);
      return tf.reshape(tf.broadcastTo(x, [B, H / G, G, m, D]), [B, H, m, D]);
    };
    return attend([feed([B, H, N, D], "q"), repeated("k"), repeated("v")], feed, s, w);
  },
  "groups as rows": (feed, s, w, m) => {
    const rows = tf.reshape(feed([B, H, N, D], "q"), [B, H / G, G * N, D]);
    const k = feed([B, H / G, m, D], "k"), v = feed([B, H / G, m, D], "v");
    const x = tf.reshape(tf.mul(tf.matMul(rows, k, false, true), 0.3), [B, H, N, m]);
    const shares = tf.reshape(w(tf.softmax(s(x, feed)), feed), [B, H / G, G * N, m]);
    return tf.reshape(tf.matMul(shares, v), [B, H, N, D]);
  },
};
/** Layouts of as many keys as queries. */
const SQUARE = new Set(["split of one product", "parts of a stack", "slices"]);

const same: Change = (x) => x;
const cap: Change = (x) => tf.mul(tf.tanh(tf.div(x, 2)), 2);
const causal = (n: number, m: number, low: number): tf.NdArray =>
  new tf.NdArray(
    "float32",
    [n, m],
    Float32Array.from(
      { length: n * m },
      (_, i) => i % m <= Math.floor(i / m) + m - n ? 0 : low,
    ),
  );
const extents = (x: tf.Tensor): [number, number] => x.staticShape!.slice(-2) as [number, number];
const input =
  (shape: (n: number, m: number) => number[], dtype: "float32" | "bool"): Change => (x, feed) =>
    feed(shape(...extents(x)), "mask", dtype);
const added = (shape: (n: number, m: number) => number[]): Change => (x, feed) =>
  tf.add(x, input(shape, "float32")(x, feed));
const chosen = (shape: (n: number, m: number) => number[], low: number): Change => (x, feed) =>
  tf.where(input(shape, "bool")(x, feed), x, low);

/** Names of masks, and what becomes of scores and of weights. */
const MASKS: Readonly<Record<string, readonly [Change, Change]>> = {
  "nothing": [same, same],
  "added by all": [added((n, m) => [B, H, n, m]), same],
  "added by queries and keys": [added((n, m) => [n, m]), same],
  "added padding": [added((_, m) => [B, 1, 1, m]), same],
  "added by heads": [(x, feed) => tf.add(feed([H, 1, 1], "slope"), x), same],
  "added by queries": [added((n) => [n, 1]), same],
  "chosen padding": [chosen((_, m) => [B, 1, 1, m], -1e9), same],
  "chosen for one batch": [chosen((n, m) => [1, 1, n, m], -Infinity), same],
  "hidden by queries and keys": [
    (x, feed) => tf.where(input((n, m) => [n, m], "bool")(x, feed), -1e9, x),
    same,
  ],
  "later keys": [(x) => tf.add(x, causal(...extents(x), -1e9)), same],
  "band part": [(x) => {
    const [n, m] = extents(x), band = tf.linalg.bandPart(tf.ones([n, m]), -1, m - n);
    return tf.where(tf.greater(band, 0), x, -Infinity);
  }, same],
  "later keys and padding": [
    (x, feed) => added((_, m) => [B, 1, 1, m])(tf.add(x, causal(...extents(x), -1e9)), feed),
    same,
  ],
  "a cap": [cap, same],
  "a cap, then a mask": [(x, feed) => added((n, m) => [n, m])(cap(x, feed), feed), same],
  "dropout": [
    same,
    (x, feed) => tf.where(feed(x.staticShape as number[], "kept", "bool"), tf.mul(x, 1.25), 0),
  ],
  "weighted shares": [
    added((_, m) => [B, 1, 1, m]),
    (x, feed) => tf.mul(x, feed([H, 1, 1], "weights")),
  ],
};

const PAIRS: [string, string][] = [
  ...Object.keys(MASKS).flatMap((mask): [string, string][] => [
    ["heads outside", mask],
    ["split of one product", mask],
  ]),
  ...Object.keys(LAYOUTS).flatMap((layout): [string, string][] =>
    ["nothing", "added padding", "chosen for one batch", "later keys"].map((m) => [layout, m])
  ),
  ["groups as rows", "added by all"],
  ["repeated heads", "added by heads"],
];
const CASES = [...new Map(PAIRS.map((p) => [p.join(), p])).values()];
/** The cases whose values are compared. */
const SOME = some(CASES, 16);

function build([layout, mask]: [string, string], feed: Feed): tf.Tensor {
  const [scores, weights] = MASKS[mask];
  return LAYOUTS[layout](feed, scores, weights, SQUARE.has(layout) ? N : M);
}

Deno.test("fuseAttention() makes one op of every mask in every layout", () => {
  for (const pair of CASES) {
    const lines = optimized(() =>
      build(pair, (shape, name, dtype = "float32") => tf.placeholder(dtype, shape, name))
    );
    const ops = lines.flatMap((l) => / = (\w+)\(/.exec(l)?.[1] ?? [])
      .filter((op) => !["Placeholder", "Const", "Reshape"].includes(op));
    assertEquals(ops, ["_FusedAttention"], `${pair.join(", ")}:\n${lines.join("\n")}`);
  }
});

Deno.test("fuseAttention() leaves a factor of the values beside the op", () => {
  const lines = optimized(() => {
    const [q, k, v] = ["q", "k", "v"].map((name) => tf.placeholder("float32", [B, N, D], name));
    return tf.matMul(
      tf.softmax(tf.matMul(tf.mul(q, 0.5), tf.div(k, 3), false, true)),
      tf.mul(v, 2),
    );
  });
  const ops = lines.flatMap((l) => / = (_\w+)\(/.exec(l)?.[1] ?? []);
  assertEquals(ops, ["_FusedPointwise", "_FusedAttention"], lines.join("\n"));
});

Deno.test("fuseAttention() makes one op of every gradient too", () => {
  for (const pair of CASES) {
    const lines = optimized(() => {
      const operands: tf.Tensor[] = [];
      const y = build(pair, (shape, name, dtype = "float32") => {
        const x = tf.placeholder(dtype, shape, name);
        if (["q", "k", "v", "x"].includes(name)) operands.push(x);
        return x;
      });
      return [y, ...tf.gradients(tf.mul(y, y), operands) as tf.Tensor[]];
    });
    const text = lines.join("\n"), name = pair.join(", ");
    for (const op of ["_FusedAttention", "_FusedAttentionGrad"]) {
      assertEquals(text.split(` = ${op}(`).length, 2, `${name}: ${op}\n${text}`);
    }
    assert(!/BatchMatMulV2|Softmax/.test(text), `${name}:\n${text}`);
  }
});

/** Runs a case in a session, with its gradients where wanted. */
async function run(
  pair: [string, string],
  passes: typeof PASS_NAMES,
  wants: "value" | "gradients",
): Promise<tf.NdArray[]> {
  const graph = new tf.Graph(), feeds = new Map<tf.Tensor, tf.NdArray>();
  const fetches = graph.asDefault(() => {
    const y = build(pair, (shape, name, dtype = "float32") => {
      const x = tf.placeholder(dtype, shape, name);
      const values = noise("float32", shape, feeds.size + 1);
      feeds.set(x, dtype === "bool" ? bools(values) : values);
      return x;
    });
    if (wants === "value") return [y];
    const xs = [...feeds.keys()].filter((x) => x.dtype === "float32");
    return tf.gradients(tf.mul(y, y), xs) as tf.Tensor[];
  });
  await using session = new tf.Session({ graph });
  return await withPasses(passes, () => session.run(fetches, { feeds })) as tf.NdArray[];
}

/** Three of four elements are true, the first of each row among them. */
function bools({ shape, size }: tf.NdArray): tf.NdArray {
  const last = shape.at(-1)!;
  const data = Uint8Array.from({ length: size }, (_, i) => i % last === 0 || i % 4 !== 3 ? 1 : 0);
  return new tf.NdArray("bool", shape, data);
}

const TOLERANCE = { ulps: 64, ulpsOfLargest: 64, absolute: 1e-6 };
const PLAIN = PASS_NAMES.filter((name) => name !== "attention");

for (const wants of ["value", "gradients"] as const) {
  testOnDevices(`attention of every mask and layout has the parts' ${wants}`, async (device) => {
    for (const pair of SOME) {
      const [made, wanted] = [await run(pair, PASS_NAMES, wants), await run(pair, PLAIN, wants)];
      made.forEach((x, i) => {
        const wrong = difference(x, wanted[i], "float32", TOLERANCE);
        assert(wrong === null, `${pair.join(", ")} on ${device}: result ${i} ${wrong}`);
      });
    }
  });
}
