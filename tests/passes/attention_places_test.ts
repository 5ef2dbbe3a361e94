/** Which attentions plans make one op of: by where their operands lie, what hides scores, and what must stay apart. */
import * as tf from "@weft/weft";
import { assertEquals } from "@std/assert";
import { difference } from "../../src/library/testing/compare.ts";
import { testOnDevices } from "../devices.ts";
import { optimized, PASS_NAMES, withPasses } from "../graph/graph_text.ts";
import { noise } from "../ops/values.ts";

const [N, M, H, D] = [5, 7, 4, 8];

const place = (shape: number[], name: string, dtype: tf.DType = "float32"): tf.Tensor =>
  tf.placeholder(dtype, shape, name);
const turned = (x: tf.Tensor): tf.Tensor => tf.transpose(x, [0, 2, 1, 3]);
const matrices = (...rows: number[]): tf.Tensor[] =>
  rows.map((n, i) => place([H, n, D], "qkv"[i]!));
const attend = (
  [q, k, v]: readonly tf.Tensor[],
  change: (scores: tf.Tensor) => tf.Tensor = (x) => x,
): tf.Tensor => tf.matMul(tf.softmax(change(tf.matMul(q!, k!, false, true))), v!);

/** Adds so many masks to scores. */
const masked = (count: number) => (scores: tf.Tensor): tf.Tensor =>
  Array.from({ length: count }, (_, i) => place([H, N, M], `mask${i}`)).reduce(
    (sum, mask) => tf.add(tf.tanh(sum), mask),
    scores,
  );

/** True for the keys that a query sees, counted from the end: those before it and its own, or those after it. */
function seen(n: number, m: number, which: "earlier" | "later"): tf.Tensor {
  const data = Uint8Array.from({ length: n * m }, (_, i) => {
    const isEarlier = i % m <= Math.floor(i / m) + m - n;
    return Number(isEarlier === (which === "earlier"));
  });
  return tf.constant(new tf.NdArray("bool", [n, m], data));
}

