/**
 * Elements of products, four to a vector, and the sums of their products. Panels, rows and tiles only move elements of four bytes, so
 * that all kernels take each kind.
 */
import { f32x4, i32x4, i8x16 } from "../wasm/instructions.ts";
import type { F4, Simd } from "../wasm/simd.ts";

/** float32; int32, whose sums wrap; four bytes, unsigned ones of A and signed ones of B, whose products are added to an int32. */
export type Terms = "float32" | "int32" | "quads";

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
  quads: {
    madd: (_, x, y, sum) => {
      const [a, b] = [x, y].map((v) => i8x16.ofBits(v));
      return f32x4.ofBits(i32x4.relaxedDot(b, a, i32x4.ofBits(sum)));
    },
    add: addInts,
  },
};
