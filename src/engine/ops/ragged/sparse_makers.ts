/** Sparse tensors from others, dense ones and slices, and back, in the namespace `tf.sparse`. */
import { apply, compose } from "../../core/apply.ts";
import { wantFunction, wrongArgument } from "../../core/arguments.ts";
import { type DType, isInteger } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { lookupOp } from "../../core/op.ts";
import { compatible, isConcrete } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { cast } from "../array/cast.ts";
import { ones, zerosLike } from "../array/creation.ts";
import { gather, gatherND } from "../array/gather.ts";
import { IndexedSlices } from "../array/indexed_slices.ts";
import { concat, stack } from "../array/join.ts";
import { range } from "../array/ranges.ts";
import { sparseToDense } from "../array/scatter.ts";
import { slice as sliceOf } from "../array/slice.ts";
import { expandDims as expand, identity, reshape as reshaped, shape, size } from "../array/view.ts";
import {
  asTensor,
  castInput,
  intVector,
  shapeOfInput,
  toDenseInput,
  toIndexInput,
} from "../input.ts";
import { sub } from "../pointwise/arithmetic.ts";
import { notEqual } from "../pointwise/compare.ts";
import { where } from "../pointwise/select.ts";
import { sparseFillEmptyRows } from "../host/sparse.ts";
import { checkedIndices } from "./sparse_check.ts";
import {
  isSparse,
  type SparseLike,
  sparseOf,
  toSparse,
  wantWhole,
  wideParts,
} from "./sparse_input.ts";
import type { SparseTensor } from "./sparse_tensor.ts";
import { sameVector } from "./same_vector.ts";

/**
 * Returns the elements of a dense tensor that are not zero, false or empty as a sparse tensor. Differentiable. Throws
 * `TypeError` for a value that is no tensor. Follows TensorFlow `tf.sparse.from_dense`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.sparse.fromDense([[0, 5], [6, 0]]);
 * console.log(x.indices.arraySync(), x.values.arraySync()); // [[0, 1], [1, 0]] [5, 6]
 * ```
 */
export function fromDense(x: TensorLike): SparseTensor {
  const input = toDenseInput(x, "x", "sparse.fromDense"), known = shapeOfInput(input);
  return compose(() => {
    const dense = asTensor(input);
    const kept = dense.dtype === "bool" ? dense : notEqual(dense, zerosLike(dense));
    const indices = where(kept);
    return sparseOf(indices, gatherND(dense, indices), shape(dense), known);
  });
}

/**
 * Makes the sparse identity matrix of `numRows` rows and, by default, as many columns. Throws `ValueError` for numbers
 * that are not whole or negative. Follows TensorFlow `tf.sparse.eye`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.sparse.toDense(tf.sparse.eye(2, 3)).arraySync()); // [[1, 0, 0], [0, 1, 0]]
 * ```
 */
export function eye(
  numRows: number,
  numColumns: number = numRows,
  dtype: DType = "float32",
): SparseTensor {
  wantWhole(numRows, "numRows", "eye", 0);
  wantWhole(numColumns, "numColumns", "eye", 0);
  const count = Math.min(numRows, numColumns);
  return compose(() => {
    const at = range(0, count, 1, "int32");
    return sparseOf(stack([at, at], 1), ones([count], dtype), [], [numRows, numColumns]);
  });
}

/**
 * Applies a function to the values of sparse tensors that have the same indices and shape; other arguments stay. Throws
 * `TypeError` where `fn` is no function, `ValueError` where no argument is sparse or their shapes are known to differ,
 * `InvalidArgumentError` for indices or shapes found to. Follows TensorFlow `tf.sparse.map_values`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = new tf.SparseTensor([[0, 1], [1, 0]], [5, 6], [2, 2]);
 * console.log(tf.sparse.mapValues(tf.mul, x, 10).values.arraySync()); // [50, 60]
 * ```
 */
export function mapValues<A extends readonly unknown[]>(
  // deno-lint-ignore no-explicit-any -- the values of sparse arguments stand in their places
  fn: (...args: any[]) => TensorLike,
  ...args: A
): SparseTensor {
  wantFunction(fn, "fn", "sparse.mapValues");
  const all = args.filter(isSparse).map((x, i) => toSparse(x, `args[${i}]`, "mapValues"));
  const [first, ...others] = all;
  if (first === undefined) {
    throw new ValueError("Cannot apply sparse.mapValues: no argument is a SparseTensor");
  }
  const odd = others.find((x) => !compatible(x.shape, first.shape));
  if (odd !== undefined) {
    throw new ValueError(
      `Cannot apply sparse.mapValues to ${first} and ${odd}: shapes must be equal`,
    );
  }
  return compose(() => {
    let at = identity(first.indices), dims = identity(first.denseShape);
    for (const x of others) {
      if (x.indices !== first.indices) at = sameRows(at, x.indices);
      if (!(isConcrete(first.shape) && isConcrete(x.shape))) {
        dims = sameVector(dims, x.denseShape, "Mismatched shapes! Received");
      }
    }
    let i = 0;
    const values = fn(...args.map((a) => isSparse(a) ? all[i++].values : a));
    const own = asTensor(toDenseInput(values, "fn", "sparse.mapValues"));
    return sparseOf(at, identity(own), dims, first.shape);
  });
}

