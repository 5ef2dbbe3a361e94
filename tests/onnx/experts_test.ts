/** Mixtures of experts, attention to blocks and transforms of onnxruntime: forms that its CPU kernels refuse, and invalid nodes. */
import { assertAlmostEquals, assertRejects } from "@std/assert";
import * as tf from "@weft/weft";
import { loadOnnx, type OnnxModel } from "@weft/weft/onnx";
import { testOnDevices } from "../devices.ts";
import { type AttributeValue, model, node, value } from "./make_model.ts";

type Inputs = readonly (tf.Tensor | null)[];
type Attributes = Readonly<Record<string, AttributeValue>>;

/** Loads one node of com.microsoft, for inputs like these. */
async function loaded(op: string, inputs: Inputs, attributes: Attributes): Promise<OnnxModel> {
  const given = inputs.flatMap((x, i) => x === null ? [] : [{ name: `i${i}`, x }]);
  return await loadOnnx(model({
    domains: ["com.microsoft"],
    nodes: [
      node(op, inputs.map((x, i) => x === null ? "" : `i${i}`), ["y"], attributes, "com.microsoft"),
    ],
    inputs: given.map(({ name, x }) => value(name, x.dtype, [...x.shape])),
    outputs: [value("y", "float32", [])],
  }));
}

async function compute(op: string, inputs: Inputs, attributes: Attributes): Promise<number[]> {
  const m = await loaded(op, inputs, attributes);
  try {
    const feeds = m.inputs.map(({ name }) => [name, inputs[Number(name.slice(1))]!]);
    return [
      ...await ((await m.run(Object.fromEntries(feeds))).y as tf.Tensor).data() as Float32Array,
    ];
  } finally {
    m.dispose();
  }
}

/** Numbers between −1 and 1 that look unordered. */
function numbers(seed: number, ...shape: number[]): tf.Tensor {
  const count = shape.reduce((a, b) => a * b, 1);
  return tf.tensor(
    Array.from({ length: count }, (_, i) => Math.sin(12.9898 * (i + 1) + 78.233 * seed)),
    shape,
  );
}

function assertClose(a: readonly number[], b: readonly number[]): void {
  if (a.length !== b.length) throw new Error(`${a.length} numbers, wanted ${b.length}`);
  a.forEach((x, i) => assertAlmostEquals(x, b[i], 2e-5));
}

testOnDevices(
  "MoE has its gates as neighbours, as halves, or as weights of their own",
  async () => {
    const x = numbers(1, 5, 6),
      scores = numbers(2, 5, 4),
      bias = numbers(3, 4, 3),
      gates = numbers(4, 4, 3, 6);
    const linear = numbers(5, 4, 3, 6), linearBias = numbers(6, 4, 3), out = numbers(7, 4, 6, 3);
    const attributes = {
      k: 2n,
      activation_type: "swiglu",
      activation_alpha: 1.5,
      activation_beta: 0.5,
      swiglu_limit: 0.8,
    };
    const apart = await compute(
      "MoE",
      [x, scores, gates, bias, out, null, linear, linearBias],
      attributes,
    );
    const halves = await compute(
      "MoE",
      [x, scores, tf.concat([gates, linear], 1), tf.concat([bias, linearBias], 1), out],
      { ...attributes, swiglu_fusion: 2n },
    );
    const mixed = (a: tf.Tensor, b: tf.Tensor): tf.Tensor =>
      tf.reshape(tf.stack([a, b], 2), [4, 6, ...a.shape.slice(2)]);
    const pairs = await compute(
      "MoE",
      [x, scores, mixed(gates, linear), mixed(bias, linearBias), out],
      { ...attributes, swiglu_fusion: 1n },
    );
    assertClose(halves, apart);
    assertClose(pairs, apart);
  },
);

testOnDevices("MoE gives a row the same result alone and among others", async () => {
  const x = numbers(1, 7, 6), scores = numbers(2, 7, 5);
  const weights = [numbers(3, 5, 8, 6), numbers(4, 5, 8), numbers(5, 5, 6, 8), numbers(6, 5, 6)];
  const all = await compute("MoE", [x, scores, ...weights], { k: 2n, activation_type: "gelu" });
  for (const row of [0, 6]) {
    const of = (t: tf.Tensor): tf.Tensor => tf.slice(t, [row, 0], [1, -1]);
    const one = await compute("MoE", [of(x), of(scores), ...weights], {
      k: 2n,
      activation_type: "gelu",
    });
    assertClose(one, all.slice(6 * row, 6 * row + 6));
  }
});

