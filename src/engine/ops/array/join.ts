/** Joins and splits tensors: concat, stack, split, unstack. */
import { wantList } from "../../core/arguments.ts";
import type { OpInput } from "../../core/apply.ts";
import { promote } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { normalizeAxis, shapeText } from "../../core/shape.ts";
import type { Joined, Operand } from "../../core/composite.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { concatenated, packed, splitEqually, splitInto, unpacked } from "./join_ops.ts";
import { identity } from "./view.ts";
import {
  castInput,
  disposeConverted,
  intScalar,
  shapeOfInput,
  toIndexInput,
  toInput,
  toInputs,
} from "../input.ts";

/** Converts all to the widest dtype among them. */
function sameTypes(inputs: OpInput[]): OpInput[] {
  if (inputs.every((x) => x.dtype === inputs[0].dtype)) return inputs;
  const dtype = inputs.map((x) => x.dtype).reduce(promote);
  return inputs.map((x) => castInput(x, dtype));
}

/**
 * Joins tensors along an existing axis; the other axes must agree. Converts to the widest dtype. Throws `ValueError`
 * where ranks or dimensions differ. TensorFlow op `ConcatV2`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.concat([[[1, 2]], [[3, 4]]], 1).arraySync()); // [[1, 2, 3, 4]]
 * ```
 */
export function concat<X extends Operand>(tensors: readonly X[], axis = 0): Joined<X> {
  const inputs = sameTypes(toInputs(tensors, "tensors", "concat"));
  if (inputs.length === 0) throw new ValueError("Cannot concat: pass at least one tensor");
  const rank = inputs.map(shapeOfInput).find((s) => s !== null)?.length;
  const a = rank === undefined ? axis : normalizeAxis(axis, rank);
  if (inputs.length === 1) return identity(inputs[0]) as Joined<X>;
  try {
    return concatenated(inputs, intScalar(a)) as Joined<X>;
  } finally {
    disposeConverted(inputs, tensors);
  }
}

/**
 * Joins vectors end to end. Throws `ValueError` for other ranks. See {@linkcode concat}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.concat1d([[1], [2, 3]]).arraySync()); // [1, 2, 3]
 * ```
 */
export function concat1d(tensors: readonly TensorLike[]): Tensor {
  return concatOfRank(tensors, 0, 1);
}

/**
 * Joins matrices along an axis. Throws `ValueError` for other ranks. See {@linkcode concat}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.concat2d([[[1]], [[2]]], 1).arraySync()); // [[1, 2]]
 * ```
 */
export function concat2d(tensors: readonly TensorLike[], axis: number): Tensor {
  return concatOfRank(tensors, axis, 2);
}

/**
 * Joins tensors of rank 3 along an axis. Throws `ValueError` for other ranks. See {@linkcode concat}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.concat3d([[[[1]]], [[[2]]]], 2).arraySync()); // [[[1, 2]]]
 * ```
 */
export function concat3d(tensors: readonly TensorLike[], axis: number): Tensor {
  return concatOfRank(tensors, axis, 3);
}

/**
 * Joins tensors of rank 4 along an axis. Throws `ValueError` for other ranks. See {@linkcode concat}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.concat4d([[[[[1]]]], [[[[2]]]]], 3).arraySync()); // [[[[1, 2]]]]
 * ```
 */
export function concat4d(tensors: readonly TensorLike[], axis: number): Tensor {
  return concatOfRank(tensors, axis, 4);
}

function concatOfRank(tensors: readonly TensorLike[], axis: number, rank: number): Tensor {
  const inputs = toInputs(tensors, "tensors", `concat${rank}d`);
  const wrong = inputs.find((x) => shapeOfInput(x)?.length !== rank);
  if (wrong) {
    throw new ValueError(
      `Cannot apply concat${rank}d to shape ${shapeText(shapeOfInput(wrong))}: wanted rank ${rank}`,
    );
  }
  return concat(tensors, axis);
}

/**
 * Joins tensors of one shape and dtype along a new axis.
 * Throws `ValueError` where shapes differ, `TypeError` where dtypes do. TensorFlow op `Pack`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.stack([[1, 2], [3, 4]], 1).arraySync()); // [[1, 3], [2, 4]]
 * ```
 */
export function stack<X extends Operand>(tensors: readonly X[], axis = 0): Joined<X> {
  const inputs = toInputs(tensors, "tensors", "stack");
  if (inputs.length === 0) throw new ValueError("Cannot stack: pass at least one tensor");
  return packed(inputs, axis) as Joined<X>;
}

/**
 * Splits an axis: one tensor for each index along it. The extent must be known. Throws `ValueError` for an axis out of
 * range or of unknown extent. TensorFlow op `Unpack`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.unstack([[1, 2], [3, 4]]).map((t) => t.arraySync())); // [[1, 2], [3, 4]]
 * ```
 */
export function unstack(x: TensorLike, axis = 0): Tensor[] {
  const input = toInput(x, "x", "unstack");
  const shape = shapeOfInput(input);
  const num = shape && shape[normalizeAxis(axis, shape.length)];
  if (num === null) {
    throw new ValueError(`Cannot infer argument num from shape ${shapeText(shape)} in unstack`);
  }
  return unpacked(input, num, axis);
}

/**
 * Splits a tensor along an axis into this many equal parts, or into parts of these sizes, one of which may be -1.
 * Throws `ValueError` where the parts do not fit. TensorFlow ops `Split` and `SplitV`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.split([1, 2, 3, 4], 2).map((t) => t.arraySync())); // [[1, 2], [3, 4]]
 * console.log(tf.split([1, 2, 3, 4], [1, -1])[1].arraySync()); // [2, 3, 4]
 * ```
 */
export function split(x: TensorLike, numOrSizes: number | readonly number[], axis = 0): Tensor[] {
  const input = toInput(x, "x", "split");
  const rank = shapeOfInput(input)?.length;
  const dim = toIndexInput(rank === undefined ? axis : normalizeAxis(axis, rank), "axis", "split");
  if (typeof numOrSizes !== "number") wantList(numOrSizes, "numOrSizes", "split", "sizes");
  return typeof numOrSizes === "number"
    ? splitEqually(input, numOrSizes, dim)
    : splitInto(input, numOrSizes, dim);
}
