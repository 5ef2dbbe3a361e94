/** Arguments of the functions of `tf.sparse`, and the parts that ops take of them. */
import type { OpInput } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { describe } from "../../core/convert.ts";
import { isConcrete, type PartialShape } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { cast } from "../array/cast.ts";
import { castInput, intVector } from "../input.ts";
import { SparseArray } from "./ragged_array.ts";
import { SparseTensor } from "./sparse_tensor.ts";

/** A sparse tensor, or its three arrays on the host. */
export type SparseLike = SparseTensor | SparseArray;

/** True for sparse tensors and their arrays. */
export const isSparse = (x: unknown): x is SparseLike =>
  x instanceof SparseTensor || x instanceof SparseArray;

/** Converts an argument to a sparse tensor. Throws `TypeError`, which names argument and function, for others. */
export function toSparse(x: SparseLike, arg: string, fn: string): SparseTensor {
  if (x instanceof SparseTensor) return x;
  if (x instanceof SparseArray) return new SparseTensor(x.indices, x.values, x.denseShape);
  throw new TypeError(
    `Argument '${arg}' passed to '${
      fn.includes(".") ? fn : `sparse.${fn}`
    }' must be a SparseTensor, but got ${describe(x)}`,
  );
}

/** Returns the dense shape for ops: a literal if known. */
export function wideShape({ shape, denseShape }: SparseTensor): OpInput {
  return isConcrete(shape) ? castInput(intVector(shape), "int64") : cast(denseShape, "int64");
}

/** Returns indices, values and dense shape for ops. */
export function wideParts(x: SparseTensor): [Tensor, Tensor, OpInput] {
  return [cast(x.indices, "int64"), x.values, wideShape(x)];
}

/** Makes the sparse tensor of an op's outputs, with a literal dense shape if known. */
export function sparseOf(
  indices: Tensor,
  values: Tensor,
  dims: TensorLike,
  shape: PartialShape,
): SparseTensor {
  return new SparseTensor(indices, values, isConcrete(shape) ? shape : dims);
}

/** Throws `ValueError` for a number that is not whole and at least `least`. */
export function wantWhole(value: unknown, arg: string, fn: string, least: number): void {
  if (Number.isInteger(value) && value as number >= least) return;
  throw new ValueError(
    `Cannot apply sparse.${fn}: ${arg} must be a whole number from ${least} on, received ${
      describe(value)
    }`,
  );
}
