/** Reductions on the host: two loops, over rows and over columns, compiled once per operation and arithmetic. */
import { compileOr } from "../../core/scalar/compile.ts";
import { codeOf, type DType, DTYPES, INTEGER_ENDS, isBigInt } from "../../core/dtype.ts";
import type { ReduceOp } from "../../core/meaning.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { sizeOf } from "../../core/shape.ts";
import {
  type Arithmetic,
  arithmeticOf,
  foldOf,
  type FoldOp,
  foldText,
  type Num,
  readerOf,
  wrapText,
} from "./numbers.ts";
import { axesOf, type ReduceLayout, reduceLayout } from "../reduce/layout.ts";

/** `acc[o + m] = combine(acc[o + m], x[p + m * n ..])`, or columns: `acc[o + i] = combine(acc[o + i], x[p + m * n + i])`. */
type Loop = (x: unknown, p: number, m: number, n: number, acc: unknown, o: number) => void;

export interface Loops {
  readonly rows: Loop;
  readonly columns: Loop;
}
const made = new Map<string, Loops>();

/** Reduces the first input over the axes in the second. */
export function reduceCpu(op: ReduceOp, ins: readonly NdArray[], [out]: readonly NdArray[]): void {
  const [x, axes] = ins;
  const rank = x.shape.length;
  const list = axesOf(axes, rank);
  if (DTYPES[x.dtype].kind === "complex") {
    if (op === "prod") return complexProduct(x, list, out);
    // Real and imaginary parts form an innermost axis that is kept.
    return reduceNumbers(op, x, reduceLayout([...x.shape, 2], list), "float", out);
  }
  const own = arithmeticOf(x.dtype);
  // A mean is divided before it is truncated to an integer.
  const arithmetic = op === "mean" && own !== "bigint" ? "float" : own;
  reduceNumbers(op, x, reduceLayout(x.shape, list), arithmetic, out);
}

function reduceNumbers(
  op: ReduceOp,
  x: NdArray,
  layout: ReduceLayout,
  arithmetic: Arithmetic,
  out: NdArray,
): void {
  const size = out.data.length;
  const acc = makeAccumulators(arithmetic, x.dtype, size);
  (acc as Float64Array).fill(identityOf(op, x.dtype) as number);
  const { dims, reduced } = layout;
  const loops = loopsFor(op === "mean" ? "sum" : op, arithmetic, x.dtype);
  const last = dims.length - 1;
  const byRows = reduced[last];
  // The two innermost groups are one call; the others are walked here.
  const n = dims[last], m = last > 0 ? dims[last - 1] : 1;
  const loop = byRows ? loops.rows : loops.columns;
  const step = m * n, results = byRows ? m : n;
  const outer = Math.max(0, last - 1);
  const strides = new Array<number>(outer);
  for (let d = outer - 1, s = results; d >= 0; d--) {
    strides[d] = reduced[d] ? 0 : s;
    if (!reduced[d]) s *= dims[d];
  }
  const index = new Array<number>(outer).fill(0);
  let calls = 1;
  for (let d = 0; d < outer; d++) calls *= dims[d];
  if (m === 0 || n === 0) calls = 0;
  for (let c = 0, o = 0, p = 0; c < calls; c++, p += step) {
    loop(x.data, p, m, n, acc, o);
    for (let d = outer - 1; d >= 0; d--) {
      o += strides[d];
      if (++index[d] < dims[d]) break;
      o -= strides[d] * dims[d];
      index[d] = 0;
    }
  }
  finish(op, acc, layout.count, out);
}

function makeAccumulators(
  arithmetic: Arithmetic,
  dtype: DType,
  size: number,
): Float64Array | Int32Array | Uint32Array | BigInt64Array | BigUint64Array {
  switch (arithmetic) {
    case "float":
      return new Float64Array(size);
    case "int":
      return new Int32Array(size);
    case "uint":
      return new Uint32Array(size);
    case "bigint":
      return dtype === "uint64" ? new BigUint64Array(size) : new BigInt64Array(size);
  }
}

/** Returns the result of an empty reduction. */
export function identityOf(op: ReduceOp, dtype: DType): number | bigint {
  const big = isBigInt(dtype), ends = dtype === "bool" ? [0, 1] : INTEGER_ENDS[dtype];
  switch (op) {
    case "max":
      return ends?.[0] ?? -Infinity;
    case "min":
      return ends?.[1] ?? Infinity;
    case "prod":
    case "all":
      return big ? 1n : 1;
    default:
      return big ? 0n : 0;
  }
}

function finish(op: ReduceOp, acc: ArrayLike<number | bigint>, count: number, out: NdArray): void {
  const data = out.data as Float32Array, n = acc.length;
  if (op === "mean") {
    const a = acc as (number | bigint)[], { kind } = DTYPES[out.dtype];
    const isWhole = kind !== "float" && kind !== "complex";
    // An empty integer mean is undefined.
    if (isWhole && count === 0) return void data.fill((isBigInt(out.dtype) ? 0n : 0) as number);
    for (let i = 0; i < n; i++) {
      const v = a[i];
      if (typeof v === "bigint") a[i] = v / BigInt(count);
      else a[i] = isWhole ? Math.trunc(v / count) : v / count;
    }
  }
  const code = codeOf(out.dtype);
  if (code === null) data.set(acc as ArrayLike<number>);
  else for (let i = 0; i < n; i++) data[i] = code.encode(acc[i] as number);
}

