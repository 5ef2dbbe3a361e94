/**
 * TensorFlow's tensor lists, written as stacked tensors while a graph is imported.
 * May import core, ops and graph.
 */
import { asDType } from "../core/dtype.ts";
import { UnimplementedError } from "../core/errors.ts";
import type { Tensor } from "../core/tensor.ts";
import { shapeFromJson } from "../graph/graph_def_values.ts";
import { constantValue, type SymbolicTensor } from "../graph/operation.ts";
import { slice } from "../ops/array_slice.ts";
import { stridedSlice } from "../ops/array_strided_slice.ts";
import { identity, reshape, shape } from "../ops/array_view.ts";
import { gather } from "../ops/gather.ts";
import { intScalar } from "../ops/input.ts";
import { appendRow, emptyRows, writeRow, writeRows } from "../ops/list_rows.ts";
import type { ImportedNode, ImportRule } from "./import_rules.ts";

/** The shape of elements that an input tells; a single -1 stands for any rank. */
function elementShape(x: Tensor): readonly number[] {
  const value = constantValue(x as SymbolicTensor);
  if (value === undefined) {
    throw new UnimplementedError(
      `Cannot import a tensor list: the shape of its elements (${x}) must be a constant`,
    );
  }
  return value.rank === 0 ? [0] : Array.from(value.data as Int32Array, Number);
}

function dtypeOf({ attr }: ImportedNode): Tensor["dtype"] {
  return asDType(attr.element_dtype?.type);
}

/** The shape of a version 1 array's elements, as far as it is known. */
function rowShape({ attr }: ImportedNode): readonly number[] {
  const shape = shapeFromJson(attr.element_shape?.shape ?? { unknownRank: true });
  return shape === null ? [0] : shape.map((d) => d ?? -1);
}

function count(rows: Tensor): Tensor {
  return reshape(slice(shape(rows), [0], [1]), []);
}

/** Rules by op. A list is its rows `[n, …]`. */
export const LIST_RULES: readonly (readonly [string, ImportRule])[] = [
  ["TensorListReserve", (node) => [
    emptyRows(node.inputs[1], elementShape(node.inputs[0]), dtypeOf(node)),
  ]],
  ["EmptyTensorList", (node) => [
    emptyRows(intScalar(0), elementShape(node.inputs[0]), dtypeOf(node)),
  ]],
  ["TensorListFromTensor", ({ inputs: [x] }) => [identity(x)]],
  ["TensorListStack", ({ inputs: [rows] }) => [identity(rows)]],
  ["TensorListGetItem", ({ inputs: [rows, i] }) => [gather(rows, i)]],
  ["TensorListSetItem", ({ inputs: [rows, i, row] }) => [writeRow(rows, i, row)]],
  ["TensorListGather", ({ inputs: [rows, at] }) => [gather(rows, at)]],
  ["TensorListLength", ({ inputs: [rows] }) => [count(rows)]],
  ["TensorListPushBack", ({ inputs: [rows, row] }) => [appendRow(rows, row)]],
  ["TensorListPopBack", ({ inputs: [rows] }) => [
    stridedSlice(rows, [0], [-1], [1]),
    stridedSlice(rows, [-1], [0], [1], 0, 0, 0, 0, 1),
  ]],
  // The arrays of version 1 are a handle and a flow, which both are the rows here.
  ["TensorArrayV3", (node) => {
    const rows = emptyRows(node.inputs[0], rowShape(node), asDType(node.attr.dtype?.type));
    return [rows, rows];
  }],
  ["TensorArrayWriteV3", ({ inputs: [, i, row, rows] }) => [writeRow(rows, i, row)]],
  ["TensorArrayScatterV3", ({ inputs: [, at, values, rows] }) => [writeRows(rows, at, values)]],
  ["TensorArrayReadV3", ({ inputs: [, i, rows] }) => [gather(rows, i)]],
  ["TensorArrayGatherV3", ({ inputs: [, at, rows] }) => [gather(rows, at)]],
  ["TensorArraySizeV3", ({ inputs: [, rows] }) => [count(rows)]],
  ["TensorArrayCloseV3", () => []],
];
