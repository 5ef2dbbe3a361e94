// Reductions and what is made of them: sums, softmax, layer normalisation.

import { opRow } from "../op_row.ts";
import { spread } from "../random.ts";
import type { Row, Sample } from "../row.ts";

const ROWS = 1024;

const COLUMNS = 768;

const SIZE = ROWS * COLUMNS;

const FLOAT_BYTES = 4;

function rowOf(values: Float32Array, row: number): number[] {
  return Array.from(values.subarray(row * COLUMNS, (row + 1) * COLUMNS));
}

function sum(values: Iterable<number>): number {
  let total = 0;
  for (const value of values) total += value;
  return total;
}

/** Elements of a function of whole rows, in float64, at a few places. */
function rowSamples(values: Float32Array, of: (row: number[]) => (x: number) => number): Sample[] {
  return spread(SIZE).map((index) => {
    const row = rowOf(values, Math.floor(index / COLUMNS));
    return { index, value: of(row)(row[index % COLUMNS]!) };
  });
}

const EPSILON = 1e-5;

/** Rows of this file. */
export const REDUCE_ROWS: readonly Row[] = [
  opRow({
    id: "sum_rows",
    what: "sum over rows, 1024×768",
    bytes: SIZE * FLOAT_BYTES,
    inputs: [[ROWS, COLUMNS]],
    tf: (tf, x) => tf.sum(x!, -1),
    jax: (_, x) => x!.sum(1),
    onnx: (graph, x) => graph.op("ReduceSum", [x!, graph.integers(-1)], { keepdims: 0 }),
    expected: ([x]) => spread(ROWS).map((index) => ({ index, value: sum(rowOf(x!, index)) })),
  }),
  opRow({
    id: "sum_all",
    what: "sum of all, 1024×768",
    bytes: SIZE * FLOAT_BYTES,
    inputs: [[ROWS, COLUMNS]],
    tf: (tf, x) => tf.sum(x!),
    jax: (_, x) => x!.sum(),
    onnx: (graph, x) => graph.op("ReduceSum", [x!], { keepdims: 0 }),
    expected: ([x]) => [{ index: 0, value: sum(x!) }],
    // The sum of a million normals of mixed sign is small beside its terms.
    tolerance: 1e-2,
  }),
  opRow({
    id: "max_columns",
    what: "max over columns, 1024×768",
    bytes: SIZE * FLOAT_BYTES,
    inputs: [[ROWS, COLUMNS]],
    tf: (tf, x) => tf.max(x!, 0),
    jax: ({ numpy }, x) => numpy.max(x!, 0),
    onnx: (graph, x) => graph.op("ReduceMax", [x!, graph.integers(0)], { keepdims: 0 }),
    expected: ([x]) =>
      spread(COLUMNS).map((index) => ({
        index,
        value: Math.max(...Array.from({ length: ROWS }, (_, row) => x![row * COLUMNS + index]!)),
      })),
  }),
  opRow({
    id: "softmax",
    what: "softmax, 1024×768",
    bytes: 2 * SIZE * FLOAT_BYTES,
    inputs: [[ROWS, COLUMNS]],
    tf: (tf, x) => tf.softmax(x!),
    jax: ({ nn }, x) => nn.softmax(x!),
    onnx: (graph, x) => graph.op("Softmax", [x!]),
    expected: ([x]) =>
      rowSamples(x!, (row) => {
        const total = sum(row.map(Math.exp));
        return (value) => Math.exp(value) / total;
      }),
  }),
  opRow({
    id: "layer_norm",
    what: "layer norm with scale and offset, 1024×768",
    bytes: 2 * SIZE * FLOAT_BYTES,
    inputs: [[ROWS, COLUMNS]],
    tf(tf, x) {
      const mean = tf.mean(x!, -1, true);
      const centred = tf.sub(x!, mean);
      const variance = tf.mean(tf.square(centred), -1, true);
      return tf.add(tf.mul(tf.mul(centred, tf.rsqrt(tf.add(variance, EPSILON))), 1.5), 0.5);
    },
    jax({ numpy }, x) {
      const mean = numpy.mean(x!.ref, 1, { keepdims: true });
      const centred = x!.sub(mean);
      const variance = numpy.mean(numpy.square(centred.ref), 1, { keepdims: true });
      return centred.div(numpy.sqrt(variance.add(EPSILON))).mul(1.5).add(0.5);
    },
    onnx(graph, x) {
      const [scale, offset] = [1.5, 0.5]
        .map((value) => graph.constant(new Float32Array(COLUMNS).fill(value), [COLUMNS]));
      return graph.op("LayerNormalization", [x!, scale!, offset!], { epsilon: { float: EPSILON } });
    },
    expected: ([x]) =>
      rowSamples(x!, (row) => {
        const mean = sum(row) / COLUMNS;
        const variance = sum(row.map((value) => (value - mean) ** 2)) / COLUMNS;
        return (value) => (value - mean) / Math.sqrt(variance + EPSILON) * 1.5 + 0.5;
      }),
  }),
];
