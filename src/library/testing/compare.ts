/** Comparison of host arrays: exact for integers, in units in the last place for floats. */
import { type DType, DTYPES } from "../../engine/core/dtype.ts";
import type { ElementValue, NdArray } from "../../engine/core/nd_array.ts";
import { sameShape, shapeText } from "../../engine/core/shape.ts";

/** Tolerance of a comparison. */
export interface Tolerance {
  /** Units in the last place of the wanted value. */
  readonly ulps: number;
  /** Units in the last place of the largest wanted value, for sums whose terms cancel. */
  readonly ulpsOfLargest: number;
  /** Absolute difference that is always accepted. Default 0. */
  readonly absolute?: number;
}

/** Format of dtypes that are no floats. */
const EXACT = { fraction: Infinity, least: 0, greatest: Infinity };

/** Returns the format of a dtype's numbers or of their parts. */
function formatOf(dtype: DType): typeof EXACT {
  const { kind, bytes, float } = DTYPES[dtype];
  if (kind !== "complex") return float ?? EXACT;
  return DTYPES[bytes === 8 ? "float32" : "float64"].float!;
}

/** Relative spacing of the numbers of a dtype; 0 for exact dtypes. */
export function epsilonOf(dtype: DType): number {
  return 2 ** -formatOf(dtype).fraction;
}

/** Returns the numbers of an array, complex ones as two each; 64-bit integers are compared as text elsewhere. */
export function numbersOf(array: NdArray): Float64Array {
  const { slots, kind } = DTYPES[array.dtype];
  const out = new Float64Array(array.size * slots);
  for (let i = 0; i < array.size; i++) {
    const v = array.at(i);
    if (kind === "complex") [out[2 * i], out[2 * i + 1]] = v as readonly [number, number];
    else out[i] = Number(v);
  }
  return out;
}

/**
 * Describes how `actual` differs from `wanted`, or returns null. Dtypes may differ in width; `dtype` sets the
 * precision.
 */
export function difference(
  actual: NdArray,
  wanted: NdArray,
  dtype: DType,
  tolerance: Tolerance,
): string | null {
  if (!sameShape(actual.shape, wanted.shape)) {
    return `has shape ${shapeText(actual.shape)}, wanted ${shapeText(wanted.shape)}`;
  }
  const { kind } = DTYPES[dtype];
  if (
    kind === "string" || kind === "handle" ||
    actual.dtype === wanted.dtype && epsilonOf(dtype) === 0
  ) {
    return exactDifference(actual, wanted);
  }
  const a = numbersOf(actual), w = numbersOf(wanted);
  if (kind === "int" || kind === "uint") wrap(w, dtype);
  const { least, greatest: limit } = formatOf(dtype), eps = epsilonOf(dtype);
  let largest = 0;
  for (const v of w) if (Number.isFinite(v) && Math.abs(v) > largest) largest = Math.abs(v);
  const fixed = eps * tolerance.ulpsOfLargest * largest + (tolerance.absolute ?? 0) + least;
  let worst = -1, excess = 0;
  for (let i = 0; i < w.length; i++) {
    if (Object.is(a[i], w[i]) || a[i] === w[i]) continue;
    // Beyond the dtype's range an infinity is correct.
    if (
      Math.abs(w[i]) >= limit * (1 - eps * 4) && Math.abs(a[i]) >= limit * (1 - eps * 4) &&
      Math.sign(a[i]) === Math.sign(w[i])
    ) continue;
    const bound = fixed + eps * tolerance.ulps * Math.abs(w[i]);
    const apart = Math.abs(a[i] - w[i]);
    // An infinite bound accepts every finite number.
    if (apart <= bound && Number.isFinite(w[i])) continue;
    const over = Number.isNaN(apart) ? Infinity : apart / (bound || Number.MIN_VALUE);
    if (worst < 0 || over > excess) [worst, excess] = [i, over];
  }
  if (worst < 0) return null;
  const slots = DTYPES[wanted.dtype].slots;
  const apart = Math.abs(a[worst] - w[worst]);
  const ulps = eps === 0 || !(apart >= 0)
    ? ""
    : `, ${(apart / (eps * Math.abs(w[worst]) || eps)).toPrecision(3)} ulp`;
  return `is ${a[worst]} at ${position(wanted.shape, Math.floor(worst / slots))}, wanted ${
    w[worst]
  }${ulps}`;
}

/** Describes the first of several arrays that differs, or returns null. `what` names the arrays. */
export function differences(
  actual: readonly NdArray[],
  wanted: readonly NdArray[],
  tolerance: (dtype: DType) => Tolerance,
  what = "output",
): string | null {
  if (actual.length !== wanted.length) return `${actual.length} ${what}s, wanted ${wanted.length}`;
  for (const [k, a] of actual.entries()) {
    const wrong = difference(a, wanted[k], a.dtype, tolerance(a.dtype));
    if (wrong !== null) return `${what} ${k} ${wrong}`;
  }
  return null;
}

/** Wraps whole numbers to the range of an integer dtype. */
function wrap(values: Float64Array, dtype: DType): void {
  const { bytes, kind } = DTYPES[dtype];
  const fit = kind === "int" ? BigInt.asIntN : BigInt.asUintN;
  for (let i = 0; i < values.length; i++) {
    if (Number.isInteger(values[i])) values[i] = Number(fit(bytes * 8, BigInt(values[i])));
  }
}

function exactDifference(actual: NdArray, wanted: NdArray): string | null {
  const a = actual.data, w = wanted.data;
  for (let i = 0; i < w.length; i++) {
    const same = w[i] instanceof Uint8Array ? String(a[i]) === String(w[i]) : a[i] === w[i];
    if (same) continue;
    const slots = DTYPES[wanted.dtype].slots;
    return `is ${show(a[i] as ElementValue)} at ${
      position(wanted.shape, Math.floor(i / slots))
    }, wanted ${show(w[i] as ElementValue)}`;
  }
  return null;
}

function show(v: ElementValue): string {
  return v instanceof Uint8Array ? JSON.stringify(new TextDecoder().decode(v)) : String(v);
}

function position(shape: readonly number[], flat: number): string {
  const index: number[] = [];
  for (let i = shape.length - 1; i >= 0; i--) {
    index.unshift(flat % shape[i]);
    flat = Math.floor(flat / shape[i]);
  }
  return `[${index}]`;
}
