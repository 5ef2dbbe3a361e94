/** Functions of the factors that `lu` gives, part of the namespace `tf.linalg`: luMatrixInverse, luReconstruct, luSolve. */
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { type PartialShape, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { onesLike, zerosLike } from "../array/creation.ts";
import { gather } from "../array/gather.ts";
import { asTensor, toFloatInput, toIndexInput, toMatchingInputs } from "../input.ts";
import { add } from "../pointwise/arithmetic.ts";
import { argsort } from "../reduce/topk.ts";
import { sum } from "../reduce/reduce.ts";
import { diag, diagPart, setDiag } from "./diagonals.ts";
import { bandPart, triangularSolve } from "./linalg.ts";
import { matMul } from "./matmul.ts";

/** Returns the order of the rows as a tensor of whole numbers, checked against the factors. */
function orderOf(lu: Tensor, p: TensorLike, fn: string): Tensor {
  const order = asTensor(toIndexInput(p, "p", fn)), [a, b] = [lu.staticShape, order.staticShape];
  if (a !== null && b !== null && a.length !== b.length + 1) {
    throw new ValueError(
      `Cannot apply ${fn}: p of shape ${shapeText(b)} does not fit factors of shape ${
        shapeText(a)
      }: wanted [..., n] and [..., n, n]`,
    );
  }
  return order;
}

/** Returns the lower factor, with ones in its diagonal. */
function lowerOf(lu: Tensor): Tensor {
  return setDiag(lu, onesLike(diagPart(lu)));
}

const sameBatch = (a: PartialShape, b: PartialShape): boolean =>
  a !== null && b !== null && a.length === b.length &&
  a.slice(0, -2).every((n, i) => n !== null && n === b[i]);

/** Puts the rows of matrices into an order, which is one for all or of one batch with them. */
function inOrder(x: Tensor, order: Tensor, lu: Tensor): Tensor {
  const rank = order.staticShape?.length;
  if (rank === undefined) {
    throw new ValueError("Cannot put rows in order: the rank of p must be known");
  }
  if (rank === 1) return gather(x, order, -2);
  if (sameBatch(x.staticShape, lu.staticShape)) return gather(x, order, rank - 1, rank - 1);
  // Zeros of the other's batch are added to each, so that both have all of it.
  const rows = add(x, sum(zerosLike(lu), [-2, -1], true));
  const all = add(order, cast(sum(zerosLike(rows), -1), order.dtype));
  const n = rows.staticShape?.length;
  if (n === undefined) {
    throw new ValueError("Cannot put rows in order: the rank of rhs must be known");
  }
  return gather(rows, all, n - 2, n - 2);
}

/**
 * Solves `A · X = rhs` by the factors that {@linkcode lu} gives of A; batches broadcast. Follows TensorFlow `tf.linalg.lu_solve`. Throws
 * `ValueError` for shapes that do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [lu, p] = tf.linalg.lu([[0, 2], [4, 1]]);
 * console.log(await tf.linalg.luSolve(lu, p, [[2], [9]]).array()); // [[2], [1]]
 * ```
 */
export function luSolve(lowerUpper: TensorLike, p: TensorLike, rhs: TensorLike): Tensor {
  return compose(() => {
    const names: [string, string] = ["lowerUpper", "rhs"];
    const [lu, b] = toMatchingInputs(lowerUpper, rhs, "linalg.luSolve", names).map(asTensor);
    const rank = b.staticShape?.length;
    if (rank !== undefined && rank < 2) {
      throw new ValueError(
        `Cannot apply linalg.luSolve: rhs has shape ${
          shapeText(b.staticShape)
        }, wanted [..., n, k]`,
      );
    }
    const right = inOrder(b, orderOf(lu, p, "linalg.luSolve"), lu);
    return triangularSolve(lu, triangularSolve(lowerOf(lu), right), false);
  });
}

/**
 * The matrices of the factors that {@linkcode lu} gives. Follows TensorFlow `tf.linalg.lu_reconstruct`. Throws `ValueError` for shapes
 * that do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [lu, p] = tf.linalg.lu([[0, 2], [4, 1]]);
 * console.log(await tf.linalg.luReconstruct(lu, p).array()); // [[0, 2], [4, 1]]
 * ```
 */
export function luReconstruct(lowerUpper: TensorLike, p: TensorLike): Tensor {
  return compose(() => {
    const lu = asTensor(toFloatInput(lowerUpper, "lowerUpper", "linalg.luReconstruct"));
    const order = orderOf(lu, p, "linalg.luReconstruct");
    const product = matMul(bandPart(lowerOf(lu), -1, 0), bandPart(lu, 0, -1));
    return inOrder(product, argsort(order), lu);
  });
}

/**
 * The inverses of matrices by the factors that {@linkcode lu} gives of them. Follows TensorFlow `tf.linalg.lu_matrix_inverse`. Throws
 * `ValueError` for shapes that do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [lu, p] = tf.linalg.lu([[0, 2], [4, 0]]);
 * console.log(await tf.linalg.luMatrixInverse(lu, p).array()); // [[0, 0.25], [0.5, 0]]
 * ```
 */
export function luMatrixInverse(lowerUpper: TensorLike, p: TensorLike): Tensor {
  return compose(() => {
    const lu = asTensor(toFloatInput(lowerUpper, "lowerUpper", "linalg.luMatrixInverse"));
    return luSolve(lu, p, diag(onesLike(diagPart(lu))));
  });
}
