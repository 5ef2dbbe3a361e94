/** Gathers from ragged tensors and by ragged indices, along any axis and with batch dimensions. */
import { apply1, type OpInput } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { lookupOp } from "../../core/op.ts";
import { compatible, normalizeAxis, shapeText } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { gather } from "../array/gather.ts";
import { concat } from "../array/join.ts";
import { range } from "../array/ranges.ts";
import { slice } from "../array/slice.ts";
import { expandDims, reshape, shape as shapeOf } from "../array/view.ts";
import { asTensor } from "../input.ts";
import { add, mul } from "../pointwise/arithmetic.ts";
import {
  type Input,
  isRagged,
  outerIds,
  pickedRows,
  rowCount,
  rowsOf,
  shapeOfAny,
  withRaggedRank,
} from "./ragged_class.ts";
import type { RaggedTensor, RaggedValues } from "./ragged_tensor.ts";
import { at as elementAt, begins } from "./splits.ts";

/** Gathers slices of a table along an axis; the table or the indices are ragged. Throws `ValueError` for a bad axis or batch. */
export function picked(
  [table, indices]: readonly Input[],
  axis: number,
  batchDims: number,
): RaggedValues {
  const params = isRagged(table) ? table : asTensor(table as OpInput);
  const places = isRagged(indices) ? indices : cast(asTensor(indices as OpInput), "int32");
  const shape = shapeOfAny(params), other = shapeOfAny(places);
  if (other === null && !isRagged(places)) {
    throw new ValueError(`Cannot gather from ${table}: the rank of indices must be known`);
  }
  const batch = other !== null && batchDims < 0 ? batchDims + other.length : batchDims;
  const along = shape === null ? axis : normalizeAxis(axis, shape.length);
  if (batch < 0 || along < batch || batch > (other?.length ?? batch)) {
    throw new ValueError(
      `Cannot gather from ${table} along axis ${axis} with batchDims ${batchDims}: it must be from 0 to the axis, and no more than the rank of indices ${
        shapeText(other)
      }`,
    );
  }
  if (!compatible(shape?.slice(0, batch) ?? null, other?.slice(0, batch) ?? null)) {
    throw new ValueError(
      `Cannot gather from ${table}: batch shape from indices ${
        shapeText(other!.slice(0, batch))
      } does not match params shape ${shapeText(shape)}`,
    );
  }
  return pick(params, places, along, batch);
}

function pick(
  table: RaggedValues,
  indices: RaggedValues,
  axis: number,
  batch: number,
): RaggedValues {
  if (!isRagged(table) && !isRagged(indices)) return gather(table, indices, axis, batch);
  if (batch > 0) return batchPick(table, indices, axis, batch);
  if (axis > 0) return axisPick(table, indices, axis);
  if (isRagged(indices)) return rowsOf(pick(table, indices.values, 0, 0), indices.rowSplits);
  const rows = table as RaggedTensor, rank = indices.staticShape!.length;
  if (rank === 0) return rows.row(indices);
  let result: RaggedValues = pickedRows(rows, reshape(indices, [-1]));
  // Each further axis of the indices becomes rows of one length.
  const dims = shapeOf(indices);
  for (let d = rank - 1; d > 0; d--) {
    const parts = d === 1 ? elementAt(dims, 0) : product(slice(dims, [0], [d]), d);
    result = rowsOf(result, mul(range(0, add(parts, 1), 1, "int32"), elementAt(dims, d)));
  }
  return result;
}

function product(dims: Tensor, count: number): Tensor {
  let result = elementAt(dims, 0);
  for (let d = 1; d < count; d++) result = mul(result, elementAt(dims, d));
  return result;
}

/** Gathers within batch dimensions, which table and indices share. */
function batchPick(
  table: RaggedValues,
  indices: RaggedValues,
  axis: number,
  batch: number,
): RaggedValues {
  if (batch > 1) {
    const rows = withRaggedRank(table, 1), places = withRaggedRank(indices, 1);
    return rowsOf(pick(rows.values, places.values, axis - 1, batch - 1), rows.rowSplits);
  }
  if (axis > 1) {
    // The axis after the batch becomes a batch dimension: each of its rows gets the indices.
    const rows = withRaggedRank(table, 1);
    const places = rowsOf(pickedRows(indices, rows.valueRowIds()), rows.rowSplits);
    return batchPick(rows, places, axis, batch + 1);
  }
  return pick(flattened(table), moved(indices, rowBegins(table)), 0, 0);
}

/** Gathers along an axis after the first, from each row. */
function axisPick(table: RaggedValues, indices: RaggedValues, axis: number): RaggedValues {
  const rows = withRaggedRank(table, 1);
  if (axis > 1) return rowsOf(pick(rows.values, indices, axis - 1, 0), rows.rowSplits);
  const own = begins(rows.rowSplits), count = rowCount(rows);
  const repeated = isRagged(indices)
    ? rowsOf(everyRow(indices, count), mul(range(0, add(count, 1), 1, "int32"), indices.nrows()))
    : timesRows(indices, count);
  return pick(rows.values, moved(repeated, own), 0, 0);
}

/** Repeats the rows of a ragged tensor. */
function everyRow(x: RaggedTensor, times: Tensor): RaggedTensor {
  const n = x.nrows();
  const row = range(0, mul(times, n), 1, "int32");
  return x.gather(apply1(lookupOp("FloorMod")!, [row, n]));
}

/** Repeats a tensor along a new first axis. */
function timesRows(x: Tensor, times: Tensor): Tensor {
  return gather(expandDims(x, 0), mul(range(0, times, 1, "int32"), 0));
}

/** Adds the start of each row to its indices. */
function moved(indices: RaggedValues, from: Tensor): RaggedValues {
  if (isRagged(indices)) {
    const inner = indices.flatValues.staticShape!.length - 1;
    const own = gather(from, outerIds(indices));
    return indices.withFlatValues(
      add(cast(indices.flatValues, "int32"), reshape(own, [-1, ...new Array(inner).fill(1)])),
    );
  }
  const rank = indices.staticShape!.length;
  return add(indices, reshape(from, [-1, ...new Array(rank - 1).fill(1)]));
}

/** Merges the first two axes. */
function flattened(x: RaggedValues): RaggedValues {
  if (isRagged(x)) return x.values;
  return reshape(x, concat([[-1], slice(shapeOf(x), [2])]));
}

/** Returns the start of each row in {@linkcode flattened}. */
function rowBegins(x: RaggedValues): Tensor {
  if (isRagged(x)) return begins(x.rowSplits);
  const dims = shapeOf(x);
  return mul(range(0, elementAt(dims, 0), 1, "int32"), elementAt(dims, 1));
}
