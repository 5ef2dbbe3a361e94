// Elementwise work, where memory speed is the limit and fusion pays.

import { opRow } from "../op_row.ts";
import { spread } from "../random.ts";
import type { Row, Sample } from "../row.ts";

const MILLION = 1024 * 1024;

const FLOAT_BYTES = 4;

function samples(size: number, value: (index: number) => number): Sample[] {
  return spread(size).map((index) => ({ index, value: value(index) }));
}

/** Rows of this file. */
export const POINTWISE_ROWS: readonly Row[] = [
  opRow({
    id: "add_1m",
    what: "a + b, 1M elements",
    bytes: 3 * MILLION * FLOAT_BYTES,
    inputs: [[1024, 1024], [1024, 1024]],
    tf: (tf, a, b) => tf.add(a!, b!),
    jax: (_, a, b) => a!.add(b!),
    onnx: (graph, a, b) => graph.op("Add", [a!, b!]),
    expected: ([a, b]) => samples(MILLION, (i) => a![i]! + b![i]!),
  }),
  opRow({
    id: "fma_1m",
    what: "a * b + c, 1M elements",
    bytes: 4 * MILLION * FLOAT_BYTES,
    inputs: [[1024, 1024], [1024, 1024], [1024, 1024]],
    tf: (tf, a, b, c) => tf.add(tf.mul(a!, b!), c!),
    jax: (_, a, b, c) => a!.mul(b!).add(c!),
    onnx: (graph, a, b, c) => graph.op("Add", [graph.op("Mul", [a!, b!]), c!]),
    expected: ([a, b, c]) => samples(MILLION, (i) => a![i]! * b![i]! + c![i]!),
  }),
  opRow({
    id: "bias_relu_1m",
    what: "relu(a + bias of a row), 1024×1024",
    bytes: 2 * MILLION * FLOAT_BYTES,
    inputs: [[1024, 1024], [1024]],
    tf: (tf, a, bias) => tf.relu(tf.add(a!, bias!)),
    jax: ({ nn }, a, bias) => nn.relu(a!.add(bias!)),
    onnx: (graph, a, bias) => graph.op("Relu", [graph.op("Add", [a!, bias!])]),
    expected: ([a, bias]) => samples(MILLION, (i) => Math.max(0, a![i]! + bias![i % 1024]!)),
  }),
  opRow({
    id: "transcendental_1m",
    what: "tanh(exp(-a²) · b), 1M elements",
    bytes: 3 * MILLION * FLOAT_BYTES,
    inputs: [[1024, 1024], [1024, 1024]],
    tf: (tf, a, b) => tf.tanh(tf.mul(tf.exp(tf.neg(tf.square(a!))), b!)),
    jax: ({ numpy }, a, b) => numpy.tanh(numpy.exp(numpy.square(a!).neg()).mul(b!)),
    onnx(graph, a, b) {
      const bell = graph.op("Exp", [graph.op("Neg", [graph.op("Mul", [a!, a!])])]);
      return graph.op("Tanh", [graph.op("Mul", [bell, b!])]);
    },
    expected: ([a, b]) => samples(MILLION, (i) => Math.tanh(Math.exp(-(a![i]! ** 2)) * b![i]!)),
  }),
  opRow({
    id: "transpose_1m",
    what: "transpose of 1024×1024, plus 1",
    bytes: 2 * MILLION * FLOAT_BYTES,
    inputs: [[1024, 1024]],
    // The addition keeps a system from answering with a view.
    tf: (tf, a) => tf.add(tf.transpose(a!), 1),
    jax: ({ numpy }, a) => numpy.transpose(a!).add(1),
    onnx: (graph, a) => graph.op("Add", [graph.op("Transpose", [a!]), graph.scalar(1)]),
    expected: ([a]) => samples(MILLION, (i) => a![(i % 1024) * 1024 + Math.floor(i / 1024)]! + 1),
  }),
];
