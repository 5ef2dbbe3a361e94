/** Attention, experts, states and losses of ONNX's models: shapes known only at run time, and gradients. */
import { assert, assertAlmostEquals, assertEquals } from "@std/assert";
import * as tf from "@weft/weft";
import { loadOnnx } from "@weft/weft/onnx";
import { testOnDevices } from "../devices.ts";
import { optimized } from "../graph/graph_text.ts";
import { type AttributeValue, model, node, value } from "./make_model.ts";

/** An input: its shape, where texts are extents that only a call knows, and elements of integers. */
interface Input {
  readonly open: readonly (number | string)[];
  readonly ints?: readonly number[];
}

interface Subject {
  readonly op: string;
  readonly domain?: string;
  /** Absent inputs are null. */
  readonly inputs: readonly (Input | null)[];
  readonly attributes?: Readonly<Record<string, AttributeValue>>;
}

/** The extents of a call. */
const EXTENTS: Readonly<Record<string, number>> = { b: 2, s: 3, p: 2, t: 9 };

const floats = (...open: (number | string)[]): Input => ({ open });
const ints = (open: (number | string)[], ...ints: number[]): Input => ({ open, ints });
const microsoft = "com.microsoft";
const qkv = (heads: number, shared: number): Input[] =>
  [heads, shared, shared].map((n) => floats("b", "s", 4 * n));
const cache = (heads: number): Input[] => [1, 2].map(() => floats("b", heads, "p", 4));
const angles = [floats(8, 2), floats(8, 2)];

const SUBJECTS: Record<string, Subject> = {
  "Attention of groups behind a past": {
    op: "Attention",
    inputs: [...qkv(4, 2), null, ...cache(2)],
    attributes: { q_num_heads: 4n, kv_num_heads: 2n, is_causal: 1n, softcap: 2.5 },
  },
  "Attention with rows that see nothing": {
    op: "Attention",
    inputs: [...qkv(2, 2), null, null, null, ints(["b"], 1, 3)],
    attributes: { q_num_heads: 2n, kv_num_heads: 2n, is_causal: 1n, left_window_size: 1n },
  },
  "RotaryEmbedding of pairs": {
    op: "RotaryEmbedding",
    inputs: [floats("b", "s", 12), ...angles, ints(["b", "s"], 0, 1, 2, 5, 6, 7)],
    attributes: { num_heads: 2n, interleaved: 1n, rotary_embedding_dim: 4n },
  },
  "LinearAttention in a loop": {
    op: "LinearAttention",
    inputs: [
      floats("b", "t", 16),
      floats("b", "t", 8),
      floats("b", "t", 8),
      null,
      floats("b", "t", 2),
      floats("b", "t", 1),
    ],
    attributes: { q_num_heads: 4n, kv_num_heads: 2n },
  },
  "CausalConvWithState with a past": {
    op: "CausalConvWithState",
    inputs: [floats("b", 4, "s"), floats(4, 1, 3), floats(4), floats("b", 4, 2)],
    attributes: { activation: "silu" },
  },
  "NegativeLogLikelihoodLoss with ignored labels": {
    op: "NegativeLogLikelihoodLoss",
    inputs: [floats("b", 4, "s"), ints(["b", "s"], 0, 3, -7, 1, 2, -7), floats(4)],
    attributes: { ignore_index: -7n },
  },
  "SoftmaxCrossEntropyLoss": {
    op: "SoftmaxCrossEntropyLoss",
    inputs: [floats("b", 4), ints(["b"], 3, 0)],
  },
  "com.microsoft's Attention": {
    op: "Attention",
    domain: microsoft,
    inputs: [floats("b", "s", 5), floats(5, 24), floats(24), ints(["b"], 2, 3)],
    attributes: { num_heads: 2n, unidirectional: 1n },
  },
  "MultiHeadAttention with a past": {
    op: "MultiHeadAttention",
    domain: microsoft,
    inputs: [...qkv(2, 2), floats(24), null, null, ...cache(2)],
    attributes: { num_heads: 2n },
  },
  "GroupQueryAttention with rows of their own lengths": {
    op: "GroupQueryAttention",
    domain: microsoft,
    inputs: [...qkv(4, 2), ...cache(2), ints(["b"], 2, 4), ints([], 5), ...angles],
    attributes: { num_heads: 4n, kv_num_heads: 2n, do_rotary: 1n, local_window_size: 3n },
  },
  "MoE with a further product": {
    op: "MoE",
    domain: microsoft,
    inputs: [
      floats("b", "s", 4),
      floats(6, 3),
      ...[floats(3, 5, 4), floats(3, 5), floats(3, 4, 5), floats(3, 4), floats(3, 5, 4)],
    ],
    attributes: { k: 2n, activation_type: "silu", normalize_routing_weights: 1n },
  },
  "Rfft of two axes": {
    op: "Rfft",
    domain: microsoft,
    inputs: [floats("b", "s", 6)],
    attributes: { signal_ndim: 2n },
  },
  "Irfft": { op: "Irfft", domain: microsoft, inputs: [floats("b", 4, 2)] },
  "SkipSimplifiedLayerNormalization": {
    op: "SkipSimplifiedLayerNormalization",
    domain: microsoft,
    inputs: [floats("b", "s", 6), floats("b", "s", 6), floats(6)],
  },
  "FusedConv": {
    op: "FusedConv",
    domain: microsoft,
    inputs: [floats("b", 2, 5, 5), floats(3, 2, 3, 3), floats(3), floats("b", 3, 3, 3)],
    attributes: { activation: "Tanh" },
  },
};

