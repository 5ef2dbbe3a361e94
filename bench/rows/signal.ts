// Fourier transforms: of one row and of many, of lengths with small factors and of primes, of two axes, and of the frames of a signal.
// TensorFlow.js's WebAssembly has no kernel for them, jax-js and onnxruntime-web no complex numbers.

import type { Tensor } from "@tensorflow/tfjs-core";
import { type Weft, weftOutput, type WeftPeer } from "../peers/weft.ts";
import { normals, sizeOf, spread } from "../random.ts";
import type { Case, Row, Sample } from "../row.ts";

/** The functions that make and transform complex numbers. */
interface Transforms {
  complex(re: Tensor, im: Tensor): Tensor;
  fft(x: Tensor): Tensor;
  rfft(x: Tensor): Tensor;
  irfft(x: Tensor): Tensor;
  fft2d(x: Tensor): Tensor;
  readonly signal: {
    stft(x: Tensor, length: number, step: number, size: number): Tensor;
  };
}

/** Parts of complex numbers, or real ones. */
type Parts = readonly Float32Array<ArrayBuffer>[];

/** A row of a transform; `sum` gives its bins in float64, or its numbers. */
interface Transform {
  readonly shape: readonly number[];
  readonly parts: 1 | 2;
  /** Floating point operations, as they are counted: 5 n log2 n of complex rows, half of real ones. */
  readonly flop: number;
  readonly run: (tf: Transforms, x: Tensor) => Tensor;
  readonly expected: (x: Parts) => Sample[];
  readonly tolerance?: number;
}

function transformRow(id: string, what: string, of: Transform): Row {
  const { shape, parts, flop, run, expected, tolerance = 1e-5 } = of;
  const values = (): Parts =>
    Array.from({ length: parts }, (_, i) => normals(sizeOf(shape), i + 1));
  function caseOf({ tf }: WeftPeer, isFunction: boolean): Case {
    const own = tf as unknown as Transforms & Pick<Weft, "function">;
    const [re, im] = values().map((v) => tf.tensor(v, [...shape]));
    const x = im ? own.complex(re!, im) : re!;
    const call = isFunction ? own.function((x: Tensor) => run(own, x)) : (x: Tensor) => run(own, x);
    return { call: () => weftOutput(tf, call(x)), dispose: () => tf.dispose([x]) };
  }
  return {
    id,
    what: `${what} [${shape}]`,
    flop,
    devices: ["cpu"],
    weft: (peer) => caseOf(peer, false),
    weftFunction: (peer) => caseOf(peer, true),
    check: { expected: () => expected(values()), tolerance },
  };
}

/** A bin of a row by its definition. */
function bin([re, im]: Parts, first: number, n: number, k: number): [number, number] {
  let a = 0, b = 0;
  for (let j = 0; j < n; j++) {
    const angle = -2 * Math.PI * (j * k % n) / n, c = Math.cos(angle), s = Math.sin(angle);
    const x = re![first + j]!, y = im?.[first + j] ?? 0;
    a += x * c - y * s;
    b += x * s + y * c;
  }
  return [a, b];
}

/** Some numbers of the transform of each row of `n`, of which `bins` are given. */
function bins(x: Parts, n: number, bins: number): Sample[] {
  const rows = x[0]!.length / n;
  return spread(rows * bins, n > 5e5 ? 4 : 24).flatMap((at) => {
    const pair = bin(x, Math.floor(at / bins) * n, n, at % bins);
    return pair.map((value, part) => ({ index: 2 * at + part, value }));
  });
}

const rowFlop = (rows: number, n: number, parts: 1 | 2): number =>
  parts * 2.5 * rows * n * Math.log2(n);

function complexRow(id: string, rows: number, n: number): Row {
  return transformRow(id, "fft", {
    shape: rows === 1 ? [n] : [rows, n],
    parts: 2,
    flop: rowFlop(rows, n, 2),
    run: (tf, x) => tf.fft(x),
    expected: (x) => bins(x, n, n),
  });
}

const SIDE = 512, BATCH = 64, LENGTH = 1024, SECOND = 16_000;

/** Rows of this file. */
export const SIGNAL_ROWS: readonly Row[] = [
  complexRow("fft64", 1, 64),
  complexRow("fft1024", 1, LENGTH),
  complexRow("fft65536", 1, 65_536),
  complexRow("fft1m", 1, 2 ** 20),
  complexRow("fft64_batch", 256, 64),
  complexRow("fft1024_batch", BATCH, LENGTH),
  complexRow("fft1000_batch", BATCH, 1000),
  complexRow("fft1009_batch", 16, 1009),
  complexRow("fft15_batch", 1000, 15),
  complexRow("fft10007", 1, 10_007),
  transformRow("fft2d512", "fft2d", {
    shape: [SIDE, SIDE],
    parts: 2,
    flop: rowFlop(2 * SIDE, SIDE, 2),
    run: (tf, x) => tf.fft2d(x),
    expected(x) {
      // The first row is the transform of the sums of columns.
      const sums = x.map((part) => {
        const sum = new Float32Array(SIDE);
        for (let i = 0; i < part.length; i++) sum[i % SIDE]! += part[i]!;
        return sum;
      });
      return bins(sums, SIDE, SIDE);
    },
  }),
  transformRow("rfft1024_batch", "rfft", {
    shape: [BATCH, LENGTH],
    parts: 1,
    flop: rowFlop(BATCH, LENGTH, 1),
    run: (tf, x) => tf.rfft(x),
    expected: (x) => bins(x, LENGTH, LENGTH / 2 + 1),
  }),
  transformRow("irfft1024_batch", "irfft", {
    shape: [BATCH, LENGTH / 2 + 1],
    parts: 2,
    flop: rowFlop(BATCH, LENGTH, 1),
    run: (tf, x) => tf.irfft(x),
    expected([re, im]) {
      const half = LENGTH / 2, row = half + 1;
      return spread(BATCH * LENGTH, 24).map((index) => {
        const first = Math.floor(index / LENGTH) * row, j = index % LENGTH;
        let sum = re![first]! + re![first + half]! * (j % 2 === 0 ? 1 : -1);
        for (let k = 1; k < half; k++) {
          const angle = 2 * Math.PI * (j * k % LENGTH) / LENGTH;
          sum += 2 * (re![first + k]! * Math.cos(angle) - im![first + k]! * Math.sin(angle));
        }
        return { index, value: sum / LENGTH };
      });
    },
  }),
  transformRow("stft_second", "stft, frames of 400 each 160", {
    shape: [SECOND],
    parts: 1,
    flop: rowFlop(98, 512, 1),
    run: (tf, x) => tf.signal.stft(x, 400, 160, 512),
    expected([x]) {
      const frame = new Float32Array(512);
      for (let j = 0; j < 400; j++) {
        frame[j] = x![j]! * (0.5 - 0.5 * Math.cos(2 * Math.PI * j / 400));
      }
      return bins([frame], 512, 257);
    },
  }),
];
