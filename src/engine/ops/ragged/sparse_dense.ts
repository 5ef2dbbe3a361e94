/** Dense tensors of sparse ones, and elements of products of dense ones, in the namespace `tf.sparse`. */
import { compose } from "../../core/apply.ts";
import { wantNumber } from "../../core/arguments.ts";
import { asDType, type DType, isFloating } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { compatible, isConcrete, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { gather } from "../array/gather.ts";
import { transpose } from "../array/move.ts";
import { sparseToDense } from "../array/scatter.ts";
import { identity, literalInts } from "../array/view.ts";
import { asTensor, castInput, shapeOfInput, toDenseInput, toIndexInput } from "../input.ts";
import { add, mul } from "../pointwise/arithmetic.ts";
import { sum } from "../reduce/reduce.ts";
import { checkedIndices } from "./sparse_check.ts";
import { type SparseLike, toSparse } from "./sparse_input.ts";

/**
 * Converts a sparse tensor to a dense one, with `defaultValue` elsewhere: a scalar of its dtype, by default 0, false or
 * the empty string. Differentiable. Throws `TypeError` where `x` is no sparse tensor; with `validateIndices` `InvalidArgumentError` for an
 * index out of range, and on the CPU for indices that repeat or are out of order. Follows TensorFlow `tf.sparse.to_dense`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = new tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 2]);
 * console.log(tf.sparse.toDense(x, -1).arraySync()); // [[-1, 5], [6, -1]]
 * ```
 */
export function toDense(
  x: SparseLike,
  defaultValue?: TensorLike,
  validateIndices = true,
): Tensor {
  const given = toSparse(x, "x", "toDense"), { values, denseShape, shape, dtype } = given;
  const none = dtype === "string" ? "" : dtype === "bool" ? false : 0;
  const at = validateIndices ? checkedIndices(given) : given.indices;
  const dims = isConcrete(shape) ? shape : denseShape;
  const dense = sparseToDense(at, values, dims, defaultValue ?? none, validateIndices);
  if (dense.isSymbolic) dense.setShape(shape);
  return dense;
}

/**
 * The elements `alpha * (mat1 @ mat2) + beta * values` at `indices`, `[..., n, 2]`, of products of matrices `[..., m, k]` and `[..., k, n]`,
 * of which no others are computed: the parts of a sparse tensor, indices and `denseShape`, `[m, n]`, as they are. Differentiable with
 * respect to values and matrices. Throws `TypeError` for an `outputType` that is no float, `ValueError` for matrices of another rank or
 * that do not fit, and where their product has another shape than `denseShape`. Follows TensorFlow `tf.sparse.sampled_addmm`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [, values] = tf.sparse.sampledAddmm([[0, 0], [1, 1]], [1, 2], [2, 2], [[1, 2], [3, 4]], [[5, 6], [7, 8]]);
 * console.log(await values.array()); // [20, 52]
 * ```
 */
export function sampledAddmm(
  indices: TensorLike,
  values: TensorLike,
  denseShape: TensorLike,
  mat1: TensorLike,
  mat2: TensorLike,
  beta = 1,
  alpha = 1,
  outputType: DType = "float32",
): [indices: Tensor, values: Tensor, denseShape: Tensor] {
  const fn = "sparse.sampledAddmm", dtype = asDType(outputType);
  wantNumber(beta, "beta", fn);
  wantNumber(alpha, "alpha", fn);
  if (!isFloating(dtype)) throw new TypeError(`Cannot compute ${dtype} by ${fn}: wanted a float`);
  const at = toIndexInput(indices, "indices", fn),
    dims = toIndexInput(denseShape, "denseShape", fn);
  const [own, left, right] = Object.entries({ values, mat1, mat2 }).map(([name, x]) =>
    castInput(toDenseInput(x, name, fn, { dtype: dtype === "float64" ? dtype : undefined }), dtype)
  );
  const [places, a, b] = [at, left, right].map(shapeOfInput), rank = a?.length ?? 0;
  if (places === null || b === null || rank < 2 || b.length !== rank || places.length !== rank) {
    throw new ValueError(
      `Cannot apply ${fn}: indices and matrices must have one rank from 2 on, received ${
        [places, a, b].map(shapeText).join(", ")
      }`,
    );
  }
  const known = literalInts(dims);
  if (known && !compatible(known, [a!.at(-2)!, b.at(-1)!])) {
    throw new ValueError(
      `Cannot apply ${fn}: denseShape [${known}] is not that of a product of ${shapeText(a)} and ${
        shapeText(b)
      }`,
    );
  }
  return compose(() => {
    const batch = rank - 2;
    // Of each element the number of its row and of its column.
    const [row, column] = [0, 1].map((i) => gather(at, i, rank - 1));
    const swapped = [...a!.keys()].map((i) => i < batch ? i : 2 * rank - 3 - i);
    const rows = gather(left, row, batch, batch);
    const columns = gather(transpose(asTensor(right), swapped), column, batch, batch);
    const products = sum(mul(rows, columns), -1);
    return [
      identity(asTensor(at)),
      add(mul(products, alpha), mul(own, beta)),
      identity(asTensor(dims)),
    ];
  });
}
