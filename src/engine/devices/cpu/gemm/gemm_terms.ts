/**
 * Elements of products, four to a vector, and the sums of their products. Panels, rows and tiles only move elements of four bytes, so
 * that all kernels take each kind.
 */
import { f32x4, i16x8, i32x4 } from "../wasm/instructions.ts";
import type { F4, Simd } from "../wasm/simd.ts";

/** float32; int32, whose sums wrap; pairs of int16, whose two products are added to an int32. */
export type Terms = "float32" | "int32" | "pairs";

/** Arithmetic on lanes, whatever they hold. */
interface Arithmetic {
  /** `x * y + sum`. */
  readonly madd: (s: Simd, x: F4, y: F4, sum: F4) => F4;
  readonly add: (x: F4, y: F4) => F4;
}

const addInts = (x: F4, y: F4): F4 => f32x4.ofBits(i32x4.add(i32x4.ofBits(x), i32x4.ofBits(y)));

export const TERMS: Readonly<Record<Terms, Arithmetic>> = {
  float32: { madd: (s, x, y, sum) => s.madd(x, y, sum), add: (x, y) => f32x4.add(x, y) },
  int32: {
    madd: (_, x, y, sum) => addInts(sum, f32x4.ofBits(i32x4.mul(i32x4.ofBits(x), i32x4.ofBits(y)))),
    add: addInts,
  },
  pairs: {
    madd: (_, x, y, sum) => addInts(sum, f32x4.ofBits(i32x4.dot(i16x8.ofBits(x), i16x8.ofBits(y)))),
    add: addInts,
  },
};
