/** Complex numbers as interleaved real and imaginary parts. */
import { Error } from "../../../engine/core/throwing/builtin_errors.ts";

/** Real and imaginary parts. */
export interface ComplexArrays {
  /** Real parts. */
  real: Float32Array;
  /** Imaginary parts. */
  imag: Float32Array;
}
/** A complex number. */
export interface ComplexNumber {
  /** Real part. */
  real: number;
  /** Imaginary part. */
  imag: number;
}

/** Interleaves both parts. Throws where their lengths differ. */
export function mergeRealAndImagArrays(real: Float32Array, imag: Float32Array): Float32Array {
  if (real.length !== imag.length) {
    throw new Error(`Cannot merge ${real.length} real parts and ${imag.length} imaginary ones`);
  }
  const out = new Float32Array(2 * real.length);
  real.forEach((value, i) => assignToTypedArray(out, value, imag[i], i));
  return out;
}
/** Splits interleaved numbers into parts. */
export function splitRealAndImagArrays(complex: Float32Array): ComplexArrays {
  return every(complex, 0, 1);
}
/** Selects the numbers at even places. */
export function complexWithEvenIndex(complex: Float32Array): ComplexArrays {
  return every(complex, 0, 2);
}
/** Selects the numbers at odd places. */
export function complexWithOddIndex(complex: Float32Array): ComplexArrays {
  return every(complex, 1, 2);
}

function every(complex: Float32Array, first: number, step: number): ComplexArrays {
  const length = Math.max(0, Math.ceil((complex.length / 2 - first) / step));
  const at = (i: number) => 2 * (first + i * step);
  return {
    real: Float32Array.from({ length }, (_, i) => complex[at(i)]),
    imag: Float32Array.from({ length }, (_, i) => complex[at(i) + 1]),
  };
}

/** Returns the number at a place. */
export function getComplexWithIndex(complex: Float32Array, index: number): ComplexNumber {
  return { real: complex[2 * index], imag: complex[2 * index + 1] };
}
/** Sets the number at a place. */
export function assignToTypedArray(
  data: { [index: number]: number },
  real: number,
  imag: number,
  index: number,
): void {
  data[2 * index] = real;
  data[2 * index + 1] = imag;
}
/** Returns the first half of the roots of unity. */
export function exponents(n: number, inverse: boolean): ComplexArrays {
  const roots = Array.from({ length: Math.floor(n / 2) }, (_, k) => exponent(k, n, inverse));
  return {
    real: Float32Array.from(roots, ({ real }) => real),
    imag: Float32Array.from(roots, ({ imag }) => imag),
  };
}
/** Returns a root of unity. */
export function exponent(k: number, n: number, inverse: boolean): ComplexNumber {
  const angle = (inverse ? 2 : -2) * Math.PI * (k / n);
  return { real: Math.cos(angle), imag: Math.sin(angle) };
}
