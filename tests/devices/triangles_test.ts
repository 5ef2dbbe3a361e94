/** Triangular systems, roots of symmetric matrices and determinants in vector code against loops in float64: edges of blocks, batches, zeros and NaN. */
import { assert, assertEquals, assertThrows } from "@std/assert";
import * as tf from "@weft/weft";
import type { DType } from "../../src/engine/core/dtype.ts";
import type { Attrs } from "../../src/engine/core/op.ts";
import type { Engine } from "../../src/engine/devices/cpu/engine.ts";
import { ENGINES, randomSource } from "./cpu/engines.ts";
import { op, runFast, runLoops } from "./cpu/kernel_runs.ts";

const random = randomSource(34);

/** Numbers below 1, with `more` on the diagonal. */
function make(dtype: DType, shape: readonly number[], more = 0): tf.NdArray {
  const x = tf.NdArray.zeros(dtype, shape), data = x.data as Float32Array;
  const [rows, columns] = shape.slice(-2);
  for (let i = 0; i < data.length; i++) {
    const isDiagonal = Math.floor(i / columns) % rows === i % columns;
    data[i] = 2 * random() - 1 + (isDiagonal ? more : 0);
  }
  return x;
}

/** A symmetric matrix with a root; the upper triangle, which is not read, is NaN. */
function symmetric(dtype: DType, n: number, more = 1): tf.NdArray {
  const root = make("float64", [n, n]).data as Float64Array, x = tf.NdArray.zeros(dtype, [n, n]);
  const data = x.data as Float32Array;
  for (let i = 0; i < n; i++) {
    for (let j = 0; j < n; j++) {
      let sum = i === j ? more : 0;
      for (let k = 0; k < n; k++) sum += root[i * n + k] * root[j * n + k];
      data[i * n + j] = j > i ? NaN : sum;
    }
  }
  return x;
}

function batchOf(...all: readonly tf.NdArray[]): tf.NdArray {
  const [{ dtype, shape }] = all, x = tf.NdArray.zeros(dtype, [all.length, ...shape]);
  all.forEach((one, i) => (x.data as Float32Array).set(one.data as Float32Array, i * one.size));
  return x;
}

const wide = (x: tf.NdArray): tf.NdArray =>
  new tf.NdArray("float64", x.shape, Float64Array.from(x.data as Float64Array));

/** Largest distance to the loops' results in float64, relative to the largest of these. */
function distance(engine: Engine, name: string, inputs: tf.NdArray[], attrs: Attrs = {}): number {
  const got = runFast(engine, op(name), inputs, attrs);
  assert(got !== null, `${name} of ${inputs[0].dtype} [${inputs[0].shape}] runs in loops`);
  const wanted = runLoops(op(name), inputs.map(wide), attrs);
  return Math.max(...got.map((x, k) => {
    assertEquals(x.shape, wanted[k].shape);
    let away = 0, size = 0;
    for (let i = 0; i < x.size; i++) {
      const [a, b] = [Number(x.data[i]), Number(wanted[k].data[i])];
      if (Object.is(Math.fround(a), Math.fround(b))) continue;
      away = Math.max(away, Number.isNaN(a - b) ? Infinity : Math.abs(a - b));
      size = Math.max(size, Math.abs(b));
    }
    return away === 0 ? 0 : away / size;
  }));
}

/** Rounding of results and nothing else: sums are in float64. */
const LIMITS = { float32: 1.2e-7, float64: 1e-11 } as const;
const DTYPES = ["float32", "float64"] as const;
const SIDES = [[true, false], [true, true], [false, false], [false, true]] as const;

