/** Matrix products on the host: rows of C are summed in a float64 row, four rows of B at a time. */
import { codeOf, type DType, DTYPES, type HostData } from "../../core/dtype.ts";
import { NdArray } from "../../core/nd_array.ts";
import { UnimplementedError } from "../../core/errors.ts";
import { type MatMulShape, matrixPairs } from "../matmul/shape.ts";
import { numbersOf, scratchFor, settle } from "./numbers.ts";

/** Numbers by index: any typed array of numbers. */
export type Numbers = { [i: number]: number };

/**
 * Computes `c[m,n] = a[m,k] · b[k,n]`, row-major from the given offsets; with `add` onto the contents of `c`. Offsets
 * and rows count elements (pairs for complex).
 */
export type RowProduct = (
  m: number,
  n: number,
  k: number,
  a: HostData,
  aFrom: number,
  b: HostData,
  bFrom: number,
  c: HostData,
  cFrom: number,
  add: boolean,
) => void;

let row = new Float64Array(1024);

function sumRow(n: number): Float64Array {
  if (row.length < n) row = new Float64Array(n);
  return row;
}

/** Sums in float64: exact for integers of up to 16 bits, which their typed array then wraps. */
const numberProduct: RowProduct = (m, n, k, aData, aFrom, bData, bFrom, cData, cFrom, add) => {
  const a = aData as Float32Array, b = bData as Float32Array, c = cData as Float32Array;
  const s = sumRow(n);
  for (let i = 0; i < m; i++) {
    const ci = cFrom + i * n, ai = aFrom + i * k;
    if (add) { for (let j = 0; j < n; j++) s[j] = c[ci + j]; }
    else s.fill(0, 0, n);
    let p = 0;
    for (; p + 4 <= k; p += 4) {
      const a0 = a[ai + p], a1 = a[ai + p + 1], a2 = a[ai + p + 2], a3 = a[ai + p + 3];
      const b0 = bFrom + p * n, b1 = b0 + n, b2 = b1 + n, b3 = b2 + n;
      for (let j = 0; j < n; j++) {
        s[j] += a0 * b[b0 + j] + a1 * b[b1 + j] + a2 * b[b2 + j] + a3 * b[b3 + j];
      }
    }
    for (; p < k; p++) {
      const a0 = a[ai + p], b0 = bFrom + p * n;
      for (let j = 0; j < n; j++) s[j] += a0 * b[b0 + j];
    }
    for (let j = 0; j < n; j++) c[ci + j] = s[j];
  }
};

/** 32-bit integers wrap as in C. */
const wordProduct: RowProduct = (m, n, k, aData, aFrom, bData, bFrom, cData, cFrom, add) => {
  const a = aData as Numbers, b = bData as Numbers, c = cData as Numbers;
  const s = new Int32Array(n);
  for (let i = 0; i < m; i++) {
    const ci = cFrom + i * n, ai = aFrom + i * k;
    for (let j = 0; j < n; j++) s[j] = add ? c[ci + j] : 0;
    for (let p = 0; p < k; p++) {
      const x = a[ai + p], bp = bFrom + p * n;
      for (let j = 0; j < n; j++) s[j] += Math.imul(x, b[bp + j]);
    }
    for (let j = 0; j < n; j++) c[ci + j] = s[j];
  }
};

const bigintProduct: RowProduct = (m, n, k, aData, aFrom, bData, bFrom, cData, cFrom, add) => {
  const a = aData as BigInt64Array, b = bData as BigInt64Array, c = cData as BigInt64Array;
  for (let i = 0; i < m; i++) {
    for (let j = 0; j < n; j++) {
      const at = cFrom + i * n + j;
      let s = add ? c[at] : 0n;
      for (let p = 0; p < k; p++) s += a[aFrom + i * k + p] * b[bFrom + p * n + j];
      c[at] = s;
    }
  }
};

