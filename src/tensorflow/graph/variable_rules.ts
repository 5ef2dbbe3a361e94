/** Rules for ops that read and change parts of variables. */
import { asDType } from "../../engine/core/dtype.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { SymbolicTensor } from "../../engine/graph/operation.ts";
import { onesLike } from "../../engine/ops/array/creation.ts";
import { gather, gatherND } from "../../engine/ops/array/gather.ts";
import { concat } from "../../engine/ops/array/join.ts";
import { broadcastTo } from "../../engine/ops/array/repeat.ts";
import { tensorScatterAdd, tensorScatterUpdate } from "../../engine/ops/array/scatter.ts";
import { expandDims, shape } from "../../engine/ops/array/view.ts";
import "../ops/scatter_fold.ts";
import { neg } from "../../engine/ops/pointwise/arithmetic.ts";
import { type ImportedNode, type ImportRule, intOf, put, put1, type RuleEntry } from "./rule.ts";

/** Reads the variable of the first input, a handle, once the other inputs exist: in the file the op waits for them. */
function read({ inputs: [handle, ...others], attr }: ImportedNode): Tensor {
  const { operation } = handle as SymbolicTensor;
  return operation.graph.controlDependencies(
    others.map((t) => (t as SymbolicTensor).operation),
    () =>
      put1("ReadVariableOp", [handle], {
        dtype: operation.attrs.dtype ?? asDType((attr.dtype ?? attr.T)?.type),
        _shape: operation.attrs.shape ?? null,
      }),
  );
}

/** Applies updates at some places of a whole. */
type Scatter = (x: Tensor, places: Tensor, updates: Tensor) => Tensor;

/** Replaces elements of a variable by the result of `update` on the whole. */
function scattered(update: Scatter): ImportRule {
  return (node) => {
    const [handle, places, updates] = node.inputs;
    const value = update(read(node), places, updates);
    put("AssignVariableOp", [handle, value]);
    return [];
  };
}

/** Replaces rows, indexed one by one; a scalar serves for all. */
function scatteredRows(update: Scatter): ImportRule {
  return scattered((x, indices, updates) => {
    const isOne = updates.staticShape?.length === 0;
    const rows = isOne
      ? broadcastTo(updates, concat([shape(indices), shape(x).slice([1])]))
      : updates;
    return update(x, expandDims(indices, -1), rows);
  });
}

const fold = (name: string): Scatter => (...inputs) => put1(name, inputs);

const products: Scatter = fold("_TensorScatterMul");

export const VARIABLE_RULES: readonly RuleEntry[] = [
  ["ResourceGather", (node) => {
    const batch = intOf(node.attr.batch_dims, 0);
    return [gather(read(node), node.inputs[1], batch, batch)];
  }, 2],
  ["ResourceGatherNd", (node) => [gatherND(read(node), node.inputs[1])], 2],
  ["RngReadAndSkip", (node) => {
    const [handle, , delta] = node.inputs, state = read(node);
    const next = put1("_PhiloxSkip", [state, delta]);
    put("AssignVariableOp", [handle, next]);
    return [state];
  }, 3],
  ["VariableShape", (node) => [shape(read(node))]],
  ["ResourceScatterNdUpdate", scattered(tensorScatterUpdate), 3],
  ["ResourceScatterNdAdd", scattered(tensorScatterAdd), 3],
  [
    "ResourceScatterNdSub",
    scattered((x, places, updates) => tensorScatterAdd(x, places, neg(updates))),
    3,
  ],
  ["ResourceScatterNdMax", scattered(fold("TensorScatterMax")), 3],
  ["ResourceScatterNdMin", scattered(fold("TensorScatterMin")), 3],
  ["ResourceScatterMax", scatteredRows(fold("TensorScatterMax")), 3],
  ["ResourceScatterMin", scatteredRows(fold("TensorScatterMin")), 3],
  ["ResourceScatterMul", scatteredRows(products), 3],
  [
    "ResourceScatterDiv",
    // Integers are truncated, as in TensorFlow's first division.
    scatteredRows((x, places, updates) => put1("Div", [x, products(onesLike(x), places, updates)])),
    3,
  ],
];
