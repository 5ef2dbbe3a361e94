/** Functions of matrices that are made of decompositions and products: exponentials, pseudo-inverses, ranks, conditions. */
import { apply1, compose, type OpInput } from "../../core/apply.ts";
import { type DType, DTYPES } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { defineOp, lookupOp, type OpDef } from "../../core/op.ts";
import { partOf } from "../../core/scalar/operations.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { complexExpmCpu, expmCpu } from "../../kernels/host/linalg/expm.ts";
import { cast } from "../array/cast.ts";
import { zerosLike } from "../array/creation.ts";
import { splitEqually } from "../array/join_ops.ts";
import { stridedSlice } from "../array/strided_slice.ts";
import { expandDims, shape, squeeze } from "../array/view.ts";
import { asTensor, intScalar, shapeOfInput, toFloatInput } from "../input.ts";
import { conj, real } from "../pointwise/complex.ts";
import { div, mul } from "../pointwise/arithmetic.ts";
import { greater } from "../pointwise/compare.ts";
import { where } from "../pointwise/select.ts";
import { max, min, sum } from "../reduce/reduce.ts";
import { svd, svdvals } from "./decompositions.ts";
import { adjointOf, flip, isComplex, NUMBERS, product } from "./adjoints.ts";
import { matMul } from "./matmul.ts";
import { slogdet } from "./solve.ts";

/**
 * Returns `times` the accuracy of the dtype times the larger extent of matrices, a tensor where a graph does not know the extents. Throws
 * `ValueError` for what is no matrix.
 */
function accuracy(x: Tensor, fn: string, times = 1): number | Tensor {
  const known = x.staticShape, factor = times * epsilon(x.dtype);
  if (known !== null && known.length < 2) {
    throw new ValueError(`Cannot apply ${fn} to shape ${shapeText(known)}: wanted matrices`);
  }
  const [rows, columns] = known?.slice(-2) ?? [null, null];
  if (rows !== null && columns !== null) return Math.max(rows, columns) * factor;
  const extents = stridedSlice(shape(x), [-2], [0], [1], 0, 1);
  return mul(cast(max(extents), partOf(x.dtype)), factor);
}

const Expm: OpDef = defineOp({
  name: "_MatrixExponential",
  portable: { never: "TensorFlow makes it of loops" },
  inputs: ["input: T"],
  outputs: ["output: T"],
  attrs: [NUMBERS],
  infer: ([{ shape }]) => {
    const [rows, columns] = shape?.slice(-2) ?? [null, null];
    if (
      shape !== null &&
      (shape.length < 2 || (rows !== null && columns !== null && rows !== columns))
    ) {
      throw new ValueError(
        `Cannot apply expm to shape ${shapeText(shape)}: wanted square matrices`,
      );
    }
    return [shape];
  },
  grad: {
    saves: ["input"],
    // N. Higham, "Functions of Matrices" (2008), equation 3.16: the derivative stands in the exponential of a block matrix.
    vjp: ({ input }, [dy]) => {
      const a = adjointOf(input), rows = intScalar(-2), columns = intScalar(-1);
      const join = (parts: Tensor[], axis: OpInput) =>
        apply1(lookupOp("ConcatV2")!, [...parts, axis]);
      const upper = join([a, asTensor(dy)], columns), lower = join([zerosLike(a), a], columns);
      const [top] = splitEqually(apply1(Expm, [join([upper, lower], rows)]), 2, rows);
      return [splitEqually(top, 2, columns)[1]];
    },
  },
  cpu: ([x], [out]) => (isComplex(x) ? complexExpmCpu : expmCpu)(x, out),
});

/**
 * The exponential of each square matrix. On the host, in float64. Follows TensorFlow `tf.linalg.expm`. Throws `ValueError` for
 * matrices that are not square.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.linalg.expm([[0, 1], [0, 0]]).array()); // [[1, 1], [0, 1]]
 * ```
 */
export function expm(input: TensorLike): Tensor {
  return apply1(Expm, [toFloatInput(input, "input", "expm")]);
}

/** The relative accuracy of a floating dtype. */
function epsilon(dtype: DType): number {
  return dtype === "float64" || dtype === "complex128"
    ? 2 ** -52
    : dtype === "float16"
    ? 2 ** -10
    : 2 ** -23;
}