/** Numbers between −½ and ½ that look unordered. */
function numbers(count: number, seed: number): number[] {
  return Array.from({ length: count }, (_, i) => Math.sin(12.9898 * (i + 1) + 78.233 * seed) / 2);
}

for (const [title, { op, domain = "", inputs, attributes }] of Object.entries(SUBJECTS)) {
  testOnDevices(`${title}: open shapes and gradients`, async (device) => {
    const given = inputs.flatMap((input, i) => input === null ? [] : [{ name: `i${i}`, ...input }]);
    const m = await loadOnnx(model({
      opset: 27,
      domains: [microsoft],
      nodes: [
        node(op, inputs.map((x, i) => x === null ? "" : `i${i}`), ["y"], attributes, domain),
      ],
      inputs: given.map(({ name, open, ints }) =>
        value(name, ints === undefined ? "float32" : "int32", open)
      ),
      outputs: [value("y", "float32", [])],
    }));
    const args = given.map(({ open, ints }, i) => {
      const shape = open.map((d) => typeof d === "number" ? d : EXTENTS[d]);
      return ints === undefined
        ? tf.tensor(numbers(shape.reduce((a, b) => a * b, 1), i), shape)
        : tf.tensor(ints, shape, "int32");
    });
    const call = (...xs: tf.Tensor[]): tf.Tensor =>
      m.call(Object.fromEntries(xs.map((x, i) => [given[i].name, x]))).y as tf.Tensor;
    const eager = call(...args),
      graph = tf.function(call, {
        inputSignature: given.map(({ open, ints }) =>
          tf.TensorSpec(
            open.map((d) => typeof d === "number" ? d : null),
            ints ? "int32" : "float32",
          )
        ),
      });
    const [a, b] = [await eager.data(), await graph(...args).data()];
    assert(a.length === b.length && a.every(Number.isFinite));
    a.forEach((v, i) => assertAlmostEquals(b[i], v, 1e-5));

    // Gradients are made of ops that have tests of their own on GPUs: the CPU tells of the rules.
    if (device !== "cpu") return m.dispose();
    const at = given.flatMap(({ ints }, i) => ints === undefined ? [i] : []);
    const loss = (...xs: tf.Tensor[]): tf.Tensor => {
      const all = [...args];
      at.forEach((place, i) => all[place] = xs[i]);
      return tf.sum(tf.square(call(...all)));
    };
    const points = at.map((i) => args[i]), grads = tf.grads(loss)(points);
    const steps = points.map((x, i) => tf.tensor(numbers(x.size, i + 20), x.shape));
    let slope = 0;
    for (const [i, g] of grads.entries()) slope += tf.sum(tf.mul(g!, steps[i])).dataSync()[0];
    const moved = (by: number) =>
      loss(...points.map((x, i) => tf.add(x, tf.mul(steps[i], by)))).dataSync()[0];
    const h = 1e-2, measured = (moved(h) - moved(-h)) / (2 * h);
    assertAlmostEquals(slope, measured, 1e-2 * Math.max(1, Math.abs(measured)));
    m.dispose();
  });
}

