/** Vector code of Fourier transforms beside loops in float64, for lengths of each kind, rows that fill no vector, and both precisions. */
import { assert, assertEquals } from "@std/assert";
import type { DType } from "../../src/engine/core/dtype.ts";
import { NdArray } from "../../src/engine/core/nd_array.ts";
import {
  fftCpu,
  irfftAdjointCpu,
  irfftCpu,
  rfftAdjointCpu,
  rfftCpu,
} from "../../src/engine/kernels/host/spectral/rows.ts";
import { some } from "../effort.ts";
import { ENGINES, randomSource } from "../devices/cpu/engines.ts";
import { op, runFast } from "../devices/cpu/kernel_runs.ts";

type Data = Float32Array<ArrayBuffer> | Float64Array<ArrayBuffer>;

/** Lengths of one stage and of several, with each last radix; of rows that are matrices; with great factors. */
const LENGTHS = [
  ...[2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 14, 15, 16, 20, 21, 28, 32, 35, 60, 64, 80, 96, 112, 128],
  ...[11, 13, 22, 97, 121, 1009],
  ...[63, 75, 81, 243, 343, 486, 1000, 1024, 2187, 4096],
];
const LONG = [32768, 60000, 65536, 10007];
const ROWS = [1, 2, 3, 4, 5, 9, 17];

/** Root of the mean square error, relative to that of the result. */
const BOUND = { narrow: 4e-7, wide: 2e-15 };

const next = randomSource(7);

function numbers(dtype: DType, shape: number[]): NdArray {
  const isComplex = /complex/.test(dtype), size = shape.reduce((n, d) => n * d, isComplex ? 2 : 1);
  const x = NdArray.zeros(dtype, shape), data = x.data as Data;
  for (let i = 0; i < size; i++) data[i] = next() - 0.5;
  return x;
}

/** The same numbers in float64, and zeros for results. */
function widened({ dtype, shape, data }: NdArray): NdArray {
  const wide = /complex/.test(dtype) ? "complex128" : "float64";
  return new NdArray(wide, shape, Float64Array.from(data as Data));
}
function zeros(dtype: DType, shape: number[]): NdArray {
  return NdArray.zeros(dtype, shape);
}

function assertNear(found: NdArray, wanted: NdArray, isWide: boolean, what: string): void {
  const a = found.data as Data, b = wanted.data as Data;
  assertEquals(found.shape, wanted.shape, what);
  let far = 0, all = 0;
  b.forEach((v, i) => {
    far += (a[i] - v) ** 2;
    all += v * v;
  });
  const error = Math.sqrt(far / (all || 1)), bound = isWide ? BOUND.wide : BOUND.narrow;
  assert(error < bound, `${what}: ${error}`);
}

const PRECISIONS = [["float32", "complex64"], ["float64", "complex128"]] as const;
const lengthOf = (n: number): NdArray => new NdArray("int32", [1], Int32Array.of(n));