const complexProduct: RowProduct = (m, n, k, aData, aFrom, bData, bFrom, cData, cFrom, add) => {
  const a = aData as Numbers, b = bData as Numbers, c = cData as Numbers;
  const s = sumRow(2 * n);
  for (let i = 0; i < m; i++) {
    const ci = 2 * (cFrom + i * n), ai = 2 * (aFrom + i * k);
    for (let j = 0; j < 2 * n; j++) s[j] = add ? c[ci + j] : 0;
    for (let p = 0; p < k; p++) {
      const re = a[ai + 2 * p], im = a[ai + 2 * p + 1], bp = 2 * (bFrom + p * n);
      for (let j = 0; j < 2 * n; j += 2) {
        const x = b[bp + j], y = b[bp + j + 1];
        s[j] += re * x - im * y;
        s[j + 1] += re * y + im * x;
      }
    }
    for (let j = 0; j < 2 * n; j++) c[ci + j] = s[j];
  }
};

/**
 * Returns the product of rows for elements of this dtype, except bfloat16. Throws `UnimplementedError` for strings and
 * handles.
 */
export function rowProduct(dtype: DType): RowProduct {
  switch (dtype) {
    case "int32":
    case "uint32":
      return wordProduct;
    case "int64":
    case "uint64":
      return bigintProduct;
  }
  switch (DTYPES[dtype].kind) {
    case "complex":
      return complexProduct;
    case "string":
    case "handle":
      throw new UnimplementedError(`Cannot multiply matrices of ${dtype}`);
  }
  return numberProduct;
}

/** `to[j,i] = from[i,j]`; `slots` array entries per element. */
export function transposeInto(
  from: HostData,
  fromAt: number,
  rows: number,
  columns: number,
  to: HostData,
  toAt: number,
  slots: number,
): void {
  const x = from as Numbers, y = to as Numbers;
  if (slots === 2) {
    for (let i = 0; i < rows; i++) {
      for (let j = 0; j < columns; j++) {
        const p = 2 * (fromAt + i * columns + j), q = 2 * (toAt + j * rows + i);
        y[q] = x[p];
        y[q + 1] = x[p + 1];
      }
    }
    return;
  }
  const BLOCK = 32;
  for (let i0 = 0; i0 < rows; i0 += BLOCK) {
    const i1 = Math.min(rows, i0 + BLOCK);
    for (let j0 = 0; j0 < columns; j0 += BLOCK) {
      const j1 = Math.min(columns, j0 + BLOCK);
      for (let i = i0; i < i1; i++) {
        for (let j = j0; j < j1; j++) y[toAt + j * rows + i] = x[fromAt + i * columns + j];
      }
    }
  }
}

/** Makes a zeroed array of the same class with this many entries. */
export function sameArray(like: HostData, entries: number): HostData {
  return new (like.constructor as new (n: number) => HostData)(entries);
}

export function matMulCpu(
  shape: MatMulShape,
  a: NdArray,
  b: NdArray,
  out: NdArray,
  conjA = false,
  conjB = false,
): void {
  const { m, n, k, transA, transB } = shape;
  if (codeOf(out.dtype) !== null) {
    const [x, y, wide] = [numbersOf(a), numbersOf(b), scratchFor(out)].map((data) =>
      new NdArray("float32", [data.length], data as Float32Array)
    );
    matMulCpu(shape, x, y, wide);
    return settle(wide.data as Float32Array, out);
  }
  const product = rowProduct(out.dtype);
  const slots = DTYPES[out.dtype].slots;
  const ready = (x: HostData, conj: boolean, trans: boolean, rows: number, columns: number) => {
    // Returns matrix number `i` row-major and untransposed, with its offset.
    const scratch = trans || conj ? sameArray(x, rows * columns * slots) : null;
    let held = -1;
    return (i: number): { data: HostData; from: number } => {
      if (scratch === null) return { data: x, from: i * rows * columns };
      if (held !== i) {
        const at = i * rows * columns;
        if (trans) transposeInto(x, at, columns, rows, scratch, 0, slots);
        else {(scratch as Float32Array).set(
            (x as Float32Array).subarray(at * slots, (at + rows * columns) * slots),
          );}
        if (conj) { for (let q = 1; q < scratch.length; q += 2) (scratch as Numbers)[q] *= -1; }
        held = i;
      }
      return { data: scratch, from: 0 };
    };
  };
  const complex = DTYPES[out.dtype].kind === "complex";
  const left = ready(a.data, conjA && complex, transA, m, k);
  const right = ready(b.data, conjB && complex, transB, k, n);
  matrixPairs(shape).forEach((pair, i) => {
    const x = left(pair.a), y = right(pair.b);
    product(m, n, k, x.data, x.from, y.data, y.from, out.data, i * m * n, false);
  });
}