/** Computes one node of com.microsoft. */
async function compute(
  op: string,
  inputs: readonly (tf.Tensor | null)[],
  attributes: Readonly<Record<string, AttributeValue>>,
): Promise<ArrayLike<number>> {
  const given = inputs.flatMap((x, i) => x === null ? [] : [{ name: `i${i}`, x }]);
  const m = await loadOnnx(model({
    domains: [microsoft],
    nodes: [
      node(op, inputs.map((x, i) => x === null ? "" : `i${i}`), ["y"], attributes, microsoft),
    ],
    inputs: given.map(({ name, x }) => value(name, x.dtype, [...x.shape])),
    outputs: [value("y", "float32", [])],
  }));
  const { y } = await m.run(Object.fromEntries(given.map(({ name, x }) => [name, x])));
  m.dispose();
  return await (y as tf.Tensor).data() as Float32Array;
}

Deno.test("MultiHeadAttention and Attention read packed inputs and all forms of masks", async () => {
  await tf.setBackend("cpu");
  const [q, k, v] = [1, 2, 3].map((i) => tf.tensor(numbers(48, i), [2, 3, 2, 4]));
  const flat = [q, k, v].map((x) => tf.reshape(x, [2, 3, 8])), heads = { num_heads: 2n };
  const [x, w] = [flat[0], tf.tensor(numbers(192, 5), [8, 24])];
  const ints = (values: number[], shape: number[]) => tf.tensor(values, shape, "int32");
  const low = { ...heads, mask_filter_value: -1e4 };
  const masks = [
    ints([0, 1, 1, 1, 1, 0], [2, 3]),
    ints([3, 2, 1, 0], [4]),
    ints([0, 1, 1, 0, 1, 1, 0, 1, 1, 1, 1, 0, 1, 1, 0, 1, 1, 0], [2, 3, 3]),
  ];
  const pairs: [string, ArrayLike<number>, ArrayLike<number>][] = [];
  const mha = await compute("MultiHeadAttention", flat, heads);
  const all = tf.stack([q, k, v], 3), some = tf.stack([k, v], 3);
  pairs.push(["q, k, v", await compute("MultiHeadAttention", [all], heads), mha]);
  pairs.push(["k, v", await compute("MultiHeadAttention", [flat[0], some], heads), mha]);
  const [first, ...others] = await Promise.all(
    masks.map((mask) => compute("Attention", [x, w, null, mask], low)),
  );
  others.forEach((got, i) => pairs.push([`mask ${i + 1}`, got, first]));
  for (const [name, got, want] of pairs) {
    assert(got.length === want.length, name);
    Array.from(want, (b, i) => assertAlmostEquals(got[i], b, 1e-5, name));
  }
});

for (
  const [op, domain, attributes] of [
    ["Attention", "", { q_num_heads: 2n, kv_num_heads: 2n }],
    ["Attention", "", { q_num_heads: 2n, kv_num_heads: 2n, is_causal: 1n }],
    ["MultiHeadAttention", microsoft, { num_heads: 2n }],
  ] as const
) {
  Deno.test(`${op} with ${Object.keys(attributes)} is one op of a graph`, async () => {
    const names = ["q", "k", "v"];
    const m = await loadOnnx(model({
      opset: 23,
      domains: [microsoft],
      nodes: [node(op, names, ["y"], attributes, domain)],
      inputs: names.map((name) => value(name, "float32", [2, 3, 8])),
      outputs: [value("y", "float32", [2, 3, 8])],
    }));
    const lines = optimized(() => {
      const inputs = names.map((name) => [name, tf.placeholder("float32", [2, 3, 8], name)]);
      return m.call(Object.fromEntries(inputs)).y as tf.Tensor;
    }, ["cse", "attention"]);
    m.dispose();
    const counts = ["_FusedAttention", "Softmax", "BatchMatMulV2"].map((name) =>
      lines.filter((line) => line.includes(` ${name}`)).length
    );
    assertEquals(counts, [1, 0, 0], lines.join("\n"));
  });
}
