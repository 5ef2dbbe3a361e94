/**
 * Parts of the rules of ops on ragged tensors. The class imports its rules, so that pages without the class load none; it
 * passes itself to them.
 */
import { apply1, type OpInput } from "../../core/apply.ts";
import { CompositeTensor } from "../../core/composite.ts";
import { ValueError } from "../../core/errors.ts";
import { lookupOp, type OpDef } from "../../core/op.ts";
import type { PartialShape } from "../../core/shape.ts";
import { Tensor, type TensorLike } from "../../core/tensor.ts";
import { gather } from "../array/gather.ts";
import { range } from "../array/ranges.ts";
import { reshape, shape } from "../array/view.ts";
import { asTensor, shapeOfInput } from "../input.ts";
import { sub } from "../pointwise/arithmetic.ts";
import type { RaggedTensor, RaggedValues } from "./ragged_tensor.ts";
import { sameVector } from "./same_vector.ts";
import { at, begins } from "./splits.ts";

/** An input of an op that has a rule for ragged tensors. */
export type Input = OpInput | CompositeTensor;

/** The class, set when it is loaded. */
let made: typeof RaggedTensor;

/** Sets the class. */
export function setRaggedClass(of: typeof RaggedTensor): void {
  made = of;
}
/** Returns true for ragged tensors. */
export function isRagged(x: unknown): x is RaggedTensor {
  return x instanceof made;
}
/** Makes rows of values from their starts. */
export function rowsOf(values: RaggedValues, rowSplits: TensorLike): RaggedTensor {
  return made.fromRowSplits(values, rowSplits);
}
/** Makes rows of values from their lengths. */
export function rowsOfLengths(values: RaggedValues, rowLengths: TensorLike): RaggedTensor {
  return made.fromRowLengths(values, rowLengths);
}
/** Makes rows of values from splits of each ragged dimension. */
export function nestedRows(values: Tensor, splits: readonly Tensor[]): RaggedTensor {
  return made.fromNestedRowSplits(values, splits);
}

/** Converts an operand to one with at least this many ragged dimensions. Throws as `fromTensor` does. */
export function withRaggedRank(x: Input | RaggedValues, raggedRank: number): RaggedTensor {
  const rows = isRagged(x) ? x : made.fromTensor(asTensor(x as OpInput));
  return rows.raggedRank >= raggedRank
    ? rows
    : rowsOf(withRaggedRank(rows.values, raggedRank - 1), rows.rowSplits);
}

/** Returns the static shape of an operand. */
export function shapeOfAny(x: Input | RaggedValues): PartialShape {
  return x instanceof CompositeTensor ? x.shape : shapeOfInput(x as OpInput);
}

/** Returns an axis counted from the front. Throws `ValueError` for a negative one: the rank is unknown. */
export function knownAxis(def: OpDef, x: RaggedTensor, axis: number): number {
  if (axis >= 0) return axis;
  throw new ValueError(`Cannot apply ${def.name} to ${x} over axis ${axis}: its rank is unknown`);
}

/** Returns the first of two vectors of splits or row counts. Throws `InvalidArgumentError` where they differ. */
export function sameRows(x: Tensor, y: Tensor): Tensor {
  return sameVector(
    x,
    y,
    "Cannot broadcast ragged tensors: rows have different lengths, their splits are",
  );
}

/** Returns the number of elements of a tensor. */
export function sizeOf(x: Tensor): Tensor {
  return apply1(lookupOp("Size")!, [x]);
}

/** Returns the number of rows of values. */
export function rowCount(values: RaggedValues): Tensor {
  return values instanceof Tensor ? at(shape(values), 0) : values.nrows();
}

/** Returns the rows with these indices, of a tensor or a ragged tensor. */
export function pickedRows(values: RaggedValues, indices: Tensor): RaggedValues {
  return values instanceof Tensor ? gather(values, indices) : values.gather(indices);
}

/** Returns the row count as a vector of one element. */
export function countVector(x: RaggedTensor): Tensor {
  return reshape(x.nrows(), [1]);
}

/** Returns the position of each value in its row. */
export function placesIn(x: RaggedTensor): Tensor {
  const ids = x.valueRowIds();
  return sub(range(0, sizeOf(ids), 1, "int32"), gather(begins(x.rowSplits), ids));
}

/** Returns the outermost row of each innermost value. */
export function outerIds(x: RaggedTensor): Tensor {
  const ids = x.valueRowIds();
  return isRagged(x.values) ? gather(ids, outerIds(x.values)) : ids;
}