/** Returns the statement that folds the value `v` into the accumulator `a`. */
function combineText(op: FoldOp, arithmetic: Arithmetic, a: string, v: string): string {
  switch (op) {
    case "max":
    case "min": {
      const sign = op === "max" ? ">" : "<";
      // A NaN replaces the accumulator and is never replaced.
      return arithmetic === "float"
        ? `if (${v} ${sign} ${a} || ${v} !== ${v}) ${a} = ${v};`
        : `if (${v} ${sign} ${a}) ${a} = ${v};`;
    }
    case "any":
      return `if (${v} !== 0) ${a} = 1;`;
    case "all":
      return `if (${v} === 0) ${a} = 0;`;
    default:
      return `${a} = ${foldText(op, arithmetic, a, v)};`;
  }
}

function loopsFor(op: FoldOp, arithmetic: Arithmetic, dtype: DType): Loops {
  const key = `${op},${arithmetic},${dtype}`;
  let loops = made.get(key);
  if (!loops) made.set(key, loops = makeLoops(op, arithmetic, dtype));
  return loops;
}

export function makeLoops(op: FoldOp, arithmetic: Arithmetic, dtype: DType): Loops {
  const code = codeOf(dtype);
  const load = (index: string): string => (code === null ? `x[${index}]` : `decode(x[${index}])`);
  const id = identityOf(op, dtype);
  const identity = typeof id === "bigint" ? `${id}n` : String(id);
  const fold = (a: string, v: string): string => combineText(op, arithmetic, a, v);
  // Four accumulators a row: additions need not wait for each other.
  const lanes = [0, 1, 2, 3];
  const rows = `function (x, p, m, n, acc, o) {
  for (let r = 0; r < m; r++) {
    let a0 = acc[o + r], a1 = ${identity}, a2 = ${identity}, a3 = ${identity}, j = 0;
    for (; j + 3 < n; j += 4, p += 4) {
      ${lanes.map((k) => `const v${k} = ${load(`p + ${k}`)};`).join(" ")}
      ${lanes.map((k) => fold(`a${k}`, `v${k}`)).join("\n      ")}
    }
    for (; j < n; j++, p++) { const v = ${load("p")}; ${fold("a0", "v")} }
    ${fold("a0", "a1")} ${fold("a2", "a3")} ${fold("a0", "a2")}
    acc[o + r] = ${wrapText(dtype, "a0")};
  }
};`;
  const columns = `function (x, p, m, n, acc, o) {
  for (let r = 0; r < m; r++) {
    for (let i = 0; i < n; i++, p++) {
      const v = ${load("p")}; let a = acc[o + i];
      ${fold("a", "v")}
      acc[o + i] = ${wrapText(dtype, "a")};
    }
  }
};`;
  const text = (): string =>
    `const rows = ${rows}\nconst columns = ${columns}\nreturn { rows, columns };`;
  return compileOr(
    { names: { decode: code?.decode }, text },
    () => interpretLoops(op, arithmetic, dtype),
  );
}

/** Makes the loops where compiling is forbidden: slow, with the same results. */
export function interpretLoops(op: FoldOp, arithmetic: Arithmetic, dtype: DType): Loops {
  const load = readerOf(dtype), fold = foldOf(op, arithmetic, dtype);
  const identity = identityOf(op, dtype) as Num;
  return {
    rows(x, p, m, n, acc, o) {
      const from = x as ArrayLike<Num>, to = acc as Num[];
      for (let r = 0; r < m; r++, p += n) {
        const lanes = [to[o + r], identity, identity, identity], whole = n - n % 4;
        for (let j = 0; j < n; j++) {
          const k = j < whole ? j % 4 : 0;
          lanes[k] = fold(lanes[k], load(from, p + j));
        }
        to[o + r] = fold(fold(lanes[0], lanes[1]), fold(lanes[2], lanes[3]));
      }
    },
    columns(x, p, m, n, acc, o) {
      const from = x as ArrayLike<Num>, to = acc as Num[];
      for (let r = 0; r < m; r++) {
        for (let i = 0; i < n; i++, p++) to[o + i] = fold(to[o + i], load(from, p));
      }
    },
  };
}

function complexProduct(x: NdArray, axes: readonly number[], out: NdArray): void {
  const rank = x.shape.length;
  const a = x.data as Float64Array, y = out.data as Float64Array;
  for (let i = 0; i < y.length; i += 2) {
    y[i] = 1;
    y[i + 1] = 0;
  }
  const strides = new Array<number>(rank).fill(0);
  for (let d = rank - 1, s = 1; d >= 0; d--) {
    if (axes.includes(d)) continue;
    strides[d] = s;
    s *= x.shape[d];
  }
  const index = new Array<number>(rank).fill(0);
  for (let i = 0, n = sizeOf(x.shape); i < n; i++) {
    let o = 0;
    for (let d = 0; d < rank; d++) o += index[d] * strides[d];
    const re = y[2 * o] * a[2 * i] - y[2 * o + 1] * a[2 * i + 1];
    y[2 * o + 1] = y[2 * o] * a[2 * i + 1] + y[2 * o + 1] * a[2 * i];
    y[2 * o] = re;
    for (let d = rank - 1; d >= 0 && ++index[d] === x.shape[d]; d--) index[d] = 0;
  }
}
