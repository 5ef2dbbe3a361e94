/** Adjoints of matrices: of real ones, their transposes. */
import { type DType, DTYPES } from "../../core/dtype.ts";
import { apply1 } from "../../core/apply.ts";
import { lookupOp } from "../../core/op.ts";
import type { Tensor } from "../../core/tensor.ts";
import { concat, stack } from "../array/join.ts";
import { transpose } from "../array/move.ts";
import { stridedSlice } from "../array/strided_slice.ts";
import { rank } from "../array/view.ts";
import { intScalar } from "../input.ts";
import { sub } from "../pointwise/arithmetic.ts";
import { conj } from "../pointwise/complex.ts";
import { matMul } from "./matmul.ts";

/** The dtypes of matrices that have inverses and factors, as an attribute. */
export const NUMBERS = "T: {float64, float32, float16, complex64, complex128}";

export const isComplex = ({ dtype }: { readonly dtype: DType }): boolean =>
  DTYPES[dtype].kind === "complex";

/** The conjugates of complex numbers. */
export const conjugate = (x: Tensor): Tensor => isComplex(x) ? conj(x) : x;

/** Swaps the last two axes. */
export function flip(x: Tensor): Tensor {
  if (x.staticShape !== null) {
    const n = x.staticShape.length;
    return transpose(x, Array.from({ length: n }, (_, i) => (i < n - 2 ? i : 2 * n - 3 - i)));
  }
  const n = rank(x);
  const before = apply1(lookupOp("Range")!, [intScalar(0), sub(n, 2), intScalar(1)]);
  return transpose(x, concat([before, stack([sub(n, 1), sub(n, 2)])]));
}

/** Each matrix with rows and columns exchanged, conjugated. */
export const adjointOf = (x: Tensor): Tensor => conjugate(flip(x));

/** Columns `from` to `to` of each matrix, to the last one by default. */
export function columns(
  x: Tensor,
  from: number | Tensor,
  to: number | Tensor | null = null,
): Tensor {
  const place = (n: number | Tensor) => typeof n === "number" ? [0, n] : stack([intScalar(0), n]);
  return stridedSlice(x, place(from), place(to ?? 0), [1, 1], 1, to === null ? 3 : 1, 1);
}

/** The product of matrices, or of their adjoints. */
export function product(a: Tensor, b: Tensor, adjointA = false, adjointB = false): Tensor {
  return matMul(adjointA ? conjugate(a) : a, adjointB ? conjugate(b) : b, adjointA, adjointB);
}
