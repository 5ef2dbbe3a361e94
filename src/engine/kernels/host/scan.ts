/** Running sums and products, linear recurrences and shifts along an axis, on the host. */
import { compileOr } from "../../core/scalar/compile.ts";
import { codeOf, type DType, DTYPES, isBigInt } from "../../core/dtype.ts";
import type { ScanOp } from "../../core/meaning.ts";
import type { NdArray } from "../../core/nd_array.ts";
import {
  arithmeticOf,
  foldOf,
  foldText,
  type Num,
  numbersOf,
  readerOf,
  scratchFor,
  settle,
  wrapText,
  writerOf,
} from "./numbers.ts";
import { type Line, lineOf } from "../reduce/layout.ts";

export interface ScanOptions {
  /** True: a result excludes its own element. */
  readonly exclusive: boolean;
  readonly reverse: boolean;
}

type Loop = (x: unknown, y: unknown, line: Line, reverse: boolean, acc: unknown) => void;
const loops = new Map<string, Loop>();

/** Accumulates along one axis, counted from the front. */
export function scanCpu(
  op: ScanOp,
  x: NdArray,
  axis: number,
  { exclusive, reverse }: ScanOptions,
  out: NdArray,
): void {
  const own = lineOf(x.shape, axis), isComplex = DTYPES[x.dtype].kind === "complex";
  if (isComplex && op === "prod") {
    return complexRecurrence([x, null], own, { exclusive, reverse, start: 1 }, out);
  }
  // Real and imaginary parts form an innermost axis that is kept.
  const line = isComplex ? { ...own, inner: 2 * own.inner } : own;
  const dtype = isComplex ? "float64" : x.dtype, isSingle = line.inner === 1;
  const key = `${op},${exclusive},${dtype},${isSingle}`;
  let loop = loops.get(key);
  if (!loop) loops.set(key, loop = makeLoop(op, exclusive, dtype, isSingle));
  const state = isBigInt(dtype) ? new Array<bigint>(line.inner) : new Float64Array(line.inner);
  loop(x.data, out.data, line, reverse, state);
}

/** Makes the loop of an op on elements of a dtype; single: along the innermost axis. */
export function makeLoop(op: ScanOp, exclusive: boolean, dtype: DType, single: boolean): Loop {
  const id = (op === "sum" ? "0" : "1") + (isBigInt(dtype) ? "n" : "");
  const code = codeOf(dtype);
  const load = code === null ? "x[p]" : "decode(x[p])";
  const fold = wrapText(dtype, foldText(op, arithmeticOf(dtype), "a", "v"));
  const store = code === null ? "y[p] = a;" : "y[p] = encode(a);";
  const element = exclusive
    ? `const v = ${load}; ${store} a = ${fold};`
    : `const v = ${load}; a = ${fold}; ${store}`;
  const body = single
    ? `let a = ${id};
    for (let l = 0; l < length; l++) { const p = base + (reverse ? length - 1 - l : l); ${element} }`
    : `acc.fill(${id});
    for (let l = 0; l < length; l++) {
      let p = base + (reverse ? length - 1 - l : l) * inner;
      for (let i = 0; i < inner; i++, p++) { let a = acc[i]; ${element} acc[i] = a; }
    }`;
  const text = `return function (x, y, line, reverse, acc) {
  const length = line.length, inner = line.inner, outer = line.outer;
  for (let o = 0; o < outer; o++) {
    const base = o * length * inner;
    ${body}
  }
};`;
  const names = { decode: code?.decode, encode: code?.encode };
  return compileOr({ names, text: () => text }, () => interpretLoop(op, exclusive, dtype));
}

