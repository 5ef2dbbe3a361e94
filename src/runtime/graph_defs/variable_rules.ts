/**
 * Rules for ops that read and change parts of variables.
 */
import { apply, apply1 } from "../../core/apply.ts";
import { asDType } from "../../core/dtype.ts";
import { lookupOp } from "../../core/op.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { SymbolicTensor } from "../../graph/operation.ts";
import { onesLike } from "../../ops/array/creation.ts";
import { gather, gatherND } from "../../ops/array/gather.ts";
import { concat } from "../../ops/array/join.ts";
import { broadcastTo } from "../../ops/array/repeat.ts";
import { tensorScatterAdd, tensorScatterUpdate } from "../../ops/array/scatter.ts";
import { expandDims, shape } from "../../ops/array/view.ts";
import "../../ops/imported/scatter_fold.ts";
import { neg } from "../../ops/pointwise/arithmetic.ts";
import type { ImportedNode, ImportRule } from "./import_rules.ts";

/** The value behind the first input, a handle, once the others are there: files have the op wait for what made them. */
function read({ inputs: [handle, ...others], attr }: ImportedNode): Tensor {
  const { operation } = handle as SymbolicTensor;
  return operation.graph.controlDependencies(
    others.map((t) => (t as SymbolicTensor).operation),
    () =>
      apply1(lookupOp("ReadVariableOp")!, [handle], {
        dtype: operation.attrs.dtype ?? asDType((attr.dtype ?? attr.T)?.type),
        _shape: operation.attrs.shape ?? null,
      }),
  );
}

/** What updates at some places make of a whole. */
type Scatter = (x: Tensor, places: Tensor, updates: Tensor) => Tensor;

/** Replaces elements of a variable by what `update` makes of the whole. */
function scattered(update: Scatter): ImportRule {
  return (node) => {
    const [handle, places, updates] = node.inputs;
    const value = update(read(node), places, updates);
    apply(lookupOp("AssignVariableOp")!, [handle, value]);
    return [];
  };
}

/** The same for rows, which indices name one by one; one number serves for all. */
function scatteredRows(update: Scatter): ImportRule {
  return scattered((x, indices, updates) => {
    const isOne = updates.staticShape?.length === 0;
    const rows = isOne
      ? broadcastTo(updates, concat([shape(indices), shape(x).slice([1])]))
      : updates;
    return update(x, expandDims(indices, -1), rows);
  });
}

const fold = (name: string): Scatter => (...inputs) => apply1(lookupOp(name)!, inputs);

const products: Scatter = fold("_TensorScatterMul");

/** Rules by op. */
export const VARIABLE_RULES: readonly (readonly [string, ImportRule])[] = [
  ["ResourceGather", (node) => {
    const batch = Number(node.attr.batch_dims?.i ?? 0);
    return [gather(read(node), node.inputs[1], batch, batch)];
  }],
  ["ResourceGatherNd", (node) => [gatherND(read(node), node.inputs[1])]],
  ["RngReadAndSkip", (node) => {
    const [handle, , delta] = node.inputs, state = read(node);
    const next = apply1(lookupOp("_PhiloxSkip")!, [state, delta]);
    apply(lookupOp("AssignVariableOp")!, [handle, next]);
    return [state];
  }],
  ["VariableShape", (node) => [shape(read(node))]],
  ["ResourceScatterNdUpdate", scattered(tensorScatterUpdate)],
  ["ResourceScatterNdAdd", scattered(tensorScatterAdd)],
  [
    "ResourceScatterNdSub",
    scattered((x, places, updates) => tensorScatterAdd(x, places, neg(updates))),
  ],
  ["ResourceScatterNdMax", scattered(fold("TensorScatterMax"))],
  ["ResourceScatterNdMin", scattered(fold("TensorScatterMin"))],
  ["ResourceScatterMax", scatteredRows(fold("TensorScatterMax"))],
  ["ResourceScatterMin", scatteredRows(fold("TensorScatterMin"))],
  ["ResourceScatterMul", scatteredRows(products)],
  [
    "ResourceScatterDiv",
    // Whole numbers are cut, as in TensorFlow's first division.
    scatteredRows((x, places, updates) =>
      apply1(lookupOp("Div")!, [x, products(onesLike(x), places, updates)])
    ),
  ],
];
