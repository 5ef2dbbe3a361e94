// Rows that fill a GPU: what is held against its limits. Work on memory is above 64 MB, where caches do not help.

import type { Tensor } from "@tensorflow/tfjs-core";
import { type OpRow, opRow } from "../op_row.ts";
import { type Weft, weftOutput } from "../peers/weft.ts";
import { spread, uniform } from "../random.ts";
import type { Row, Sample } from "../row.ts";

/** Uniform numbers of mean 0, made once and cut to size: drawing a hundred million takes too long. */
const drawn: Float32Array = (() => {
  const next = uniform(1);
  return Float32Array.from({ length: 1_000_003 }, () => 2 * next() - 1);
})();

function valuesOf(shape: readonly number[], seed: number): Float32Array<ArrayBuffer> {
  const values = new Float32Array(shape.reduce((a, b) => a * b, 1));
  for (let at = -seed * 1009; at < values.length; at += drawn.length) {
    const from = Math.max(0, -at);
    values.set(drawn.subarray(from, Math.min(drawn.length, values.length - at)), at + from);
  }
  return values;
}

function largeRow(row: Omit<OpRow, "makeInputs">): Row {
  return opRow({ ...row, makeInputs: () => row.inputs.map((shape, i) => valuesOf(shape, i)) });
}

interface ProductOptions {
  readonly transA?: boolean;
  readonly transB?: boolean;
  readonly batch?: number;
  /** Operands and result of two bytes an element; TensorFlow.js has no such dtype. */
  readonly half?: boolean;
}

/** A product, checked at a few places. */
function product(
  id: string,
  [m, k, n]: readonly [number, number, number],
  { transA = false, transB = false, batch, half = false }: ProductOptions = {},
): Row[] {
  const lead = batch === undefined ? [] : [batch];
  const a = [...lead, ...(transA ? [k, m] : [m, k])], b = [...lead, ...(transB ? [n, k] : [k, n])];
  const apply = (tf: Weft, x: Tensor, y: Tensor): Tensor => tf.matMul(x, y, transA, transB);
  const row = (suffix: string, more: Partial<OpRow>): OpRow => ({
    id: id + suffix,
    what: `matmul${suffix} [${a}]${transA ? "ᵀ" : ""} × [${b}]${transB ? "ᵀ" : ""}`,
    flop: 2 * (batch ?? 1) * m * k * n,
    inputs: [a, b],
    tf: (tf, x, y) => tf.matMul(x!, y!, transA, transB),
    expected: ([x, y]) =>
      spread((batch ?? 1) * m * n, 16).map((index): Sample => {
        const z = Math.floor(index / (m * n)), i = Math.floor(index / n) % m, j = index % n;
        let sum = 0;
        for (let t = 0; t < k; t++) {
          sum += x![z * m * k + (transA ? t * m + i : i * k + t)]! *
            y![z * k * n + (transB ? j * k + t : t * n + j)]!;
        }
        return { index, value: sum };
      }),
    ...more,
  });
  const swap = [...lead.map((_, i) => i), lead.length + 1, lead.length];
  const full = largeRow({
    ...row("", {}),
    jax: ({ numpy }, x, y) =>
      numpy.matmul(
        transA ? numpy.transpose(x!, swap) : x!,
        transB ? numpy.transpose(y!, swap) : y!,
      ),
  });
  return half ? [full, halfRow(row("_f16", { tolerance: 2e-2 }), apply)] : [full];
}

/** The same with operands that are float16 before the clock starts; only Weft has that dtype. */
function halfRow(row: OpRow, apply: (tf: Weft, ...inputs: Tensor[]) => Tensor): Row {
  const { id, what, flop, check } = largeRow(row);
  return {
    id,
    what,
    flop: flop!,
    check: check!,
    weft({ tf }) {
      const inputs = row.inputs.map((shape, i) =>
        tf.tidy(() => tf.cast(tf.tensor(valuesOf(shape, i), [...shape]), "float16" as "float32"))
      );
      const call = () => {
        const y = apply(tf, ...inputs);
        return {
          data: async () => {
            const wide = tf.cast(y, "float32");
            const values = await wide.data();
            wide.dispose();
            return values;
          },
          dispose: () => y.dispose(),
          async firstElement() {
            const first = tf.tidy(() => tf.slice(tf.reshape(y, [-1]), [0], [1]));
            await first.data();
            first.dispose();
          },
        };
      };
      return { call, dispose: () => tf.dispose(inputs) };
    },
  };
}