testOnDevices("MoE leaves out what other experts make infinite", async () => {
  const out = tf.tensor([[[1, 1]], [[Infinity, 1]]]), scores = tf.tensor([[2, 1], [2, 1], [2, 1]]);
  const y = await compute("MoE", [numbers(1, 3, 1), scores, tf.ones([2, 2, 1]), null, out], {
    activation_type: "identity",
    normalize_routing_weights: 1n,
  });
  const x = [...await numbers(1, 3, 1).data() as Float32Array];
  assertClose(y, x.map((v) => 2 * v));
});

/** Levels of `bits` in bytes, and the weights that they mean with their scales and zero points, in blocks of 16 along the last axis. */
function levelsOf(bits: number, shape: readonly [number, number, number], seed: number) {
  const [count, rows, inner] = shape, each = 8 / bits, blocks = inner / 16;
  const random = (size: number, below: number, by: number): number[] =>
    Array.from({ length: size }, (_, i) => Math.floor(Math.abs(Math.sin(i * by + seed)) * below));
  const levels = random(count * rows * inner, 2 ** bits, 1.7);
  const scales = random(count * rows * blocks, 100, 2.3).map((v) => (v + 1) / 100 / 2 ** bits);
  const perRow = Math.ceil(blocks / each), zeros: number[] = [], own: number[] = [];
  for (let row = 0; row < count * rows; row++) {
    const line = random(perRow * each, 2 ** bits, row + 0.9);
    zeros.push(...line);
    own.push(...line.slice(0, blocks));
  }
  const pack = (all: number[]): Uint8Array =>
    Uint8Array.from(
      { length: all.length / each },
      (_, i) =>
        all.slice(i * each, (i + 1) * each).reduce((byte, v, k) => byte + v * 2 ** (k * bits), 0),
    );
  const weights = levels.map((v, i) => {
    const block = Math.floor(i / 16);
    return (v - own[block]!) * Math.fround(scales[block]!);
  });
  return {
    bytes: tf.tensor(pack(levels), [count, rows, inner / each], "uint8"),
    scales: tf.tensor(scales, [count, rows, blocks]),
    zeros: tf.tensor(pack(zeros), [count, rows, perRow], "uint8"),
    weights: tf.tensor(weights, [...shape]),
  };
}

testOnDevices("QMoE computes what MoE does with the weights that its levels mean", async () => {
  for (const bits of [2, 4, 8]) {
    const [gates, out, linear] = ([[3, 48, 32], [3, 32, 48], [3, 48, 32]] as const)
      .map((shape, i) => levelsOf(bits, shape, i + bits));
    const biases = [numbers(7, 3, 48), numbers(8, 3, 32), numbers(9, 3, 48)];
    const own = { activation_type: "swiglu", activation_beta: 0.5, normalize_routing_weights: 1n };
    for (const shape of [[1, 32], [2, 2, 32], [5, 32]]) {
      const x = numbers(bits, ...shape), scores = numbers(2, x.size / 32, 3);
      const attributes = { ...own, k: 2n };
      const wanted = await compute(
        "MoE",
        [x, scores, ...[gates, out, linear].flatMap((l, i) => [l.weights, biases[i]!])],
        attributes,
      );
      const levels = [gates, out, linear];
      const got = await compute("QMoE", [
        x,
        scores,
        ...levels.flatMap((l, i) => [l.bytes, l.scales, biases[i]!]),
        ...levels.map((l) => l.zeros),
      ], { ...attributes, expert_weight_bits: BigInt(bits), block_size: 16n });
      assertClose(got, wanted);
    }
  }
});

