/** Products of every dtype that vector code multiplies, over sizes, transposes and batches, against sums in float64 or modulo 2³². */
import { assert, fail } from "@std/assert";
import { type DType, DTYPES } from "../../src/engine/core/dtype.ts";
import { NdArray } from "../../src/engine/core/nd_array.ts";
import { lookupOp } from "../../src/engine/core/op.ts";
import { ENGINES, randomSource } from "../devices/cpu/engines.ts";
import { runFast } from "../devices/cpu/kernel_runs.ts";
import { effort } from "../effort.ts";
import "../../mod.ts";

const Product = lookupOp("BatchMatMulV2")!;

/** Relative error of a sum of the products' sizes, by dtype. */
const BOUNDS: Partial<Record<DType, number>> = {
  float32: 2 ** -20,
  float16: 2 ** -10,
  float64: 2 ** -45,
  int32: 0,
  uint32: 0,
  int8: 0,
  uint8: 0,
};

const SIZES = [0, 1, 2, 3, 4, 5, 7, 8, 13, 31, 33, 70, 300] as const;
const CASES = effort(40, 600);

function arrayOf(dtype: DType, shape: readonly number[], random: () => number): NdArray {
  const array = NdArray.zeros(dtype, shape), data = array.data as Float64Array;
  const size = dtype.endsWith("int8") ? 255 : dtype.includes("int") ? 2 ** 31 : 2;
  for (let i = 0; i < data.length; i++) {
    data[i] = (random() - (dtype.startsWith("uint") ? 0 : 0.5)) * size;
  }
  return array;
}

/** Returns each element of a product, and the sum of the sizes of its terms. */
function* elements(a: NdArray, b: NdArray, adjX: boolean, adjY: boolean) {
  const [[ba, r, s], [bb, p, q]] = [a.shape, b.shape];
  const [m, k] = adjX ? [s, r] : [r, s], n = adjY ? p : q;
  const x = a.data as Float64Array, y = b.data as Float64Array, isWhole = a.dtype.includes("int");
  for (let batch = 0; batch < Math.max(ba, bb); batch++) {
    const [xAt, yAt] = [ba === 1 ? 0 : batch * r * s, bb === 1 ? 0 : batch * p * q];
    for (let i = 0; i < m; i++) {
      for (let j = 0; j < n; j++) {
        let sum = 0, size = 0;
        for (let d = 0; d < k; d++) {
          const u = x[xAt + (adjX ? d * m + i : i * k + d)],
            v = y[yAt + (adjY ? j * k + d : d * n + j)];
          sum = isWhole ? (sum + Math.imul(u, v)) | 0 : sum + u * v;
          size += Math.abs(u * v);
        }
        yield { sum: isWhole ? Number(new DTYPES[a.dtype].array!([sum])[0]) : sum, size };
      }
    }
  }
}

for (const [dtype, bound] of Object.entries(BOUNDS) as [DType, number][]) {
  Deno.test(`vector code multiplies matrices of ${dtype}`, () => {
    let inVectors = 0;
    for (let i = 0; i < CASES; i++) {
      const random = randomSource(1000 * bound + i),
        pick = <T>(of: readonly T[]): T => of[Math.floor(random() * of.length)];
      const [m, n, k] = [pick(SIZES), pick(SIZES), pick(SIZES)],
        [adj_x, adj_y] = [random() < 0.4, random() < 0.4];
      const batches = pick([[1, 1], [1, 1], [3, 3], [1, 3], [3, 1]]);
      const a = arrayOf(dtype, [batches[0], ...(adj_x ? [k, m] : [m, k])], random);
      const b = arrayOf(dtype, [batches[1], ...(adj_y ? [n, k] : [k, n])], random);
      const wanted = [...elements(a, b, adj_x, adj_y)];
      for (const [how, engine] of ENGINES) {
        const [got] = runFast(engine, Product, [a, b], { adj_x, adj_y }) ?? [];
        if (got === undefined) continue;
        inVectors++;
        for (const [at, { sum, size }] of wanted.entries()) {
          const value = (got.data as Float64Array)[at], error = Math.abs(value - sum);
          if (!(error <= bound * size + (dtype === "float16" ? 2 ** -25 : 0))) {
            const what = `${how}: [${a.shape}] × [${b.shape}], ${adj_x} ${adj_y}, element ${at}`;
            fail(`${what}: ${value}, wanted ${sum}`);
          }
        }
      }
    }
    assert(inVectors > 0.6 * CASES * ENGINES.length, `${inVectors} in vector code`);
  });
}

Deno.test("few rows of float16 meet infinities, NaN and the smallest numbers", () => {
  const special = [Infinity, -Infinity, NaN, 2 ** -24, -(2 ** -15), 65504, 0, -0];
  for (const adj_y of [false, true]) {
    for (const value of special) {
      for (const n of [1, 9, 40]) {
        const random = randomSource(n), k = 13;
        const a = arrayOf("float16", [1, 1, k], random);
        const b = arrayOf("float16", [1, ...(adj_y ? [n, k] : [k, n])], random);
        (b.data as Float64Array)[b.size >> 1] = value;
        const sums = [...elements(a, b, false, adj_y)];
        for (const [how, engine] of ENGINES) {
          const [got] = runFast(engine, Product, [a, b], { adj_x: false, adj_y })!;
          sums.forEach(({ sum, size }, i) => {
            const x = (got.data as Float64Array)[i];
            const isRight = Object.is(x, sum) || Math.abs(x - sum) <= 2 ** -10 * size ||
              Math.abs(sum) > 65504 && x === Math.sign(sum) * Infinity;
            if (!isRight) {
              fail(`${how}: ${value} among [${b.shape}], element ${i} is ${x}, wanted ${sum}`);
            }
          });
        }
      }
    }
  }
});
