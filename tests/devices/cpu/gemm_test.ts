/** Matrix products in vector code, against sums in float64. */

import { NdArray } from "../../../src/engine/core/nd_array.ts";
import { argument, scalar as s } from "../../../src/engine/core/scalar/expr.ts";
import type { Engine } from "../../../src/engine/devices/cpu/engine.ts";
import type { Epilogue, EpilogueOperand } from "../../../src/engine/core/fusion.ts";
import { prepareProduct } from "../../../src/engine/devices/cpu/gemm/gemm.ts";
import type { Product } from "../../../src/engine/devices/cpu/gemm/gemm_small.ts";
import { ENGINES, put, randomSource, take } from "./engines.ts";
import { assertEquals, fail } from "@std/assert";

/** Products on blocks: result, and in float64 the result and the sums of absolute values. */
function multiply(
  engine: Engine,
  product: Product,
  a: Float32Array,
  b: Float32Array,
  finish?: { finish: Epilogue; operands: Float32Array[] },
): { got: ArrayLike<number>; want: Float64Array; scale: Float64Array } {
  const { m, n, k, transA, transB } = product;
  const array = (data: Float32Array): NdArray => new NdArray("float32", [data.length], data);
  const c = array(new Float32Array(m * n).fill(NaN));
  const arrays = [a, b, ...(finish?.operands ?? [])].map(array);
  const pointers = arrays.map((x) => put(engine, x)), out = put(engine, c);
  const run = prepareProduct(engine, product, finish?.finish);
  run([out], pointers);
  const got = take(engine, out, c);
  [...arrays, c].forEach((x, i) => engine.heap.free([...pointers, out][i], 4 * x.size));
  const want = new Float64Array(m * n), scale = new Float64Array(m * n);
  for (let i = 0; i < m; i++) {
    for (let j = 0; j < n; j++) {
      for (let p = 0; p < k; p++) {
        const term = a[transA ? p * m + i : i * k + p] * b[transB ? j * k + p : p * n + j];
        want[i * n + j] += term;
        scale[i * n + j] += Math.abs(term);
      }
    }
  }
  return { got, want, scale };
}

const SIZES: readonly (readonly [number, number, number])[] = [
  [1, 1, 1],
  [1, 7, 5],
  [5, 1, 9],
  [1, 50, 33],
  [2, 9, 4],
  [3, 17, 130],
  [4, 8, 3],
  [5, 13, 300],
  [6, 8, 8],
  [7, 5, 6],
  [8, 3, 1],
  [9, 31, 2],
  [13, 1, 257],
  [19, 21, 23],
  [64, 10, 128],
  [100, 40, 270],
  [30, 530, 40],
  [1, 2100, 11],
  [200, 8, 9],
  [23, 16, 600],
];

for (const [name, engine] of ENGINES) {
  Deno.test(`products agree with float64 in all sizes and transposes: ${name}`, () => {
    const random = randomSource(1);
    for (const [m, n, k] of SIZES) {
      const a = new Float32Array(m * k).map(() => random() - 0.5),
        b = new Float32Array(k * n).map(() => random() - 0.5);
      for (const [transA, transB] of [[false, false], [true, false], [false, true], [true, true]]) {
        const { got, want, scale } = multiply(engine, { m, n, k, transA, transB }, a, b);
        for (let i = 0; i < m * n; i++) {
          const error = Math.abs(got[i] - want[i]),
            allowed = scale[i] * 2 ** -24 * (4 + Math.sqrt(k));
          if (!(error <= allowed)) {
            fail(
              `${m}x${n}x${k} ${transA} ${transB}: element ${i} is ${got[i]}, wanted ${want[i]}`,
            );
          }
        }
      }
    }
  });

  Deno.test(`products keep NaN, infinities and subnormals in their places: ${name}`, () => {
    for (const [m, n, k] of [[7, 9, 5], [2, 9, 5], [1, 12, 3], [9, 1, 4], [20, 20, 20]]) {
      for (const transB of [false, true]) {
        const a = new Float32Array(m * k).fill(1), b = new Float32Array(k * n).fill(2 ** -140);
        a[(m - 1) * k] = NaN;
        const column = Math.min(1, n - 1);
        b[transB ? column * k : column] = Infinity;
        const { got, want } = multiply(engine, { m, n, k, transA: false, transB }, a, b);
        assertEquals(Array.from(got), Array.from(want, Math.fround), `${m}x${n}x${k}`);
      }
    }
  });

  Deno.test(`sums of nothing are 0 and nothing may be multiplied: ${name}`, () => {
    const empty = new Float32Array(0);
    assertEquals(
      Array.from(
        multiply(engine, { m: 2, n: 3, k: 0, transA: false, transB: false }, empty, empty).got,
      ),
      [0, 0, 0, 0, 0, 0],
    );
    multiply(
      engine,
      { m: 0, n: 3, k: 2, transA: false, transB: false },
      empty,
      new Float32Array(6),
    );
  });

  Deno.test(`a finish is applied to each sum once: ${name}`, () => {
    const random = randomSource(9);
    const [x, bias, residual, scale] = [0, 1, 2, 3].map(argument);
    const operand = (per: EpilogueOperand["per"]): EpilogueOperand => ({
      per,
      dtype: "float32",
      buffer: { input: 0 },
    });
    const finish: Epilogue = {
      expr: s.add(s.mul(s.max(s.add(x, bias), 0), scale), residual),
      operands: [operand("column"), operand("element"), operand("all")],
    };
    for (const [m, n, k] of [[7, 11, 5], [1, 9, 5], [30, 530, 300], [4, 1, 3]]) {
      const make = (size: number): Float32Array => new Float32Array(size).map(() => random() - 0.5);
      const operands = [make(n), make(m * n), make(1)];
      const product = { m, n, k, transA: false, transB: false };
      const { got, want } = multiply(engine, product, make(m * k), make(k * n), {
        finish,
        operands,
      });
      for (let i = 0; i < m * n; i++) {
        const wanted = Math.max(want[i] + operands[0][i % n], 0) * operands[2][0] + operands[1][i];
        if (!(Math.abs(got[i] - wanted) < 1e-5)) {
          fail(`${m}x${n}x${k}: element ${i} is ${got[i]}, wanted ${wanted}`);
        }
      }
    }
  });
}
