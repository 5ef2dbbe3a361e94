/** Tensors of Weft's that expansions into other ops begin with. */
import { apply1, type OpInput } from "../../../engine/core/apply.ts";
import { UnimplementedError } from "../../../engine/core/errors.ts";
import { NdArray } from "../../../engine/core/nd_array.ts";
import { lookupOp, type OpInit } from "../../../engine/core/op.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import * as tf from "../../../../mod.ts";

/** Makes an op of others. */
export type Expansion = NonNullable<OpInit["expand"]>;

/** Returns an input as a tensor. */
export function tensor(x: OpInput): Tensor {
  return tf.identity(x as Tensor);
}

/** Returns the rank of an input, which must be known. */
export function rankOf(x: OpInput): number {
  const rank = x instanceof NdArray ? x.shape.length : (x as Tensor).staticShape?.length;
  if (rank === undefined) throw new UnimplementedError("the rank of an input is not known");
  return rank;
}

/** Returns an extent as a scalar. */
export function extent(x: Tensor, axis: number): Tensor {
  const known = x.staticShape?.[axis];
  return known == null ? tf.gather(tf.shape(x), axis) : tf.scalar(known, "int32");
}

/** Counts from 0 to a scalar. */
export function iota(n: Tensor): Tensor {
  return apply1(lookupOp("Range")!, [tf.scalar(0, "int32"), n, tf.scalar(1, "int32")]);
}

/** Returns a number in the dtype of a tensor. */
export function like(x: Tensor, value: number): Tensor {
  return tf.cast(tf.scalar(value, "int32"), x.dtype);
}
