/**
 * Host arrays as numbers: reads and writes dtypes whose storage is not a plain number array, and combines two numbers
 * for reductions and scans.
 */
import { codeOf, type DType, DTYPES, isBigInt, isShort } from "../../core/dtype.ts";
import { NdArray } from "../../core/nd_array.ts";

/** Readable numbers by index. */
export interface Numbers extends ArrayLike<number> {
  [index: number]: number;
}

/**
 * Returns the elements as numbers, without a copy where the storage allows (everything but coded floats and
 * 64-bit integers).
 */
export function numbersOf(a: NdArray): Numbers {
  const code = codeOf(a.dtype);
  if (code !== null) {
    const from = a.data as Uint16Array, out = new Float32Array(from.length);
    for (let i = 0; i < out.length; i++) out[i] = code.decode(from[i]);
    return out;
  }
  if (a.dtype === "int64" || a.dtype === "uint64") {
    return Float64Array.from(a.data as ArrayLike<bigint>, Number);
  }
  return a.data as Float32Array;
}

/** Returns an array to compute a float result in: the output's own storage where that holds float32 or more. */
export function scratchFor(out: NdArray): Numbers {
  return isShort(out.dtype) ? new Float32Array(out.data.length) : out.data as Float32Array;
}

/** Moves the results in {@linkcode scratchFor}'s array, or in one of wider numbers, to the output. */
export function settle(scratch: Numbers, out: NdArray): void {
  if (scratch === out.data) return;
  const d = out.data as Uint16Array, code = codeOf(out.dtype);
  if (code === null) return d.set(scratch);
  for (let i = 0; i < d.length; i++) d[i] = code.encode(scratch[i]);
}

/** Writes an integer, in the array's own kind. */
export function setWhole({ dtype, data }: NdArray, at: number, value: number): void {
  (data as (number | bigint)[])[at] = isBigInt(dtype) ? BigInt(value) : value;
}

export function wholeArray(
  dtype: DType,
  shape: readonly number[],
  values: readonly number[],
): NdArray {
  const out = NdArray.zeros(dtype, shape);
  values.forEach((v, i) => setWhole(out, i, v));
  return out;
}

/** Arithmetic of accumulators. */
export type Arithmetic = "float" | "int" | "uint" | "bigint";

export type FoldOp = "sum" | "prod" | "max" | "min" | "any" | "all";

/** A number in any of the arithmetics: a fold only gets those of its own. */
export type Num = number & bigint;

export type Fold = (a: Num, v: Num) => Num;

const FOLDS: Readonly<
  Record<Arithmetic, Readonly<Record<"sum" | "prod" | "max" | "min", unknown>>>
> = {
  float: {
    sum: (a: number, v: number) => a + v,
    prod: (a: number, v: number) => a * v,
    // A NaN replaces the accumulator and is never replaced.
    max: (a: number, v: number) => v > a || v !== v ? v : a,
    min: (a: number, v: number) => v < a || v !== v ? v : a,
  },
  int: {
    sum: (a: number, v: number) => (a + v) | 0,
    prod: (a: number, v: number) => Math.imul(a, v),
    max: (a: number, v: number) => v > a ? v : a,
    min: (a: number, v: number) => v < a ? v : a,
  },
  uint: {
    sum: (a: number, v: number) => (a + v) >>> 0,
    prod: (a: number, v: number) => Math.imul(a, v) >>> 0,
    max: (a: number, v: number) => v > a ? v : a,
    min: (a: number, v: number) => v < a ? v : a,
  },
  bigint: {
    sum: (a: bigint, v: bigint) => a + v,
    prod: (a: bigint, v: bigint) => a * v,
    max: (a: bigint, v: bigint) => v > a ? v : a,
    min: (a: bigint, v: bigint) => v < a ? v : a,
  },
};

/**
 * Returns the fold of an op in an arithmetic. Where compiling is forbidden, reductions and scans use it, with the same
 * bits as their printed loops.
 */
export function foldOf(op: FoldOp, arithmetic: Arithmetic, dtype: DType): Fold {
  if (op === "any") return (a, v) => v as number !== 0 ? 1 as Num : a;
  if (op === "all") return (a, v) => v as number === 0 ? 0 as Num : a;
  const fold = FOLDS[arithmetic][op] as Fold;
  if (arithmetic !== "bigint" || op === "max" || op === "min") return fold;
  const wrap = dtype === "uint64" ? BigInt.asUintN : BigInt.asIntN;
  return (a, v) => wrap(64, fold(a, v)) as Num;
}

/** Returns the text of the sum or product of two accumulators; bigints are not wrapped. */
export function foldText(op: "sum" | "prod", arithmetic: Arithmetic, a: string, v: string): string {
  const isWord = arithmetic === "int" || arithmetic === "uint";
  const sum = `${a} + ${v}`, product = isWord ? `Math.imul(${a}, ${v})` : `${a} * ${v}`;
  const text = op === "sum" ? sum : product;
  return isWord ? `(${text}) ${arithmetic === "uint" ? ">>> 0" : "| 0"}` : text;
}

/** Returns the text of an accumulator's number, wrapped to 64 bits for bigints. */
export function wrapText(dtype: DType, text: string): string {
  return isBigInt(dtype) ? `BigInt.as${dtype === "uint64" ? "Uint" : "Int"}N(64, ${text})` : text;
}

export function arithmeticOf(dtype: DType): Arithmetic {
  if (isBigInt(dtype)) return "bigint";
  if (DTYPES[dtype].kind === "float") return "float";
  return dtype === "uint32" ? "uint" : "int";
}

export function readerOf(dtype: DType): (data: ArrayLike<Num>, at: number) => Num {
  const code = codeOf(dtype);
  return code === null ? (data, at) => data[at] : (data, at) => code.decode(data[at]) as Num;
}

export function writerOf(dtype: DType): (data: { [at: number]: Num }, at: number, v: Num) => void {
  const code = codeOf(dtype);
  return code === null
    ? (data, at, v) => data[at] = v
    : (data, at, v) => data[at] = code.encode(v) as Num;
}