/** Returns indices, which those of another sparse tensor must equal. */
function sameRows(a: Tensor, b: Tensor): Tensor {
  const flat = [a, b].map((t) => reshaped(t, [-1]));
  return reshaped(sameVector(flat[0], flat[1], "Mismatched indices! Received"), shape(a));
}

/**
 * Leaves out the rows of slices whose indices are among `maskIndices`. Differentiable with respect to the slices. Throws
 * `TypeError` where `a` are no IndexedSlices. Follows TensorFlow `tf.sparse.mask`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const rows = new tf.IndexedSlices([[1, 2], [3, 4]], [0, 5], [9, 2]);
 * console.log(tf.sparse.mask(rows, [0]).values.arraySync()); // [[3, 4]]
 * ```
 */
export function mask(a: IndexedSlices, maskIndices: TensorLike): IndexedSlices {
  if (!(a instanceof IndexedSlices)) throw wrongArgument(a, "a", "sparse.mask", "IndexedSlices");
  const gone = castInput(toIndexInput(maskIndices, "maskIndices", "sparse.mask"), a.indices.dtype);
  return compose(() => {
    const [indices, kept] = apply(lookupOp("ListDiff")!, [a.indices, gone]);
    const dims = a.denseShape;
    return new IndexedSlices(
      gather(a.values, kept),
      indices,
      dims === null ? null : identity(dims),
    );
  });
}

/**
 * Gives each empty row of a sparse matrix one element, `defaultValue` in its first column, and returns the matrix with a
 * vector that is true for the rows that were empty. Differentiable with respect to values and the default. Throws
 * `TypeError` where `x` is no sparse tensor, `InvalidArgumentError` for indices out of range. Follows TensorFlow
 * `tf.sparse.fill_empty_rows`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = new tf.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2]);
 * const [filled, wasEmpty] = tf.sparse.fillEmptyRows(x, -1);
 * console.log(filled.values.arraySync(), wasEmpty.arraySync()); // [5, -1, 6] [false, true, false]
 * ```
 */
export function fillEmptyRows(x: SparseLike, defaultValue: TensorLike): [SparseTensor, Tensor] {
  const given = toSparse(x, "x", "fillEmptyRows"), { dtype } = given;
  const start = toDenseInput(defaultValue, "defaultValue", "sparse.fillEmptyRows", { dtype });
  return compose(() => {
    const [indices, values, dims] = wideParts(given);
    const out = sparseFillEmptyRows(indices, values, asTensor(dims), asTensor(start));
    const { outputIndices, outputValues, emptyRowIndicator } = out;
    const filled = sparseOf(outputIndices, outputValues, identity(given.denseShape), given.shape);
    return [filled, identity(emptyRowIndicator)];
  });
}

/**
 * Converts a sparse tensor of whole numbers to a dense one of booleans, whose last dimension has `vocabSize` places: true
 * where a row has the number. Throws `TypeError` where `x` is no sparse tensor of whole numbers, `ValueError` for a size
 * below 1, `InvalidArgumentError` for numbers not below it. Follows TensorFlow `tf.sparse.to_indicator`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = new tf.SparseTensor([[0, 0], [1, 0]], tf.cast([2, 0], "int32"), [2, 1]);
 * console.log(tf.sparse.toIndicator(x, 3).arraySync()); // [[false, false, true], [true, false, false]]
 * ```
 */
export function toIndicator(x: SparseLike, vocabSize: number): Tensor {
  const given = toSparse(x, "x", "toIndicator"), known = given.shape;
  wantWhole(vocabSize, "vocabSize", "toIndicator", 1);
  if (!isInteger(given.dtype)) {
    throw new TypeError(
      `Cannot apply sparse.toIndicator to ${given}: the values must be whole numbers`,
    );
  }
  return compose(() => {
    const { indices, values, denseShape } = given, rest = sub(size(denseShape), 1);
    const before = known === null
      ? [
        gather(indices, range(0, rest, 1, "int32"), 1),
        gather(denseShape, range(0, rest, 1, "int32")),
      ]
      : [
        sliceOf(indices, [0, 0], [-1, known.length - 1]),
        sliceOf(denseShape, [0], [known.length - 1]),
      ];
    const at = concat([before[0], expand(cast(values, "int32"), 1)], 1);
    const wide = known && [...known.slice(0, -1), vocabSize];
    const dims = isConcrete(wide) ? asTensor(intVector(wide)) : concat([before[1], [vocabSize]]);
    const dense = sparseToDense(
      checkedIndices({ indices: at, denseShape: dims }),
      true,
      (isConcrete(wide) ? wide : dims) as readonly number[],
      false,
      false,
    );
    if (dense.isSymbolic) dense.setShape(wide);
    return dense;
  });
}
