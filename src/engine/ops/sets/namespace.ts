/** The namespace `tf.sets`: the rows of two tensors, along their last axis, as sets. */
import { apply, apply1, type OpInput } from "../../core/apply.ts";
import { wantBoolean } from "../../core/arguments.ts";
import { castInput, shapeOfInput, toDenseInput, toOperand } from "../input.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import type { OpDef } from "../../core/op.ts";
import { isSparse, type SparseLike, toSparse, wideParts } from "../ragged/sparse_input.ts";
import { SparseTensor } from "../ragged/sparse_tensor.ts";
import {
  DenseToDenseSetOperation,
  DenseToSparseSetOperation,
  SetSize,
  SparseToSparseSetOperation,
} from "./set_ops.ts";

/** Sets of a dense tensor, whose rows have one length, or of a sparse one. */
export type SetLike = SparseLike | TensorLike;

function operation(
  a: SetLike,
  b: SetLike,
  how: "union" | "intersection" | "a-b" | "b-a",
  { fn, isChecked }: { readonly fn: string; readonly isChecked: boolean },
): SparseTensor {
  wantBoolean(isChecked, "validateIndices", fn);
  // As in TensorFlow a dense tensor stands before a sparse one.
  if (isSparse(a) && !isSparse(b)) {
    const other = how === "a-b" ? "b-a" : how === "b-a" ? "a-b" : how;
    return operation(b, a, other, { fn, isChecked });
  }
  const attrs = { set_operation: how, validate_indices: isChecked };
  const [op, inputs] = inputsOf(a, b, fn);
  const [indices, values, dims] = apply(op, inputs, attrs);
  return new SparseTensor(indices, values, dims);
}

function inputsOf(a: SetLike, b: SetLike, fn: string): [OpDef, OpInput[]] {
  if (isSparse(a)) {
    const second = partsOf(b as SparseLike, "b", fn);
    return [SparseToSparseSetOperation, [...partsOf(a, "a", fn), ...second]];
  }
  if (isSparse(b)) {
    const second = partsOf(b, "b", fn);
    return [DenseToSparseSetOperation, [wholeInput(a, second[1], "a", fn), ...second]];
  }
  const first = wholeInput(a, b, "a", fn);
  return [DenseToDenseSetOperation, [first, wholeInput(b, first, "b", fn)]];
}

function partsOf(x: SparseLike, arg: string, fn: string): OpInput[] {
  return wideParts(toSparse(x, arg, fn));
}

/** Converts a dense argument; plain numbers take the dtype of the other one, or int32. */
function wholeInput(x: TensorLike, other: unknown, arg: string, fn: string): OpInput {
  const isPlain = Array.isArray(x) || typeof x === "number";
  const input = isPlain
    ? toOperand(x, isSparse(other) ? undefined : other as TensorLike, { arg, fn })
    : toDenseInput(x, arg, fn);
  const whole = isPlain && input.dtype === "float32"
    ? toDenseInput(x, arg, fn, { dtype: "int32" })
    : input;
  if ((shapeOfInput(whole)?.length ?? 2) >= 2) return whole;
  throw new TypeError(`Cannot apply ${fn}: ${arg} must have rows, and so a rank of 2 or more`);
}

/**
 * The elements of the rows of `a` that the rows of `b` have not (the other way round where `aminusb` is false), as a sparse
 * tensor: each once, in their order. Whole numbers of up to 64 bits, and strings. `validateIndices` checks that sparse tensors
 * are in order. Throws `TypeError` for other dtypes, `InvalidArgumentError` for shapes that differ before the last axis.
 * TensorFlow ops `DenseToDenseSetOperation`, `DenseToSparseSetOperation` and `SparseToSparseSetOperation`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const left = tf.sets.difference([[1, 2, 3], [4, 4, 5]], [[2, 9], [5, 5]]);
 * console.log(await tf.sparse.toDense(left).array()); // [[1, 3], [4, 0]]
 * ```
 */
export function difference(
  a: SetLike,
  b: SetLike,
  aminusb = true,
  validateIndices = true,
): SparseTensor {
  wantBoolean(aminusb, "aminusb", "difference");
  const how = aminusb ? "a-b" : "b-a";
  return operation(a, b, how, { fn: "difference", isChecked: validateIndices });
}

/**
 * The elements that the rows of both have, as a sparse tensor. Otherwise as {@linkcode difference}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const both = tf.sets.intersection([[1, 2, 3], [4, 4, 5]], [[2, 3], [5, 5]]);
 * console.log(await tf.sparse.toDense(both).array()); // [[2, 3], [5, 0]]
 * ```
 */
export function intersection(a: SetLike, b: SetLike, validateIndices = true): SparseTensor {
  return operation(a, b, "intersection", { fn: "intersection", isChecked: validateIndices });
}

/**
 * The elements that the rows of one or both have, as a sparse tensor. Otherwise as {@linkcode difference}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const all = tf.sets.union([["b", "a"]], [["c", "a"]]);
 * console.log(await tf.sparse.toDense(all).array()); // [["a", "b", "c"]]
 * ```
 */
export function union(a: SetLike, b: SetLike, validateIndices = true): SparseTensor {
  return operation(a, b, "union", { fn: "union", isChecked: validateIndices });
}

/**
 * The number of different elements of each row of a sparse tensor; int32. Throws `TypeError` for dense tensors.
 * TensorFlow op `SetSize`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const x = tf.sets.union([[1, 2, 2], [3, 3, 3]], [[1, 1], [3, 3]]);
 * console.log(await tf.sets.size(x).array()); // [2, 1]
 * ```
 */
export function size(x: SparseLike, validateIndices = true): Tensor {
  wantBoolean(validateIndices, "validateIndices", "size");
  const [indices, values, dims] = partsOf(x, "x", "size");
  return apply1(SetSize, [indices, values, castInput(dims, "int64")], {
    validate_indices: validateIndices,
  });
}