testOnDevices("QMoE has the gradient of MoE with its weights", async () => {
  const [first, last] = ([[3, 16, 32], [3, 32, 16]] as const).map((s, i) => levelsOf(4, s, i));
  const make = (op: string, weights: Inputs, more: Attributes) =>
    loaded(op, [numbers(1, 4, 32), numbers(2, 4, 3), ...weights], { k: 2n, ...more });
  const attributes = { normalize_routing_weights: 1n, activation_type: "silu" };
  const weights = [first, last];
  const levels = weights.flatMap((l) => [l.bytes, l.scales, null]);
  const zeros = [null, null, null, ...weights.map((l) => l.zeros)];
  const models = [
    {
      m: await make("QMoE", [...levels, ...zeros], { ...attributes, block_size: 16n }),
      more: levels.concat(zeros),
    },
    {
      m: await make("MoE", weights.flatMap((l) => [l.weights, null]), attributes),
      more: weights.flatMap((l) => [l.weights, null]),
    },
  ];
  const [got, wanted] = models.map(({ m, more }) => {
    const feeds = Object.fromEntries(more.flatMap((x, i) => x === null ? [] : [[`i${i + 2}`, x]]));
    const f = (x: tf.Tensor, scores: tf.Tensor): tf.Tensor =>
      tf.sum(tf.square(m.call({ i0: x, i1: scores, ...feeds }).y as tf.Tensor));
    const [dx, dScores] = tf.grads(tf.function(f))([numbers(1, 4, 32), numbers(2, 4, 3)]);
    return [...dx.dataSync(), ...dScores.dataSync()] as number[];
  });
  const scale = Math.max(...wanted!.map(Math.abs));
  assertClose(got!.map((v) => v / scale), wanted!.map((v) => v / scale));
});

const BLOCKS = [
  tf.tensor([[0, 1, 3], [0, 1, 2]], [2, 3], "int32"),
  tf.tensor([[0, 0, 1], [0, 1, -1]], [2, 3], "int32"),
];
const HEADS = { num_heads: 2n, kv_num_heads: 1n, sparse_block_size: 4n };
const lengths = (...all: number[]): tf.Tensor => tf.tensor(all, [all.length], "int32");

testOnDevices(
  "SparseAttention takes rows of different lengths, each as if it were alone",
  async () => {
    const [q, k, v] = [numbers(1, 2, 2, 8), numbers(2, 2, 2, 4), numbers(3, 2, 2, 4)];
    const past = [numbers(4, 2, 1, 8, 4), numbers(5, 2, 1, 8, 4)];
    const both = await compute(
      "SparseAttention",
      [q, k, v, ...past, ...BLOCKS, lengths(7), lengths(7, 3)],
      HEADS,
    );
    for (const [row, length] of [7, 3].entries()) {
      const [a, b, c, ...pasts] = [q, k, v, ...past].map((t) => tf.gather(t, [row]));
      const one = await compute(
        "SparseAttention",
        [a, b, c, ...pasts, ...BLOCKS, lengths(length), lengths(length)],
        HEADS,
      );
      assertClose(both.slice(16 * row, 16 * row + 16), one);
    }
  },
);

testOnDevices("SparseAttention gives zeros to queries that see no block", async () => {
  const blocks = [tf.tensor([[0, 1, 1]], [1, 3], "int32"), tf.tensor([[0]], [1, 1], "int32")];
  const y = await compute("SparseAttention", [
    ...[numbers(1, 1, 6, 8), numbers(2, 1, 6, 4), numbers(3, 1, 6, 4)],
    ...[numbers(4, 1, 1, 8, 4), numbers(5, 1, 1, 8, 4), ...blocks, lengths(6), lengths(6)],
  ], HEADS);
  assertClose(y.slice(32), new Array(16).fill(0));
});

testOnDevices(
  "Rfft and Irfft of one axis and of two are Fourier sums, and undo each other",
  async () => {
    const x = numbers(1, 3, 4, 6), data = [...await x.data() as Float32Array];
    for (const axes of [1, 2]) {
      const attributes = { signal_ndim: BigInt(axes), onesided: 1n, normalized: 0n };
      const y = await compute("Rfft", [x], attributes), wanted: number[] = [];
      for (let i = 0; i < 3; i++) {
        for (let r = 0; r < 4; r++) {
          for (let f = 0; f < 4; f++) {
            let real = 0, imag = 0;
            for (let s = 0; s < 4; s++) {
              if (axes === 1 && s !== r) continue;
              for (let t = 0; t < 6; t++) {
                const angle = -2 * Math.PI * (f * t / 6 + (axes === 2 ? r * s / 4 : 0));
                real += data[(i * 4 + s) * 6 + t] * Math.cos(angle);
                imag += data[(i * 4 + s) * 6 + t] * Math.sin(angle);
              }
            }
            wanted.push(real, imag);
          }
        }
      }
      assertClose(y, wanted);
      assertClose(await compute("Irfft", [tf.tensor(y, [3, 4, 4, 2])], attributes), data);
    }
  },
);