/** Makes the loop where compiling is forbidden: slow, with the same results. */
export function interpretLoop(op: ScanOp, exclusive: boolean, dtype: DType): Loop {
  const load = readerOf(dtype), store = writerOf(dtype);
  const fold = foldOf(op, arithmeticOf(dtype), dtype);
  const one = op === "sum" ? 0 : 1;
  const identity = (isBigInt(dtype) ? BigInt(one) : one) as Num;
  return (x, y, { outer, length, inner }, reverse) => {
    const from = x as ArrayLike<Num>, to = y as Num[];
    for (let o = 0; o < outer; o++) {
      for (let i = 0; i < inner; i++) {
        let a = identity;
        for (let l = 0; l < length; l++) {
          const p = (o * length + (reverse ? length - 1 - l : l)) * inner + i;
          const before = a;
          a = fold(a, load(from, p));
          store(to, p, exclusive ? before : a);
        }
      }
    }
  };
}

/** `s[i] = b[i] + c * s[i-1]` along an axis, where `c` is `a[i]`, or `a[i-1]` with `shift`. */
export function linearScanCpu(
  [a, b]: readonly NdArray[],
  axis: number,
  { reverse, shift }: { readonly reverse: boolean; readonly shift: boolean },
  out: NdArray,
): void {
  const { outer, length, inner } = lineOf(a.shape, axis);
  if (DTYPES[a.dtype].kind === "complex") {
    return complexRecurrence([a, b], { outer, length, inner }, { reverse, shift }, out);
  }
  const factor = numbersOf(a), term = numbersOf(b), s = scratchFor(out);
  const step = reverse ? -inner : inner;
  for (let o = 0; o < outer; o++) {
    for (let i = 0; i < inner; i++) {
      let p = (o * length + (reverse ? length - 1 : 0)) * inner + i, state = 0;
      for (let l = 0; l < length; l++, p += step) {
        state = l === 0 ? term[p] : term[p] + factor[shift ? p - step : p] * state;
        s[p] = state;
      }
    }
  }
  settle(s, out);
}

/** `state = term + factor · state` of complex numbers from `start` on; no term is 0. */
function complexRecurrence(
  [a, b]: readonly [NdArray, NdArray | null],
  { outer, length, inner }: Line,
  { reverse, exclusive = false, shift = false, start = 0 }: {
    readonly reverse: boolean;
    readonly exclusive?: boolean;
    readonly shift?: boolean;
    readonly start?: number;
  },
  out: NdArray,
): void {
  const factor = a.data as Float64Array, term = b?.data as Float64Array | undefined;
  const s = out.data as Float64Array, step = (reverse ? -inner : inner) * 2;
  for (let o = 0; o < outer; o++) {
    for (let i = 0; i < inner; i++) {
      let p = ((o * length + (reverse ? length - 1 : 0)) * inner + i) * 2, re = start, im = 0;
      for (let l = 0; l < length; l++, p += step) {
        // The first element has no factor.
        const q = shift && l > 0 ? p - step : p;
        const fr = factor[q], fi = factor[q + 1], before = re, beforeIm = im;
        re = fr * before - fi * beforeIm;
        im = fr * beforeIm + fi * before;
        if (term) {
          re += term[p];
          im += term[p + 1];
        }
        s[p] = exclusive ? before : re;
        s[p + 1] = exclusive ? beforeIm : im;
      }
    }
  }
}

/** Shifts elements by `by` places along an axis; zeros move in. */
export function shiftCpu(x: NdArray, axis: number, by: number, out: NdArray): void {
  const { outer, length, inner } = lineOf(x.shape, axis);
  const slots = DTYPES[x.dtype].slots;
  const row = length * inner * slots, move = Math.min(length, Math.abs(by)) * inner * slots;
  const a = x.data as Float32Array, y = out.data as Float32Array;
  for (let o = 0; o < outer; o++) {
    const base = o * row;
    if (by >= 0) {
      y.set(a.subarray(base, base + row - move), base + move);
      y.fill(0, base, base + move);
    } else {
      y.set(a.subarray(base + move, base + row), base);
      y.fill(0, base + row - move, base + row);
    }
  }
}