/** Graphs, and the number of inputs of the one op that they become without their views; null where something stays beside it. */
const CASES: readonly (readonly [string, number | null, () => tf.Tensor])[] = [
  [
    "heads inside of one batch",
    3,
    () => attend([N, M, M].map((n, i) => turned(place([1, n, H, D], "qkv"[i]!)))),
  ],
  ["rows cut out of a single longer one", 3, () => {
    const part = (n: number, name: string): tf.Tensor => {
      const x = place([1, n * H * D + 2], name);
      return turned(tf.reshape(tf.slice(x, [0, 0], [1, n * H * D]), [1, n, H, D]));
    };
    return attend([part(N, "q"), part(M, "k"), part(M, "v")]);
  }],
  ["rows cut out of several longer ones", null, () => {
    const part = (n: number, name: string): tf.Tensor => {
      const x = place([2, n * H * D + 2], name);
      return turned(tf.reshape(tf.slice(x, [0, 0], [2, n * H * D]), [2, n, H, D]));
    };
    return attend([part(N, "q"), part(M, "k"), part(M, "v")]);
  }],
  ["keys that a broadcast repeats for new heads", 3, () => {
    const [q, k, v] = [place([H, N, D], "q"), place([M, D], "k"), place([M, D], "v")];
    return attend([q, ...[k, v].map((x) => tf.broadcastTo(x, [H, M, D]))]);
  }],
  ["keys that a broadcast repeats for heads of one", 3, () => {
    const [q, k, v] = [place([H, N, D], "q"), place([1, M, D], "k"), place([1, M, D], "v")];
    return attend([q, ...[k, v].map((x) => tf.broadcastTo(x, [H, M, D]))]);
  }],
  [
    "a constant that keeps earlier keys",
    3,
    () => attend(matrices(N, M, M), (x) => tf.where(seen(N, M, "earlier"), x, -1e9)),
  ],
  [
    "a constant that hides later keys",
    3,
    () => attend(matrices(N, M, M), (x) => tf.where(seen(N, M, "later"), -1e9, x)),
  ],
  [
    "a constant that keeps later keys",
    4,
    () => attend(matrices(N, N, N), (x) => tf.where(seen(N, N, "later"), x, -1e9)),
  ],
  [
    "a constant that hides earlier keys",
    4,
    () => attend(matrices(N, N, N), (x) => tf.where(seen(N, N, "earlier"), -1e9, x)),
  ],
  ["as many masks as there are buffers for", 7, () => attend(matrices(N, M, M), masked(4))],
  ["one mask more", null, () => attend(matrices(N, M, M), masked(5))],
  [
    "one row of scores that rows of a mask share",
    null,
    () => attend(matrices(1, M, M), (x) => tf.add(x, place([N, M], "mask"))),
  ],
  [
    "one score for each query that keys of a mask share",
    null,
    () =>
      attend([...matrices(N, 1), place([H, M, D], "v")], (x) => tf.add(x, place([N, M], "mask"))),
  ],
  ["heads in the reversed order of four axes", null, () => {
    const shape = [2, 3, 2, 3, N, D], reversed = [3, 2, 1, 0, 4, 5];
    const v = place(reversed.map((axis) => shape[axis]!), "v");
    return attend([place(shape, "q"), place(shape, "k"), tf.transpose(v, reversed)]);
  }],
  ["keys that heads share along two of four axes", null, () => {
    const shape = [2, 3, 2, 3, N, D], few = [2, 1, 2, 1, N, D];
    const [k, v] = ["k", "v"].map((name) => tf.broadcastTo(place(few, name), shape));
    return attend([place(shape, "q"), k!, v!]);
  }],
  ["scores in float64", null, () => {
    const [q, k, v] = matrices(N, M, M);
    const shares = tf.softmax(tf.cast(tf.matMul(q!, k!, false, true), "float64"));
    return tf.matMul(tf.cast(shares, "float32"), v!);
  }],
  ["scores that are whole numbers on the way", null, () =>
    attend(
      matrices(N, M, M),
      (x) => tf.cast(tf.cast(x, "int32"), "float32"),
    )],
];

for (const [name, inputs, build] of CASES) {
  Deno.test(`fuseAttention() makes ${inputs === null ? "no op" : "one op"} of ${name}`, () => {
    const lines = optimized(build), text = lines.join("\n");
    const calls = [...text.matchAll(/ = (\w+)\(([^)]*)\)/g)]
      .filter(([, op]) => !["Placeholder", "Const", "Reshape"].includes(op!));
    const isOne = calls.length === 1 && calls[0]![1] === "_FusedAttention";
    assertEquals(isOne ? calls[0]![2]!.split(",").length : null, inputs, text);
  });
}

testOnDevices("attention is right wherever its operands lie", async () => {
  for (const [name, , build] of CASES) {
    const graph = new tf.Graph();
    const [y, xs] = graph.asDefault(() => {
      const y = build();
      const all = graph.operations.filter(({ type }) => type === "Placeholder");
      return [y, all.map((op) => op.outputs[0] as unknown as tf.Tensor)];
    });
    const feeds = new Map(xs.map((x, i) => [x, noise("float32", x.shape as number[], i)]));
    const fetches = graph.asDefault(() =>
      [y, ...tf.gradients(tf.mul(y, y), xs)].filter((x) => x !== null)
    ) as tf.Tensor[];
    const run = async (passes: typeof PASS_NAMES): Promise<tf.NdArray[]> => {
      await using session = new tf.Session({ graph });
      return await withPasses(passes, () => session.run(fetches, { feeds })) as tf.NdArray[];
    };
    const plain = await run(PASS_NAMES.filter((pass) => pass !== "attention"));
    (await run(PASS_NAMES)).forEach((x, i) => {
      const limits = { ulps: 64, ulpsOfLargest: 64, absolute: 1e-6 };
      assertEquals(difference(x, plain[i]!, "float32", limits), null, `${name}: result ${i}`);
    });
  }
});
