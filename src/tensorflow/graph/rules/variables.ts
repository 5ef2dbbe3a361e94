/** Rules for ops that read and change parts of variables. */
import { apply1 } from "../../../engine/core/apply.ts";
import { asDType, type DType } from "../../../engine/core/dtype.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { SymbolicTensor } from "../../../engine/graph/operation.ts";
import { cast } from "../../../engine/ops/array/cast.ts";
import { gather } from "../../../engine/ops/array/gather.ts";
import { concat } from "../../../engine/ops/array/join.ts";
import { broadcastTo } from "../../../engine/ops/array/repeat.ts";
import { expandDims, shape } from "../../../engine/ops/array/view.ts";
import { PhiloxSkip } from "../../../engine/ops/of_files.ts";
import { type ImportedNode, type ImportRule, intOf, put, put1 } from "../rule.ts";

/**
 * Reads the variable of the first input, a handle, once the other inputs exist: in the file the op waits for them. `dtype`: the
 * variable's, where the node's own attributes say that of something else.
 */
export function read(
  { inputs: [handle, ...others], attr }: ImportedNode,
  dtype?: DType,
): Tensor {
  const { operation } = handle as SymbolicTensor;
  // An argument of a body says nothing of its variable.
  const known = operation.attrs.dtype === "resource" ? {} : operation.attrs;
  return operation.graph.controlDependencies(
    others.map((t) => (t as SymbolicTensor).operation),
    () =>
      put1("ReadVariableOp", [handle], {
        dtype: known.dtype ?? dtype ?? asDType((attr.dtype ?? attr.T)?.type),
        _shape: known.shape ?? null,
      }),
  );
}

/** Applies updates at some places of a whole. */
export type Scatter = (x: Tensor, places: Tensor, updates: Tensor) => Tensor;

/** Replaces elements of a variable by the result of `update` on the whole. */
export function scattered(update: Scatter): ImportRule {
  return (node) => {
    const [handle, places, updates] = node.inputs;
    const value = update(read(node), places, updates);
    put("AssignVariableOp", [handle, value]);
    return [];
  };
}

/** Replaces rows, indexed one by one; a scalar serves for all. */
export function scatteredRows(update: Scatter): ImportRule {
  return scattered((x, indices, updates) => {
    const isOne = updates.staticShape?.length === 0;
    const rows = isOne
      ? broadcastTo(updates, concat([shape(indices), shape(x).slice([1])]))
      : updates;
    return update(x, expandDims(indices, -1), rows);
  });
}

/** An op of ours that folds updates into a whole. */
export const fold = (name: string): Scatter => (...inputs) => put1(name, inputs);

/** Products of elements with their updates. */
export const products: Scatter = fold("_TensorScatterMul");

/** TensorFlow op `ResourceGather`. */
export const resourceGather: ImportRule = (node) => {
  const batch = intOf(node.attr.batch_dims, 0);
  return [gather(read(node), node.inputs[1], batch, batch)];
};

/** TensorFlow op `RngReadAndSkip`. */
export const rngReadAndSkip: ImportRule = (node) => {
  const [handle, , delta] = node.inputs, state = read(node, "int64");
  put("AssignVariableOp", [handle, apply1(PhiloxSkip, [state, cast(delta, "uint64")])]);
  return [state];
};

/** TensorFlow op `RngSkip`. */
export const rngSkip: ImportRule = (node) => {
  rngReadAndSkip(node);
  return [];
};
