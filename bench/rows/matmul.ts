// Matrix products: squares, an odd size, and the shapes of GPT-2 small and BERT.

import { type OpRow, opRow } from "../op_row.ts";
import { spread } from "../random.ts";
import type { Row, Sample } from "../row.ts";

/** Elements of a product [m, k] × [k, n] in float64, at a few places, after an optional function. */
function productSamples(
  [a, b]: readonly Float32Array[],
  [m, k, n]: readonly [number, number, number],
  after: (x: number) => number = (x) => x,
): Sample[] {
  return spread(m * n).map((index) => {
    const [row, column] = [Math.floor(index / n), index % n];
    let sum = 0;
    for (let i = 0; i < k; i++) sum += a![row * k + i]! * b![i * n + column]!;
    return { index, value: after(sum) };
  });
}

function product(
  id: string,
  what: string,
  [m, k, n]: readonly [number, number, number],
  options: Pick<OpRow, "heavy" | "weights" | "onnx"> = {},
): Row {
  return opRow({
    id,
    what: `${what} [${m}, ${k}] × [${k}, ${n}]`,
    flop: 2 * m * k * n,
    inputs: [[m, k], [k, n]],
    tf: (tf, a, b) => tf.matMul(a!, b!),
    jax: ({ numpy }, a, b) => numpy.matmul(a!, b!),
    onnx: (graph, a, b) => graph.op("MatMul", [a!, b!]),
    expected: (values) => productSamples(values, [m, k, n]),
    ...options,
  });
}

function gelu(x: number): number {
  return 0.5 * x * (1 + Math.tanh(Math.sqrt(2 / Math.PI) * (x + 0.044715 * x ** 3)));
}

const FC_SHAPE = [128, 768, 3072] as const;

/** Product with a bias and GELU after it: what a good runtime does in one kernel. */
const fcGelu: Row = opRow({
  id: "gpt2_fc_gelu",
  what: "GPT-2 fc, bias and GELU [128, 768] × [768, 3072]",
  flop: 2 * FC_SHAPE[0] * FC_SHAPE[1] * FC_SHAPE[2],
  inputs: [[128, 768], [768, 3072], [3072]],
  deviation: 0.3,
  tf(tf, x, w, bias) {
    const y = tf.add(tf.matMul(x!, w!), bias!);
    const cubic = tf.add(y, tf.mul(tf.mul(tf.square(y), y), 0.044715));
    return tf.mul(tf.mul(y, 0.5), tf.add(tf.tanh(tf.mul(cubic, Math.sqrt(2 / Math.PI))), 1));
  },
  jax: ({ numpy, nn }, x, w, bias) => nn.gelu(numpy.matmul(x!, w!).add(bias!)),
  onnx(graph, x, w, bias) {
    const y = graph.op("Add", [graph.op("MatMul", [x!, w!]), bias!]);
    return graph.op("Gelu", [y], { approximate: "tanh" });
  },
  weights: [1, 2],
  expected([x, w, bias]) {
    return productSamples([x!, w!], FC_SHAPE)
      .map(({ index, value }) => ({ index, value: gelu(value + bias![index % FC_SHAPE[2]]!) }));
  },
  // jax-js computes GELU by its own approximation.
  tolerance: 1e-3,
});

/** Rows of this file. */
export const MATMUL_ROWS: readonly Row[] = [
  product("mm64", "matmul", [64, 64, 64]),
  product("mm256", "matmul", [256, 256, 256]),
  product("mm512", "matmul", [512, 512, 512]),
  product("mm1024", "matmul", [1024, 1024, 1024]),
  product("mm1021", "matmul, prime size", [1021, 1021, 1021]),
  product("mm509", "matmul, odd sizes", [509, 1021, 257]),
  product("mm2048", "matmul", [2048, 2048, 2048], { heavy: true }),
  product("mm4096", "matmul", [4096, 4096, 4096], { heavy: true }),
  product("matvec", "matrix times vector", [4096, 4096, 1], {
    weights: [0],
    // The form that exporters give a dense layer; as a product with a column it takes three times as long.
    onnx: (graph, matrix, vector) =>
      graph.op("Gemm", [graph.op("Reshape", [vector!, graph.integers(1, 4096)]), matrix!], {
        transB: 1,
      }),
  }),
  product("gpt2_qkv", "GPT-2 qkv", [128, 768, 2304], { weights: [1] }),
  fcGelu,
  product("gpt2_proj2", "GPT-2 projection", [128, 3072, 768], { weights: [1] }),
  product("gpt2_logits", "GPT-2 logits (154 MB of weights)", [1, 768, 50257], {
    heavy: true,
    weights: [1],
  }),
  product("bert_ffn", "BERT feed-forward", [384, 768, 3072], { weights: [1] }),
];