for (const [name, engine] of ENGINES) {
  if (!engine.features.simd) continue;
  Deno.test(`triangular systems are rounded once, whatever their side and extents: ${name}`, () => {
    for (const dtype of DTYPES) {
      for (const n of [8, 9, 18, 63, 64, 65, 131]) {
        for (const [lower, adjoint] of SIDES) {
          const a = make(dtype, [n, n], 4 + n / 10), data = a.data as Float32Array;
          for (let i = 0; i < n; i++) {
            for (let j = 0; j < n; j++) if (lower ? j > i : j < i) data[i * n + j] = NaN;
          }
          for (const k of [0, 1, 4, 7]) {
            const inputs = [a, make(dtype, [n, k])];
            const away = distance(engine, "MatrixTriangularSolve", inputs, { lower, adjoint });
            assert(away <= LIMITS[dtype], `${dtype} ${n} ${k} ${lower} ${adjoint}: ${away}`);
          }
        }
      }
    }
  });

  Deno.test(`roots and determinants are rounded once, whatever their extents: ${name}`, () => {
    for (const dtype of DTYPES) {
      for (const n of [4, 5, 26, 63, 64, 65, 131]) {
        const away = distance(engine, "Cholesky", [symmetric(dtype, n)]);
        assert(away <= LIMITS[dtype], `${dtype} ${n}: ${away}`);
        for (const what of ["MatrixDeterminant", "LogMatrixDeterminant"]) {
          const x = make(dtype, [2, n, n]), data = x.data as Float32Array;
          // Else large ones have no determinant in float32.
          data.forEach((v, i) => data[i] = v * Math.sqrt(3 / n) * 1.5);
          const away = distance(engine, what, [x]);
          assert(away <= LIMITS[dtype], `${what} ${dtype} ${n}: ${away}`);
        }
      }
    }
  });

  Deno.test(`batches of triangular systems broadcast, and may be empty: ${name}`, () => {
    for (
      const [a, b] of [
        [[2, 1], [3]],
        [[], [4]],
        [[3], []],
        [[2, 3], [2, 3]],
        [[3], [2, 1]],
        [[0], [1]],
        [[1], [2, 0]],
      ]
    ) {
      for (const [n, k] of [[14, 5], [140, 2]]) {
        const inputs = [make("float32", [...a, n, n], n), make("float32", [...b, n, k])];
        const away = distance(engine, "MatrixTriangularSolve", inputs, { lower: false });
        assert(away <= LIMITS.float32, `[${a}] [${b}] ${n}: ${away}`);
      }
    }
    assertEquals(runFast(engine, op("Cholesky"), [make("float32", [0, 30, 30])])![0].size, 0);
    const none = [make("float64", [0, 30, 30])];
    assertEquals(runFast(engine, op("MatrixDeterminant"), none)![0].shape, [0]);
  });

  Deno.test(`matrices without roots, inverses or solutions give what loops give: ${name}`, () => {
    const isLike = (what: string, inputs: tf.NdArray[], attrs: Attrs = {}): void =>
      assertEquals(
        runFast(engine, op(what), inputs, attrs)!.map(kinds),
        runLoops(op(what), inputs, attrs).map(kinds),
        what,
      );
    const changed = (x: tf.NdArray, at: number, value: number): tf.NdArray => {
      (x.data as Float32Array)[at] = value;
      return x;
    };
    for (const n of [26, 70]) {
      const middle = 11 * n + 11;
      isLike(
        "Cholesky",
        [batchOf(
          symmetric("float32", n),
          changed(symmetric("float32", n), middle, -1),
          changed(symmetric("float32", n), (n - 1) * n, NaN),
          changed(symmetric("float32", n), (n - 1) * (n + 1), 0),
          changed(symmetric("float32", n), middle, Infinity),
          symmetric("float32", n),
        )],
      );
      for (const value of [0, NaN, Infinity, -Infinity]) {
        for (const [lower, adjoint] of SIDES) {
          const inputs = [
            changed(make("float64", [n, n], 3), middle, value),
            make("float64", [n, 3]),
          ];
          isLike("MatrixTriangularSolve", inputs, { lower, adjoint });
          const side = [make("float64", [n, n], 3), changed(make("float64", [n, 3]), 20, value)];
          isLike("MatrixTriangularSolve", side, { lower, adjoint });
        }
        const x = changed(make("float64", [n, n], 3), middle, value);
        for (const what of ["MatrixDeterminant", "LogMatrixDeterminant", "MatrixInverse", "Lu"]) {
          isLike(what, [x]);
        }
      }
      const twice = make("float64", [n, n]), data = twice.data as Float64Array;
      data.fill(0, 2 * n, 3 * n);
      isLike("MatrixDeterminant", [twice]);
      isLike("LogMatrixDeterminant", [twice]);
      assertThrows(
        () => runFast(engine, op("MatrixInverse"), [twice]),
        tf.errors.InvalidArgumentError,
        "Input is not invertible",
      );
    }
  });
}

/** Signs of what is no number, and of the other numbers. */
function kinds({ data }: tf.NdArray): (number | string)[] {
  return Array.from(data as Float64Array, (v) => Number.isFinite(v) ? Math.sign(v) : `${v}`);
}
