/**
 * Scalar functions that JavaScript lacks, on numbers, 64-bit integers and complex pairs. Printed code calls them as `H`.
 */
import { InvalidArgumentError } from "../errors.ts";

/** A complex number. */
export type Pair = readonly [number, number];

const INT32_MAX = 2147483647, INT32_MIN = -2147483648;
const INT64_MAX = 2n ** 63n - 1n, INT64_MIN = -(2n ** 63n), UINT64_MAX = 2n ** 64n - 1n;

/** Converts a float to int32, saturating as WGSL and WebAssembly do. NaN becomes 0. */
export function toInt(x: number): number {
  return x >= INT32_MAX ? INT32_MAX : x <= INT32_MIN ? INT32_MIN : x | 0;
}

/** Converts a float to uint32, saturating. NaN becomes 0. */
export function toUint(x: number): number {
  return x >= 4294967295 ? 4294967295 : x > 0 ? Math.trunc(x) : 0;
}

/** Converts a float to an integer, saturating at two ends. NaN becomes 0. */
export function toRange(x: number, low: number, high: number): number {
  return x >= high ? high : x <= low ? low : Math.trunc(x) || 0;
}

/** Converts a float to int64, saturating. NaN becomes 0. */
export function toInt64(x: number): bigint {
  if (x >= 2 ** 63) return INT64_MAX;
  return x <= -(2 ** 63) ? INT64_MIN : BigInt(Math.trunc(x) || 0);
}

/** Converts a float to uint64, saturating. NaN becomes 0. */
export function toUint64(x: number): bigint {
  if (x >= 2 ** 64) return UINT64_MAX;
  return x > 0 ? BigInt(Math.trunc(x)) : 0n;
}

export const roundToHalf: (x: number) => number =
  (Math as unknown as { f16round?: (x: number) => number }).f16round ?? Math.fround;

/** Nearest integer, halves to the even one. */
export function roundEven(x: number): number {
  if (!Number.isFinite(x)) return x;
  const r = Math.round(x);
  if (Math.abs(x % 1) === 0.5 && r % 2 !== 0) return r - 1;
  return r === 0 && x < 0 ? -0 : r;
}

/** Remainder with the sign of the divisor. */
export function floorMod(a: number, b: number): number {
  const r = a % b;
  return r !== 0 && (r < 0) !== (b < 0) ? r + b : r;
}

/** C's pow: 1 to any power is 1, and -1 to an infinite one. */
export function pow(a: number, b: number): number {
  return a === 1 || (a === -1 && (b === Infinity || b === -Infinity)) ? 1 : Math.pow(a, b);
}

/** Throws TensorFlow's error for whole numbers. */
export function dividedByZero(): never {
  throw new InvalidArgumentError("Integer division by zero");
}

function negativePower(): never {
  throw new InvalidArgumentError("Integers to negative integer powers are not allowed");
}

/** Integer power modulo 2^32. Throws `InvalidArgumentError` for a negative one, as TensorFlow does. */
export function ipow(a: number, b: number): number {
  if (b < 0) negativePower();
  let r = 1;
  for (; b > 0; b = Math.floor(b / 2), a = Math.imul(a, a)) if (b % 2 === 1) r = Math.imul(r, a);
  return r;
}

/** Error function: W. J. Cody's rational approximations (Math. Comp. 23, 1969), relative error below 1e-15. */
export function erf(x: number): number {
  const y = Math.abs(x);
  if (Number.isNaN(x)) return x;
  if (y <= 0.46875) return x * ratio(ERF_P, ERF_Q, y * y);
  let r = 0;
  if (y <= 4) r = Math.exp(-y * y) * ratio(ERFC_P, ERFC_Q, y);
  else if (y < 6) {
    const z = 1 / (y * y);
    r = Math.exp(-y * y) / y * (1 / Math.sqrt(Math.PI) - z * ratio(TAIL_P, TAIL_Q, z));
  }
  return x < 0 ? r - 1 : 1 - r;
}

const ERF_P = [
  1.85777706184603153e-1,
  3.16112374387056560,
  1.13864154151050156e2,
  3.77485237685302021e2,
  3.20937758913846947e3,
];
const ERF_Q = [
  1,
  2.36012909523441209e1,
  2.44024637934444173e2,
  1.28261652607737228e3,
  2.84423683343917062e3,
];
const ERFC_P = [
  2.15311535474403846e-8,
  5.64188496988670089e-1,
  8.88314979438837594,
  6.61191906371416295e1,
  2.98635138197400131e2,
  8.81952221241769090e2,
  1.71204761263407058e3,
  2.05107837782607147e3,
  1.23033935479799725e3,
];
const ERFC_Q = [
  1,
  1.57449261107098347e1,
  1.17693950891312499e2,
  5.37181101862009858e2,
  1.62138957456669019e3,
  3.29079923573345963e3,
  4.36261909014324716e3,
  3.43936767414372164e3,
  1.23033935480374942e3,
];
const TAIL_P = [
  1.63153871373020978e-2,
  3.05326634961232344e-1,
  3.60344899949804439e-1,
  1.25781726111229246e-1,
  1.60837851487422766e-2,
  6.58749161529837803e-4,
];
const TAIL_Q = [
  1,
  2.56852019228982242,
  1.87295284992346047,
  5.27905102951428412e-1,
  6.05183413124413191e-2,
  2.33520497626869185e-3,
];

function ratio(p: readonly number[], q: readonly number[], x: number): number {
  return horner(p, x) / horner(q, x);
}

function horner(coefficients: readonly number[], x: number): number {
  let r = 0;
  for (const c of coefficients) r = r * x + c;
  return r;
}

export function bdiv(a: bigint, b: bigint): bigint {
  return b === 0n ? dividedByZero() : a / b;
}

export function bfloorDiv(a: bigint, b: bigint): bigint {
  const q = bdiv(a, b);
  return a % b !== 0n && (a < 0n) !== (b < 0n) ? q - 1n : q;
}

export function bmod(a: bigint, b: bigint): bigint {
  return b === 0n ? dividedByZero() : a % b;
}

export function bfloorMod(a: bigint, b: bigint): bigint {
  const r = bmod(a, b);
  return r !== 0n && (r < 0n) !== (b < 0n) ? r + b : r;
}

/** 64-bit power modulo 2^64. Throws `InvalidArgumentError` for a negative one, as TensorFlow does. */
export function bpow(a: bigint, b: bigint): bigint {
  if (b < 0n) negativePower();
  let r = 1n;
  for (; b > 0n; b >>= 1n, a = BigInt.asIntN(64, a * a)) {
    if (b & 1n) r = BigInt.asIntN(64, r * a);
  }
  return r;
}

/** Negative, 0 or positive as the first byte string comes before, equals or comes after the second. */
export function compareBytes(a: Uint8Array, b: Uint8Array): number {
  const n = Math.min(a.length, b.length);
  for (let i = 0; i < n; i++) if (a[i] !== b[i]) return a[i] - b[i];
  return a.length - b.length;
}