/** Work on matrices of this shape that takes as long as reading and writing them. */
function memoryRows(rows: number, columns: number): readonly OpRow[] {
  const shape = [rows, columns], bytes = 4 * rows * columns;
  const rowValues = (x: Float32Array, index: number): Float32Array => {
    const start = Math.floor(index / columns) * columns;
    return x.subarray(start, start + columns);
  };
  const somewhere = (value: (index: number) => number): Sample[] =>
    spread(rows * columns, 16).map((index) => ({ index, value: value(index) }));
  return [
    {
      id: "neg_72mib",
      what: "-x",
      bytes: 2 * bytes,
      inputs: [shape],
      tf: (tf, x) => tf.neg(x!),
      jax: (_, x) => x!.neg(),
      expected: ([x]) => somewhere((i) => -x![i]!),
    },
    {
      id: "add_72mib",
      what: "a + b",
      bytes: 3 * bytes,
      inputs: [shape, shape],
      tf: (tf, a, b) => tf.add(a!, b!),
      jax: (_, a, b) => a!.add(b!),
      expected: ([a, b]) => somewhere((i) => a![i]! + b![i]!),
    },
    {
      id: "transpose_72mib",
      what: "transpose",
      bytes: 2 * bytes,
      inputs: [shape],
      tf: (tf, x) => tf.transpose(x!),
      expected: ([x]) => somewhere((i) => x![i % rows * columns + Math.floor(i / rows)]!),
    },
    {
      id: "softmax_72mib",
      what: "softmax of rows",
      bytes: 2 * bytes,
      inputs: [shape],
      tf: (tf, x) => tf.softmax(x!),
      jax: ({ nn }, x) => nn.softmax(x!),
      expected: ([x]) =>
        somewhere((i) =>
          Math.exp(x![i]!) / rowValues(x!, i).reduce((sum, v) => sum + Math.exp(v), 0)
        ),
    },
    {
      id: "layer_norm_72mib",
      what: "mean 0, variance 1 of rows",
      bytes: 2 * bytes,
      inputs: [shape],
      tf(tf, x) {
        const centred = tf.sub(x!, tf.mean(x!, -1, true));
        return tf.mul(
          centred,
          tf.rsqrt(tf.add(tf.mean(tf.square(centred), -1, true), 1e-5)),
        );
      },
      expected: ([x]) =>
        somewhere((i) => {
          const row = rowValues(x!, i), mean = row.reduce((s, v) => s + v, 0) / columns;
          const variance = row.reduce((s, v) => s + (v - mean) ** 2, 0) / columns;
          return (x![i]! - mean) / Math.sqrt(variance + 1e-5);
        }),
    },
    {
      id: "sum_rows_72mib",
      what: "sums of rows",
      bytes,
      inputs: [shape],
      tf: (tf, x) => tf.sum(x!, -1),
      jax: (_, x) => x!.sum(1),
      expected: ([x]) =>
        spread(rows, 16).map((index) => ({
          index,
          value: rowValues(x!, index * columns).reduce((s, v) => s + v, 0),
        })),
    },
    {
      id: "max_columns_72mib",
      what: "maxima of columns",
      bytes,
      inputs: [shape],
      tf: (tf, x) => tf.max(x!, 0),
      jax: ({ numpy }, x) => numpy.max(x!, 0),
      expected: ([x]) =>
        spread(columns, 16).map((index) => {
          let value = -Infinity;
          for (let i = index; i < x!.length; i += columns) value = Math.max(value, x![i]!);
          return { index, value };
        }),
    },
  ];
}

/** Rows and columns of the large matrices: 72 MiB of float32, more than caches hold and less than the default limits bind. */
const LARGE = [6144, 3072] as const;

/** One row times a matrix of weights, as in decoding: what it takes is reading the weights, so many bytes an element. */
function decodeRows(n: number): readonly Row[] {
  type Quantize = { quantize(x: Tensor, options: { bits: number }): Tensor };
  const kinds: Readonly<
    Record<string, readonly [bytes: number, of: (tf: Weft, w: Tensor) => Tensor]>
  > = {
    f32: [4, (tf, w) => tf.clone(w)],
    f16: [2, (tf, w) => tf.cast(w, "float16" as "float32")],
    q8: [1 + 4 / 32, (tf, w) => (tf as unknown as Quantize).quantize(w, { bits: 8 })],
    q4: [0.5 + 4 / 32, (tf, w) => (tf as unknown as Quantize).quantize(w, { bits: 4 })],
  };
  return Object.entries(kinds).map(([kind, [bytes, weightsOf]]): Row => ({
    id: `decode_${kind}`,
    what: `[1,${n}] × weights [${n},${n}] in ${kind}`,
    bytes: bytes * n * n,
    weft({ tf }) {
      const [x, w] = [[1, n], [n, n]].map((shape, i) => tf.tensor(valuesOf(shape, i), shape));
      const weights = weightsOf(tf, w!), row = kind === "f16" ? weightsOf(tf, x!) : x!;
      w!.dispose();
      return {
        call: () => weftOutput(tf, tf.matMul(row, weights)),
        dispose: () => tf.dispose([x!, weights]),
      };
    },
  }));
}

/** Rows of this file; with `small` they only show that all of them run. */
export function largeRows(small: boolean): readonly Row[] {
  const n = small ? 128 : 4096, [rows, columns] = small ? [256, 128] as const : LARGE;
  return [
    ...product("large_4096", [n, n, n], { half: true }),
    ...product("large_4096_tb", [n, n, n], { transB: true }),
    ...product("large_4096_ta", [n, n, n], { transA: true }),
    ...product("large_4095", [n - 1, n + 1, n - 3]),
    ...decodeRows(small ? 256 : 8192),
    ...product("large_batch", [n / 4, n / 4, n / 4], { batch: 16 }),
    ...memoryRows(rows, columns).map((row) =>
      largeRow({ ...row, what: `${row.what}, ${rows}×${columns} of float32` })
    ),
  ];
}