for (const [name, engine] of ENGINES) {
  Deno.test(`transforms of complex rows are those in float64: ${name}`, () => {
    for (const n of [...LENGTHS, ...LONG]) {
      for (const rows of n > 5000 ? [2] : some(ROWS, 3)) {
        for (const [, complex] of PRECISIONS) {
          const x = numbers(complex, [rows, n]), wanted = zeros("complex128", [rows, n]);
          for (const inverse of [false, true]) {
            fftCpu(widened(x), inverse, wanted);
            const [y] = runFast(engine, op(inverse ? "IFFT" : "FFT"), [x])!;
            assertNear(y, wanted, complex === "complex128", `${inverse} ${rows} of ${n}`);
          }
        }
      }
    }
  });

  Deno.test(`transforms of real rows and their adjoints, cut or padded, are those in float64: ${name}`, () => {
    for (const n of some(LENGTHS.filter((n) => n > 3), 16)) {
      const bins = (n >> 1) + 1;
      for (const more of [0, 3, -2]) {
        for (const rows of [1, 3, 18]) {
          for (const [real, complex] of PRECISIONS) {
            const width = n + more, given = bins + more, wide = real === "float64";
            const what = `${n} of ${width}, ${rows} rows`;
            if (given < 1) continue;
            const x = numbers(real, [rows, width]), half = zeros("complex128", [rows, bins]);
            rfftCpu(widened(x), n, half);
            const attrs = { Treal: real, Tcomplex: complex };
            const run = (name: string, x: NdArray, size?: number): NdArray =>
              runFast(
                engine,
                op(name),
                [x, lengthOf(n), ...(size === undefined ? [] : [lengthOf(size)])],
                attrs,
              )![0];
            assertNear(run("RFFT", x), half, wide, `rfft ${what}`);

            const g = numbers(complex, [rows, bins]), back = zeros("float64", [rows, width]);
            rfftAdjointCpu(widened(g), n, back);
            assertNear(run("_RFFTAdjoint", g, width), back, wide, `adjoint of rfft ${what}`);

            const z = numbers(complex, [rows, given]), whole = zeros("float64", [rows, n]);
            irfftCpu(widened(z), n, whole);
            assertNear(run("IRFFT", z), whole, wide, `irfft ${what}`);

            const w = numbers(real, [rows, n]), dual = zeros("complex128", [rows, given]);
            irfftAdjointCpu(widened(w), n, dual);
            assertNear(run("_IRFFTAdjoint", w, given), dual, wide, `adjoint of irfft ${what}`);
          }
        }
      }
    }
  });

  Deno.test(`transforms along other axes are those of transposed rows: ${name}`, () => {
    const shapes = [[4, 8], [5, 3], [16, 1], [2, 12, 7], [3, 64, 33], [2, 81, 5], [7, 2, 3, 4]];
    for (const shape of shapes) {
      for (const [, complex] of PRECISIONS) {
        for (let axis = -shape.length; axis < -1; axis++) {
          for (const inverse of [false, true]) {
            const x = numbers(complex, shape), n = shape.at(axis)!;
            const inner = shape.slice(shape.length + axis + 1).reduce((a, b) => a * b, 1);
            const wide = widened(x).data as Float64Array, wanted = zeros("complex128", shape);
            const row = zeros("complex128", [1, n]), made = zeros("complex128", [1, n]);
            const a = row.data as Float64Array, b = made.data as Float64Array;
            for (let first = 0; first < wide.length / 2; first += n * inner) {
              for (let lane = first; lane < first + inner; lane++) {
                const place = (k: number) => 2 * (lane + k * inner);
                for (let k = 0; k < n; k++) a.set(wide.subarray(place(k), place(k) + 2), 2 * k);
                fftCpu(row, inverse, made);
                for (let k = 0; k < n; k++) {
                  (wanted.data as Float64Array).set(b.subarray(2 * k, 2 * k + 2), place(k));
                }
              }
            }
            const [y] = runFast(engine, op("_FFTAlong"), [x], { axis, inverse })!;
            assertNear(y, wanted, complex === "complex128", `axis ${axis} of ${shape}`);
          }
        }
      }
    }
  });

  Deno.test(`NaN stays in its row; whole angles are exact: ${name}`, () => {
    for (const n of [5, 12, 13, 64, 81, 1000, 1009]) {
      const x = numbers("complex64", [6, n]), [clean] = runFast(engine, op("FFT"), [x])!;
      (x.data as Float32Array)[2 * n * 2 + 4] = NaN;
      const [y] = runFast(engine, op("FFT"), [x])!;
      for (let r = 0; r < 6; r++) {
        const row = (of: NdArray) => (of.data as Float32Array).slice(2 * r * n, 2 * (r + 1) * n);
        if (r === 2) assert(!row(y).every(Number.isFinite), `${n}`);
        else assertEquals(row(y), row(clean));
      }
    }
    for (const n of [4, 8, 16, 128, 1024, 65536]) {
      const x = zeros("complex64", [1, n]);
      (x.data as Float32Array)[2] = 1;
      const y = runFast(engine, op("FFT"), [x])![0].data as Float32Array;
      const at = (k: number) => [y[2 * k] + 0, y[2 * k + 1] + 0];
      const quarters = [[1, 0], [0, -1], [-1, 0], [0, 1]];
      assertEquals([at(0), at(n / 4), at(n / 2), at(3 * n / 4)], quarters, `${n}`);
    }
  });

  Deno.test(`the factors of many lengths stay within a bound: ${name}`, () => {
    const before = engine.heap.liveBytes;
    // Half of these have more than the bound.
    for (let n = 15; n < 32; n++) runFast(engine, op("FFT"), [zeros("complex128", [1, 1024 * n])]);
    assert(engine.heap.liveBytes - before < 4.5e6, `${engine.heap.liveBytes - before} bytes`);
    const x = numbers("complex64", [2, 4096]), wanted = zeros("complex128", [2, 4096]);
    fftCpu(widened(x), false, wanted);
    assertNear(runFast(engine, op("FFT"), [x])![0], wanted, false, "a length that was dropped");
  });
}
