/** Square roots and logarithms of matrices, part of the namespace `tf.linalg`. On the host. */
import { apply1, type OpInput } from "../../core/apply.ts";
import { DTYPES } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { defineOp, lookupOp, type OpDef } from "../../core/op.ts";
import { shapeText } from "../../core/shape.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { logmCpu, sqrtmCpu } from "../../kernels/host/linalg/roots.ts";
import { zerosLike } from "../array/creation.ts";
import { splitEqually } from "../array/join_ops.ts";
import { asTensor, intScalar, toFloatInput } from "../input.ts";
import { conj } from "../pointwise/complex.ts";
import { flip } from "./adjoints.ts";

/** Defines a function of square matrices that is real for real ones. */
function define(name: string, dtypes: string, cpu: (x: NdArray, out: NdArray) => void): OpDef {
  const def: OpDef = defineOp({
    name,
    inputs: ["input: T"],
    outputs: ["output: T"],
    attrs: [`T: ${dtypes}`],
    infer: ([{ shape }]) => {
      const [rows, columns] = shape?.slice(-2) ?? [null, null];
      const isSquare = rows === null || columns === null || rows === columns;
      if (shape === null || shape.length >= 2 && isSquare) return [shape];
      throw new ValueError(
        `Cannot apply ${name} to shape ${shapeText(shape)}: wanted square matrices`,
      );
    },
    grad: {
      saves: ["input"],
      // N. Higham, "Functions of Matrices" (2008), equation 3.16: the derivative stands in the function of a block matrix.
      vjp: ({ input }, [dy]) => {
        const a = DTYPES[input.dtype].kind === "complex" ? conj(flip(input)) : flip(input);
        const rows = intScalar(-2), columns = intScalar(-1);
        const join = (parts: Tensor[], axis: OpInput) =>
          apply1(lookupOp("ConcatV2")!, [...parts, axis]);
        const upper = join([a, asTensor(dy)], columns), lower = join([zerosLike(a), a], columns);
        const [top] = splitEqually(apply1(def, [join([upper, lower], rows)]), 2, rows);
        return [splitEqually(top, 2, columns)[1]];
      },
    },
    cpu: ([x], [out]) => cpu(x, out),
  });
  return def;
}

export const MatrixSquareRoot: OpDef = define(
  "MatrixSquareRoot",
  "{float64, float32, float16, complex64, complex128}",
  sqrtmCpu,
);
export const MatrixLogarithm: OpDef = define("MatrixLogarithm", "{complex64, complex128}", logmCpu);

/**
 * The square root of each square matrix whose eigenvalues have real parts from 0 on: the matrix times itself is the given one. A real matrix
 * without a real root gives NaN. On the host, in float64. Throws `ValueError` for matrices that are not square. TensorFlow op
 * `MatrixSquareRoot`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.linalg.sqrtm([[4, 0], [0, 9]]).array()); // [[2, 0], [0, 3]]
 * ```
 */
export function sqrtm(input: TensorLike): Tensor {
  return apply1(MatrixSquareRoot, [toFloatInput(input, "input", "linalg.sqrtm")]);
}

/**
 * The principal logarithm of each square complex matrix, of which `linalg.expm` is the inverse. A matrix without an inverse gives NaN and
 * infinities. On the host, in float64. Throws `TypeError` for real matrices, `ValueError` for matrices that are not square. TensorFlow op
 * `MatrixLogarithm`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const turn = tf.complex([[0, -1], [1, 0]], [[0, 0], [0, 0]]); // a quarter turn
 * console.log((await tf.real(tf.linalg.logm(turn)).data())[2].toFixed(4)); // 1.5708
 * ```
 */
export function logm(input: TensorLike): Tensor {
  const x = toFloatInput(input, "input", "linalg.logm");
  if (DTYPES[x.dtype].kind === "complex") return apply1(MatrixLogarithm, [x]);
  throw new TypeError(
    `Cannot apply linalg.logm to ${x.dtype}: wanted complex64 or complex128, as tf.complex makes`,
  );
}
