/**
 * TensorFlow's tensor lists, written as stacked tensors while a graph is imported. A list is its rows `[n, …]`.
 */
import { concat } from "../../../engine/ops/array/join.ts";
import { cast } from "../../../engine/ops/array/cast.ts";
import { zerosLike } from "../../../engine/ops/array/creation.ts";
import { add, sub } from "../../../engine/ops/pointwise/arithmetic.ts";
import { maximum } from "../../../engine/ops/pointwise/select.ts";
import { max } from "../../../engine/ops/reduce/reduce.ts";
import { asDType } from "../../../engine/core/dtype.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import { shapeFromJson } from "../../graph_def/values.ts";
import { constantValue, type SymbolicTensor } from "../../../engine/graph/operation.ts";
import { slice } from "../../../engine/ops/array/slice.ts";
import { stridedSlice } from "../../../engine/ops/array/strided_slice.ts";
import { identity, reshape, shape } from "../../../engine/ops/array/view.ts";
import { asTensor, intVector, toInput } from "../../../engine/ops/input.ts";
import { emptyRows, filledRows, writeRow, writeRows } from "../../../engine/ops/array/list_rows.ts";
import { putRow } from "../../../engine/runtime/control/growing_rows.ts";
import { type ImportedNode, indexOf, put1 } from "../rule.ts";

/** Reads the element shape from an input, which may tell it only when the graph runs; a single -1 stands for any rank. */
export function elementShape(x: Tensor): readonly number[] {
  const value = constantValue(x as SymbolicTensor);
  if (value === undefined || value.rank === 0) return [0];
  return Array.from(value.data as Int32Array, Number);
}

/** Reads the dtype of elements; variants are bytes here. */
export function dtypeOf({ attr }: ImportedNode): Tensor["dtype"] {
  const dtype = asDType(attr.element_dtype?.type);
  return dtype === "variant" ? "string" : dtype;
}

/** Returns the known element shape of a version 1 array. */
function rowShape({ attr }: ImportedNode): readonly number[] {
  const shape = shapeFromJson(attr.element_shape?.shape ?? { unknownRank: true });
  return shape === null ? [0] : shape.map((d) => d ?? -1);
}

export function count(rows: Tensor): Tensor {
  return reshape(slice(shape(rows), [0], [1]), []);
}

/** Returns the shape of each row. */
export function elementDims({ inputs: [rows], attr }: ImportedNode): Tensor {
  return cast(slice(shape(rows), [1], [-1]), indexOf(attr.shape_type));
}

/** Places rows; the result has as many as the last place needs. */
export function scatteredRows(at: Tensor, values: Tensor): Tensor {
  const n = add(max(at), 1);
  return writeRows(emptyRows(n, [0], values.dtype), at, values);
}

/** Returns the first `n` rows, padded with rows of zeros. */
export function resized(rows: Tensor, n: Tensor): Tensor {
  const dims = shape(rows);
  const rest = slice(dims, [1], [-1]);
  const missing = maximum(sub(n, count(rows)), 0);
  const zero = rows.dtype === "string"
    ? asTensor(toInput("", "zero", "resize"))
    : cast(0, rows.dtype);
  const more = put1("Fill", [concat([reshape(missing, [1]), rest]), zero]);
  return put1("Slice", [
    concat([rows, more]),
    zerosLike(dims),
    concat([reshape(n, [1]), rest]),
  ]);
}

/** Replaces one row; a growing list also gets the missing rows before it. */
export function setItem({ inputs: [rows, i, row], attr }: ImportedNode): Tensor {
  const mayGrow = attr.resize_if_index_out_of_bounds?.b === true;
  return mayGrow ? putRow(rows, i, row) : writeRow(rows, i, row);
}

/** Returns all rows. If the shape of each is given, at the latest when the graph runs, unwritten rows are zeros of that shape. */
export function stackedRows(rows: Tensor, row: Tensor): Tensor {
  const told = constantValue(row as SymbolicTensor);
  const isOpen = told !== undefined && Array.from(told.data as Int32Array).some((d) => d < 0);
  return isOpen ? identity(rows) : filledRows(rows, row);
}

/** Joins rows along their first axis. */
function joined(rows: Tensor): Tensor {
  const dims = shape(rows);
  return reshape(rows, concat([intVector([-1]), slice(dims, [2], [-1])]));
}

/** Returns the extent of each row. */
function lengths(rows: Tensor): Tensor {
  const dims = shape(rows);
  return cast(
    put1("Fill", [slice(dims, [0], [1]), reshape(slice(dims, [1], [1]), [])]),
    "int64",
  );
}

/** Splits a tensor into parts of one extent as rows. */
export function parted(values: Tensor, each: Tensor): Tensor {
  const dims = shape(values);
  return reshape(values, concat([shape(each), intVector([-1]), slice(dims, [1], [-1])]));
}

/** All rows one after the other, and the extent of each. */
export function joinedRows(rows: Tensor): Tensor[] {
  return [joined(rows), lengths(rows)];
}

/** All rows but the last, and that. */
export function popped(rows: Tensor): Tensor[] {
  return [
    stridedSlice(rows, [0], [-1], [1]),
    stridedSlice(rows, [-1], [0], [1], 0, 0, 0, 0, 1),
  ];
}

/** An array of version 1: a handle and a flow, which both are the rows here. */
export function newArray(node: ImportedNode): Tensor[] {
  const rows = emptyRows(node.inputs[0], rowShape(node), asDType(node.attr.dtype?.type));
  return [rows, rows];
}
