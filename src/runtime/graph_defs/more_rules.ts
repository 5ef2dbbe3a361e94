/**
 * Rules for ops of statistics, of sparse tensors, of records and of ranking, written in several of ours.
 */
import { apply, apply1 } from "../../core/apply.ts";
import { asDType } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { lookupOp } from "../../core/op.ts";
import type { Tensor } from "../../core/tensor.ts";
import type { AttrValueJson } from "../../graph/graph_def/graph_def.ts";
import { text } from "../../graph/graph_def/values.ts";
import { cast } from "../../ops/array/cast.ts";
import { fill } from "../../ops/array/creation.ts";
import { gather } from "../../ops/array/gather.ts";
import { concat, stack, unstack } from "../../ops/array/join.ts";
import { tensorScatterUpdate } from "../../ops/array/scatter.ts";
import { expandDims, reshape, shape } from "../../ops/array/view.ts";
import { transpose } from "../../ops/array/move.ts";
import { intVector } from "../../ops/input.ts";
import { add, mul, sub } from "../../ops/pointwise/arithmetic.ts";
import { greater, less } from "../../ops/pointwise/compare.ts";
import { logicalAnd } from "../../ops/pointwise/logical.ts";
import { abs } from "../../ops/pointwise/rounding.ts";
import { max, sum } from "../../ops/reduce/reduce.ts";
import type { ImportedNode, ImportRule } from "./import_rules.ts";

/** Values at their places in one tensor; later ones win. */
function dynamicStitch({ inputs }: ImportedNode): Tensor[] {
  const half = inputs.length / 2;
  const indices = inputs.slice(0, half), data = inputs.slice(half);
  const rows = indices.map((at, k) => {
    const rank = at.staticShape?.length ?? null, given = data[k].staticShape;
    if (rank === null || given === null) {
      throw new ValueError("Cannot import: DynamicStitch of unknown rank");
    }
    // What follows the places is the shape of a row.
    return reshape(data[k], concat([intVector([-1]), shape(data[k]).slice([rank])]));
  });
  const at = concat(indices.map((i) => reshape(i, [-1])));
  const values = concat(rows);
  const dims = concat([reshape(add(max(at), 1), [1]), shape(values).slice([1])]);
  return [tensorScatterUpdate(fill(dims, 0, values.dtype), expandDims(at, -1), values)];
}

/** A sparse matrix of two dimensions times a dense one. */
function sparseMatMul({ inputs: [indices, values, dims, b], attr }: ImportedNode): Tensor[] {
  const [first, second] = unstack(cast(indices, "int32"), 1);
  const isTurned = attr.adjoint_a?.b ?? false;
  const rows = isTurned ? second : first, columns = isTurned ? first : second;
  const count = cast(dims, "int32").slice([isTurned ? 1 : 0], [1]);
  const dense = attr.adjoint_b?.b ? transpose(b) : b;
  const products = mul(gather(dense, columns), expandDims(values, -1));
  return [apply1(lookupOp("UnsortedSegmentSum")!, [products, rows, reshape(count, [])])];
}

/** Whether the score of the right class is among the k best. */
function inTopK({ inputs: [scores, targets, given], attr }: ImportedNode): Tensor[] {
  const k = given ?? cast(Number(attr.k?.i ?? 0), "int32");
  const own = gather(scores, expandDims(targets, -1), 1, 1);
  const better = sum(cast(greater(scores, own), "int32"), 1);
  const isNumber = less(reshape(abs(own), [-1]), Infinity);
  return [logicalAnd(less(better, cast(k, "int32")), isNumber)];
}

const list = (value: AttrValueJson | undefined): string[] => (value?.list?.s ?? []).map(text);

const types = (value: AttrValueJson | undefined) => (value?.list?.type ?? []).map(asDType);

const shapes = (value: AttrValueJson | undefined) =>
  (value?.list?.shape ?? []).map((s) =>
    s.unknownRank ? null : (s.dim ?? []).map((d) => Number(d.size) < 0 ? null : Number(d.size))
  );

/** Records as the newest op of its kind reads them, with the outputs that older ones have. */
function parse(
  { attr }: ImportedNode,
  { serialized, names, sparse, dense, defaults }: {
    readonly serialized: Tensor;
    readonly names: Tensor | readonly string[];
    readonly sparse: Tensor;
    readonly dense: Tensor;
    readonly defaults: readonly Tensor[];
  },
): readonly Tensor[] {
  const none = noStrings();
  const sparseTypes = types(attr.sparse_types);
  return apply(
    lookupOp("ParseExampleV2")!,
    [serialized, Array.isArray(names) ? none : names as Tensor, sparse, dense, none, ...defaults],
    {
      num_sparse: sparseTypes.length,
      sparse_types: sparseTypes,
      ragged_value_types: [],
      ragged_split_types: [],
      dense_shapes: shapes(attr.dense_shapes),
      Tdense: types(attr.Tdense),
    },
  );
}

const noStrings = (): Tensor => cast(fill([0], "", "string"), "string");

const keys = (names: readonly string[]): Tensor =>
  names.length === 0 ? noStrings() : stack(names.map((n) => fill([], n, "string")));

/** `ParseExample`, whose keys are an input each. */
function parseExample(node: ImportedNode): readonly Tensor[] {
  const [serialized, names, ...rest] = node.inputs;
  const sparse = Number(node.attr.Nsparse?.i ?? 0), dense = Number(node.attr.Ndense?.i ?? 0);
  const stacked = (tensors: readonly Tensor[]): Tensor =>
    tensors.length === 0 ? noStrings() : stack([...tensors]);
  return parse(node, {
    serialized,
    names,
    sparse: stacked(rest.slice(0, sparse)),
    dense: stacked(rest.slice(sparse, sparse + dense)),
    defaults: rest.slice(sparse + dense),
  });
}

/** `ParseSingleExample`, whose keys are attributes. */
function parseSingleExample(node: ImportedNode): readonly Tensor[] {
  const [serialized, ...defaults] = node.inputs;
  return parse(node, {
    serialized,
    names: [],
    sparse: keys(list(node.attr.sparse_keys)),
    dense: keys(list(node.attr.dense_keys)),
    defaults,
  });
}

/** Rules by op. */
export const MORE_RULES: readonly (readonly [string, ImportRule])[] = [
  ["DynamicStitch", dynamicStitch],
  ["ParallelDynamicStitch", dynamicStitch],
  ["ApproximateEqual", ({ inputs: [x, y], attr }) => [
    less(abs(sub(x, y)), Number(attr.tolerance?.f ?? 1e-5)),
  ]],
  ["SparseTensorDenseMatMul", sparseMatMul],
  ["InTopK", inTopK],
  ["InTopKV2", inTopK],
  ["ParseExample", parseExample],
  ["ParseSingleExample", parseSingleExample],
  ["DestroyResourceOp", () => []],
];