Deno.test("nodes of experts, blocks and transforms that are not valid are refused by name", async () => {
  await tf.setBackend("cpu");
  const experts = [
    numbers(1, 2, 6),
    numbers(2, 2, 4),
    numbers(3, 4, 3, 6),
    null,
    numbers(5, 4, 6, 3),
  ];
  const blocks = (columns: number[], ends = [0, 1, 3]): Inputs => [
    ...[numbers(1, 1, 1, 8), numbers(2, 1, 1, 4), numbers(3, 1, 1, 4)],
    ...[numbers(4, 1, 1, 8, 4), numbers(5, 1, 1, 8, 4)],
    ...[tf.tensor([ends], [1, ends.length], "int32"), tf.tensor([columns], [1, 3], "int32")],
    ...[lengths(3), lengths(3)],
  ];
  const [first, last] = ([[3, 16, 16], [3, 16, 16]] as const).map((s, i) => levelsOf(4, s, i));
  const quantised = [
    ...[numbers(1, 2, 16), numbers(2, 2, 3), first.bytes, first.scales, null],
    ...[last.bytes, last.scales],
  ];
  const cases: [string, Inputs, Attributes, string][] = [
    ["MoE", experts, { k: 5n }, "k is 5, wanted 1 to 4 experts"],
    ["MoE", experts, { activation_type: "sine" }, 'the activation "sine" is not supported'],
    ["MoE", experts, { use_sparse_mixer: 1n }, "use_sparse_mixer is not supported"],
    ["MoE", experts, { activation_type: "swiglu" }, "its second layer is missing"],
    ["MoE", experts, { activation_type: "swiglu", swiglu_fusion: 1n }, "3 numbers are no pairs"],
    ["MatMulBnb4", [numbers(1, 2, 6)], {}, "weights of 4-bit and 8-bit floats are not supported"],
    ["BeamSearch", [numbers(1, 2, 6)], {}, "generate() runs the decoder within"],
    ["PagedAttention", [numbers(1, 2, 6)], {}, "it is a layout of onnxruntime's GPU kernels"],
    ["QMoE", quantised, { quant_type: "fp4" }, 'weights of the type "fp4" is not supported'],
    ["QMoE", quantised, { weights_prepacked: 1n }, "prepacked weights is not supported"],
    ["QMoE", quantised, { expert_weight_bits: 3n }, "a weight of 3 bits is not supported"],
    ["QMoE", quantised, { block_size: 24n }, "block_size is 24, wanted a power of two from 16 on"],
    ["QMoE", quantised, { block_size: 32n }, "blocks of 32 do not divide 16"],
    ["QMoE", quantised, {}, "input 3 has rank 3, wanted 2"],
    ["QMoE", quantised.with(3, null), { block_size: 16n }, "input 3 is missing"],
    ["SparseAttention", blocks([0, 0, 2]), HEADS, "a block of keys is 2, of 2"],
    ["SparseAttention", blocks([0, 0, 1], [0, 2, 1]), HEADS, "row 1 of its blocks is 2 to 1"],
    [
      "SparseAttention",
      blocks([0, 0, 1]),
      { ...HEADS, sparse_block_size: 2n },
      "room for 8 keys, its blocks for 4",
    ],
    [
      "SparseAttention",
      blocks([0, 0, 1]),
      { ...HEADS, sparse_block_size: 0n },
      "sparse_block_size is 0",
    ],
    ["Rfft", [numbers(1, 4)], { signal_ndim: 2n }, "signal_ndim is 2, for 1 axes"],
    ["Rfft", [numbers(1, 4)], { signal_ndim: 1n, onesided: 0n }, "both sides is not supported"],
    [
      "Irfft",
      [numbers(1, 3, 2)],
      { signal_ndim: 1n, normalized: 1n },
      "normalized transform is not supported",
    ],
    ["Irfft", [numbers(1, 3, 3)], { signal_ndim: 1n }, "no real and imaginary parts"],
  ];
  for (const [op, inputs, attributes, message] of cases) {
    await assertRejects(() => compute(op, inputs, attributes), Error, message);
  }
});
