/** Rules for ops of statistics, of records and of ranking, as several of Weft's ops. */
import { asDType } from "../../engine/core/dtype.ts";
import { ValueError } from "../../engine/core/errors.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { AttrValueJson } from "../../engine/graph/graph_def/graph_def.ts";
import { shapeFromJson, text } from "../../engine/graph/graph_def/values.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { fill } from "../../engine/ops/array/creation.ts";
import { gather } from "../../engine/ops/array/gather.ts";
import { concat, stack } from "../../engine/ops/array/join.ts";
import { tensorScatterUpdate } from "../../engine/ops/array/scatter.ts";
import { expandDims, reshape, shape } from "../../engine/ops/array/view.ts";
import { intVector } from "../../engine/ops/input.ts";
import { add, sub } from "../../engine/ops/pointwise/arithmetic.ts";
import { greater, less } from "../../engine/ops/pointwise/compare.ts";
import { logicalAnd } from "../../engine/ops/pointwise/logical.ts";
import { abs } from "../../engine/ops/pointwise/rounding.ts";
import { max, sum } from "../../engine/ops/reduce/reduce.ts";
import { type ImportedNode, intOf, put, type RuleEntry } from "./rule.ts";

/** Places values in one tensor; later ones win. */
function dynamicStitch({ inputs }: ImportedNode): Tensor[] {
  const half = inputs.length / 2;
  const indices = inputs.slice(0, half), data = inputs.slice(half);
  const rows = indices.map((at, k) => {
    const rank = at.staticShape?.length ?? null, given = data[k].staticShape;
    if (rank === null || given === null) {
      throw new ValueError("Cannot import: DynamicStitch of unknown rank");
    }
    // The axes after the places are a row's.
    return reshape(data[k], concat([intVector([-1]), shape(data[k]).slice([rank])]));
  });
  const at = concat(indices.map((i) => reshape(i, [-1])));
  const values = concat(rows);
  const dims = concat([reshape(add(max(at), 1), [1]), shape(values).slice([1])]);
  return [tensorScatterUpdate(fill(dims, 0, values.dtype), expandDims(at, -1), values)];
}

/** True where the score of the right class is among the k best. */
function inTopK({ inputs: [scores, targets, given], attr }: ImportedNode): Tensor[] {
  const k = given ?? cast(intOf(attr.k, 0), "int32");
  const own = gather(scores, expandDims(targets, -1), 1, 1);
  const better = sum(cast(greater(scores, own), "int32"), 1);
  const isNumber = less(reshape(abs(own), [-1]), Infinity);
  return [logicalAnd(less(better, cast(k, "int32")), isNumber)];
}

const types = (value: AttrValueJson | undefined) => (value?.list?.type ?? []).map(asDType);

const noStrings = (): Tensor => fill([0], "", "string");

const strings = (tensors: readonly Tensor[]): Tensor =>
  tensors.length === 0 ? noStrings() : stack([...tensors]);

/** Parses records with the newest op of its kind, with the outputs of older ones. */
function parse({ attr }: ImportedNode, serialized: Tensor, { names, sparse, dense, defaults }: {
  readonly names: Tensor;
  readonly sparse: readonly Tensor[];
  readonly dense: readonly Tensor[];
  readonly defaults: readonly Tensor[];
}): readonly Tensor[] {
  const inputs = [serialized, names, strings(sparse), strings(dense), noStrings(), ...defaults];
  return put("ParseExampleV2", inputs, {
    num_sparse: sparse.length,
    sparse_types: types(attr.sparse_types),
    ragged_value_types: [],
    ragged_split_types: [],
    dense_shapes: (attr.dense_shapes?.list?.shape ?? []).map(shapeFromJson),
    Tdense: types(attr.Tdense),
  });
}

/** Rule of `ParseExample`, whose keys are an input each. */
function parseExample(node: ImportedNode): readonly Tensor[] {
  const [serialized, names, ...rest] = node.inputs;
  const sparse = intOf(node.attr.Nsparse, 0), end = sparse + intOf(node.attr.Ndense, 0);
  const keys = { sparse: rest.slice(0, sparse), dense: rest.slice(sparse, end) };
  return parse(node, serialized, { names, ...keys, defaults: rest.slice(end) });
}

/** Rule of `ParseSingleExample`, whose keys are attributes. */
function parseSingleExample(node: ImportedNode): readonly Tensor[] {
  const [serialized, ...defaults] = node.inputs;
  const keys = (value: AttrValueJson | undefined): Tensor[] =>
    (value?.list?.s ?? []).map((s) => fill([], text(s), "string"));
  const sparse = keys(node.attr.sparse_keys), dense = keys(node.attr.dense_keys);
  return parse(node, serialized, { names: noStrings(), sparse, dense, defaults });
}

export const MORE_RULES: readonly RuleEntry[] = [
  ["DynamicStitch", dynamicStitch, 2],
  ["ParallelDynamicStitch", dynamicStitch, 2],
  ["ApproximateEqual", ({ inputs: [x, y], attr }) => [
    less(abs(sub(x, y)), Number(attr.tolerance?.f ?? 1e-5)),
  ], 2],
  ["InTopK", inTopK, 2],
  ["InTopKV2", inTopK, 3],
  ["ParseExample", parseExample, 2],
  ["ParseSingleExample", parseSingleExample],
  ["DestroyResourceOp", () => []],
];