/**
 * The pseudo-inverse of each matrix (Moore and Penrose). Singular values of at most `rcond` times the largest count as zeros; by default
 * `rcond` is 10 times the larger extent times the accuracy of the dtype. Follows TensorFlow `tf.linalg.pinv`. Throws `ValueError` for what
 * is no matrix.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const a = tf.tensor([[2, 0], [0, 4], [0, 0]]);
 * console.log(await tf.linalg.pinv(a).array()); // [[0.5, 0, 0], [0, 0.25, 0]]
 * ```
 */
export function pinv(a: TensorLike, rcond?: number): Tensor {
  return compose(() => {
    const x = asTensor(toFloatInput(a, "a", "pinv")), relative = rcond ?? accuracy(x, "pinv", 10);
    const [s, u, v] = svd(x);
    const least = mul(max(s, -1, true), relative);
    const isOver = greater(s, least);
    // Not one over zero: its gradient would be NaN.
    const inverse = where(isOver, div(1, where(isOver, s, 1)), zerosLike(s));
    return product(mul(v, expandDims(cast(inverse, x.dtype), -2)), u, false, true);
  });
}

/**
 * The rank of each matrix: the number of singular values above `tol`, by default the largest of them times the larger extent times the
 * accuracy of the dtype. int32. Follows TensorFlow `tf.linalg.matrix_rank`. Throws `ValueError` for what is no matrix.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.linalg.matrixRank([[1, 2], [2, 4]]).item()); // 1
 * ```
 */
export function matrixRank(a: TensorLike, tol?: TensorLike): Tensor {
  return compose(() => {
    const x = asTensor(toFloatInput(a, "a", "matrixRank")), relative = accuracy(x, "matrixRank");
    const s = svdvals(x);
    const least = tol === undefined
      ? mul(max(s, -1, true), relative)
      : expandDims(asTensor(toFloatInput(tol, "tol", "matrixRank")), -1);
    return sum(cast(greater(s, least), "int32"), -1);
  });
}

/**
 * The condition of each matrix: its largest singular value divided by its least. Follows NumPy `linalg.cond`. Throws `ValueError` for what is
 * no matrix.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.linalg.cond([[4, 0], [0, 2]]).item()); // 2
 * ```
 */
export function cond(a: TensorLike): Tensor {
  return compose(() => {
    const s = svdvals(a);
    return div(max(s, -1), min(s, -1));
  });
}

/**
 * The logarithm of the determinant of each symmetric or Hermitian positive matrix, real. Follows TensorFlow `tf.linalg.logdet`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.linalg.logdet([[4, 0], [0, 1]]).item().toFixed(3)); // 1.386
 * ```
 */
export function logdet(a: TensorLike): Tensor {
  const [sign, log] = slogdet(a);
  sign.dispose();
  if (!isComplex(log)) return log;
  const values = real(log);
  log.dispose();
  return values;
}

/**
 * Each matrix with its rows and columns exchanged. Follows TensorFlow `tf.linalg.matrix_transpose`. Throws `ValueError` for what is no matrix.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.linalg.matrixTranspose([[1, 2, 3]]).arraySync()); // [[1], [2], [3]]
 * ```
 */
export function matrixTranspose(a: TensorLike): Tensor {
  const x = asTensor(toFloatInput(a, "a", "matrixTranspose"));
  if ((x.staticShape?.length ?? 2) < 2) {
    throw new ValueError(
      `Cannot apply matrixTranspose to shape ${shapeText(x.staticShape)}: wanted matrices`,
    );
  }
  return flip(x);
}

/**
 * The conjugate of each matrix's transpose. Follows TensorFlow `tf.linalg.adjoint`. Throws `ValueError` for what is no matrix.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.linalg.adjoint([[1, 2], [3, 4]]).arraySync()); // [[1, 3], [2, 4]]
 * ```
 */
export function adjoint(a: TensorLike): Tensor {
  const isComplex = DTYPES[asTensor(toFloatInput(a, "a", "adjoint")).dtype].kind === "complex";
  return compose(() => isComplex ? conj(matrixTranspose(a)) : matrixTranspose(a));
}

/**
 * The product of each matrix with a vector. Follows TensorFlow `tf.linalg.matvec`. Throws `ValueError` for shapes that do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.linalg.matvec([[1, 2], [3, 4]], [1, 10]).array()); // [21, 43]
 * ```
 */
export function matvec(a: TensorLike, x: TensorLike, transposeA = false): Tensor {
  return compose(() => {
    const vector = toFloatInput(x, "x", "matvec");
    if (shapeOfInput(vector)?.length === 0) {
      throw new ValueError("Cannot apply matvec to a scalar: wanted a vector");
    }
    return squeeze(matMul(a, expandDims(asTensor(vector), -1), transposeA), [-1]);
  });
}
