/**
 * Values for kernels: noise that is the same every time, and the numbers at which kernels go wrong. Nothing here needs a test runner.
 */

import { type DType, NdArray } from "@weft/weft";

/** Numbers in [0, 1), the same every time. */
export function random(seed: number): () => number {
  let s = seed >>> 0;
  return () => {
    s = (Math.imul(s, 1664525) + 1013904223) >>> 0;
    return ((s >>> 8) ^ (s >>> 20)) / 2 ** 24;
  };
}

/** A host array of numbers `make` gives; of complex ones it gives the parts. */
export function filled(
  dtype: DType,
  shape: readonly number[],
  make: (index: number) => number,
): NdArray {
  const array = NdArray.zeros(dtype, shape);
  const data = array.data as Float32Array;
  for (let i = 0; i < data.length; i++) data[i] = make(i);
  return array;
}

/** Floats between -1 and 1, or whole numbers between -50 and 50, or booleans. */
export function noise(dtype: DType, shape: readonly number[], seed = 1): NdArray {
  const next = random(seed * 7919 + shape.length);
  if (dtype === "bool") return filled(dtype, shape, () => (next() < 0.5 ? 1 : 0));
  if (dtype === "float32" || dtype === "complex64") {
    return filled(dtype, shape, () => 2 * next() - 1);
  }
  if (dtype === "uint32") return filled(dtype, shape, () => Math.floor(next() * 100));
  return filled(dtype, shape, () => Math.floor(next() * 101) - 50);
}

/** Floats at which kernels go wrong. No quotient of two is so small that an adapter may take it for 0. */
export const SPECIAL_FLOATS: readonly number[] = [
  1,
  NaN,
  -2,
  Infinity,
  0,
  -Infinity,
  -0,
  3e30,
  -1,
  0.5,
  2,
];
/** Whole numbers at which kernels go wrong. */
export const SPECIAL_INTS: readonly number[] = [
  1,
  2147483647,
  -1,
  -2147483648,
  0,
  46341,
  -46341,
  65536,
  7,
  -65537,
  3,
];

/** An array over the special values of a dtype; `every` says how many ordinary numbers are between them. */
export function special(
  dtype: "float32" | "int32",
  shape: number[],
  every = 1,
  shift = 0,
): NdArray {
  const list = dtype === "float32" ? SPECIAL_FLOATS : SPECIAL_INTS;
  return filled(
    dtype,
    shape,
    (i) => i % every === 0 ? list[(i / every + shift) % list.length] : (i % 7) - 3,
  );
}

/** An int32 vector: axes. */
export function vector(...values: number[]): NdArray {
  return new NdArray("int32", [values.length], Int32Array.from(values));
}

/** An int32 scalar: an axis. */
export function number(value: number): NdArray {
  return new NdArray("int32", [], Int32Array.of(value));
}
