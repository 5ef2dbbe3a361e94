/** Insertion, removal, repetition and reversal of axes of ragged tensors. */
import { apply1, type OpInput } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { lookupOp, type OpDef } from "../../core/op.ts";
import { normalizeAxes } from "../../core/shape.ts";
import { Tensor } from "../../core/tensor.ts";
import { onesLike } from "../array/creation.ts";
import { gather } from "../array/gather.ts";
import { concat } from "../array/join.ts";
import { reverse } from "../array/move.ts";
import { range } from "../array/ranges.ts";
import { slice } from "../array/slice.ts";
import { expandDims, literalInts, squeeze } from "../array/view.ts";
import { asTensor, intVector, shapeOfInput } from "../input.ts";
import { add, mul, sub } from "../pointwise/arithmetic.ts";
import { sum } from "../reduce/reduce.ts";
import {
  countVector,
  isRagged,
  knownAxis,
  pickedRows,
  placesIn,
  rowCount,
  rowsOf,
  rowsOfLengths,
} from "./ragged_class.ts";
import type { RaggedTensor, RaggedValues } from "./ragged_tensor.ts";
import { sameVector } from "./same_vector.ts";
import { at, begins, ends } from "./splits.ts";

/** Returns axes counted from the front. Throws `ValueError` for one out of range. */
export function axesOf(def: OpDef, x: RaggedTensor, axes: readonly number[]): readonly number[] {
  const rank = x.shape?.length;
  return rank === undefined
    ? axes.map((axis) => knownAxis(def, x, axis))
    : normalizeAxes(axes, rank);
}

/** Inserts an axis of length 1. */
export function expandedAt(x: RaggedValues, axis: number): RaggedValues {
  if (!isRagged(x)) return expandDims(x, axis);
  if (axis === 0) return rowsOfLengths(x, countVector(x));
  if (axis === 1) return rowsOf(x, range(0, add(x.nrows(), 1), 1, "int32"));
  return rowsOf(expandedAt(x.values, axis - 1), x.rowSplits);
}

/** Removes axes of length 1. The run throws `InvalidArgumentError` if a ragged axis has another length. */
export function squeezed(def: OpDef, x: RaggedTensor, axes: readonly number[]): RaggedValues {
  if (axes.length === 0) {
    throw new ValueError(`Cannot apply ${def.name} to ${x}: wanted the axes to leave out`);
  }
  return axesOf(def, x, axes).toSorted((a, b) => b - a).reduce<RaggedValues>(squeezedAt, x);
}

function squeezedAt(x: RaggedValues, axis: number): RaggedValues {
  if (x instanceof Tensor) return squeeze(x, axis);
  if (axis > 1) return rowsOf(squeezedAt(x.values, axis - 1), x.rowSplits);
  const lengths = axis === 0 ? countVector(x) : x.rowLengths();
  const ones = sameVector(
    lengths,
    axis === 0 ? intVector([1]) : onesLike(lengths),
    `Cannot leave axis ${axis} of a ragged tensor out: its lengths and those wanted are`,
  );
  // The only row holds all values; rows of one value are as many as the values.
  const count = axis === 0 ? mul(rowCount(x.values), at(ones, 0)) : sum(ones);
  return pickedRows(x.values, range(0, count, 1, "int32"));
}

/** Reverses axes. */
export function reversed(x: RaggedTensor, axes: readonly number[]): RaggedValues {
  return axes.reduce<RaggedValues>(reversedAt, x);
}

function reversedAt(x: RaggedValues, axis: number): RaggedValues {
  if (x instanceof Tensor) return reverse(x, axis);
  if (axis > 1) return rowsOf(reversedAt(x.values, axis - 1), x.rowSplits);
  if (axis === 0) {
    const last = sub(x.nrows(), 1);
    return x.gather(sub(last, range(0, x.nrows(), 1, "int32")));
  }
  const ids = x.valueRowIds(), last = sub(gather(ends(x.rowSplits), ids), 1);
  return rowsOf(pickedRows(x.values, sub(last, placesIn(x))), x.rowSplits);
}

/** Repeats values along each axis. Throws `ValueError` unless there is one number for each axis. */
export function tiled(def: OpDef, x: RaggedTensor, reps: OpInput): RaggedTensor {
  const rank = x.shape?.length, count = shapeOfInput(reps)?.[0];
  if (rank !== undefined && count !== undefined && count !== null && rank !== count) {
    throw new ValueError(
      `Cannot apply ${def.name} to ${x}: wanted ${rank} numbers, one for each axis, received ${count}`,
    );
  }
  return tiledFrom(def, x, reps, 0) as RaggedTensor;
}

/** Repeats the axes from `axis` on: the caller repeats the first axis of values. */
function tiledFrom(def: OpDef, x: RaggedValues, reps: OpInput, axis: number): RaggedValues {
  if (x instanceof Tensor) {
    const known = literalInts(reps);
    const own = known === undefined
      ? concat([[1], slice(asTensor(reps), [axis + 1])])
      : intVector([1, ...known.slice(axis + 1)]);
    return apply1(def, [x, own]);
  }
  const values = tiledFrom(def, x.values, reps, axis + 1);
  const inner = repsAt(reps, axis + 1), outer = axis === 0 ? repsAt(reps, 0) : 1;
  let rows = rowsOf(values, x.rowSplits);
  if (inner !== 1) rows = withLongRows(rows, inner);
  if (outer === 1) return rows;
  const n = x.nrows();
  const numbers = range(0, mul(n, outer), 1, "int32");
  return rows.gather(apply1(lookupOp("FloorMod")!, [numbers, n]));
}

function repsAt(reps: OpInput, axis: number): number | Tensor {
  return literalInts(reps)?.[axis] ?? at(asTensor(reps), axis);
}

/** Repeats the values of each row within the row. */
function withLongRows(x: RaggedTensor, times: number | Tensor): RaggedTensor {
  const made = rowsOf(
    range(0, mul(rowCount(x.values), times), 1, "int32"),
    mul(x.rowSplits, times),
  );
  const ids = made.valueRowIds();
  const place = apply1(lookupOp("FloorMod")!, [placesIn(made), gather(x.rowLengths(), ids)]);
  const from = add(gather(begins(x.rowSplits), ids), place);
  return rowsOf(pickedRows(x.values, from), made.rowSplits);
}
