/**
 * Rules for ops that parse records, in the newest of them.
 */
import { asDType } from "../../../engine/core/dtype.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { AttrValueJson } from "../../../engine/graph/graph_def_json.ts";
import { shapeFromJson, text } from "../../graph_def/values.ts";
import { fill } from "../../../engine/ops/array/creation.ts";
import { expandDims } from "../../../engine/ops/array/view.ts";
import { stack } from "../../../engine/ops/array/join.ts";
import { equal } from "../../../engine/ops/pointwise/compare.ts";
import { any } from "../../../engine/ops/reduce/reduce.ts";
import { type ImportedNode, intOf, put } from "../rule.ts";

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
export function parseExample(node: ImportedNode): readonly Tensor[] {
  const [serialized, names, ...rest] = node.inputs;
  const sparse = intOf(node.attr.Nsparse, 0), end = sparse + intOf(node.attr.Ndense, 0);
  const keys = { sparse: rest.slice(0, sparse), dense: rest.slice(sparse, end) };
  return parse(node, serialized, { names, ...keys, defaults: rest.slice(end) });
}

/** Rule of `ParseSingleExample`, whose keys are attributes. */
export function parseSingleExample(node: ImportedNode): readonly Tensor[] {
  const [serialized, ...defaults] = node.inputs;
  const keys = (value: AttrValueJson | undefined): Tensor[] =>
    (value?.list?.s ?? []).map((s) => fill([], text(s), "string"));
  const sparse = keys(node.attr.sparse_keys), dense = keys(node.attr.dense_keys);
  return parse(node, serialized, { names: noStrings(), sparse, dense, defaults });
}

/** Parses records with feature lists by the newest op, without ragged features; `missing` are the keys of lists that may be. */
function parseLists(
  { attr }: ImportedNode,
  serialized: Tensor,
  { names, keys, missing, defaults }: {
    readonly names: Tensor;
    /** Keys of the context, sparse and dense, and of the lists. */
    readonly keys: readonly [Tensor, Tensor, Tensor, Tensor];
    readonly missing: Tensor;
    readonly defaults: readonly Tensor[];
  },
): Tensor[] {
  const [few, whole, lists, padded] = keys, sparse = types(attr.feature_list_sparse_types);
  const dense = types(attr.feature_list_dense_types),
    shapes = (value: AttrValueJson | undefined) => (value?.list?.shape ?? []).map(shapeFromJson);
  return put("ParseSequenceExampleV2", [
    ...[serialized, names, few, whole, noStrings(), lists, padded, noStrings(), missing],
    ...defaults,
  ], {
    Ncontext_sparse: types(attr.context_sparse_types).length,
    context_sparse_types: types(attr.context_sparse_types),
    Tcontext_dense: types(attr.Tcontext_dense),
    context_dense_shapes: shapes(attr.context_dense_shapes),
    Nfeature_list_sparse: sparse.length,
    feature_list_sparse_types: sparse,
    Nfeature_list_dense: dense.length,
    feature_list_dense_types: dense,
    feature_list_dense_shapes: shapes(attr.feature_list_dense_shapes),
  });
}

/** True at each key that is among others. */
const among = (keys: Tensor, others: Tensor): Tensor =>
  any(equal(expandDims(keys, 1), expandDims(others, 0)), 1);

/** Rule of `ParseSequenceExample`, whose keys are attributes. */
export function parseSequenceExample(node: ImportedNode): readonly Tensor[] {
  const [serialized, names, ...defaults] = node.inputs, { attr } = node;
  const keys = (value: AttrValueJson | undefined): Tensor =>
    strings((value?.list?.s ?? []).map((s) => fill([], text(s), "string")));
  const padded = keys(attr.feature_list_dense_keys);
  return parseLists(node, serialized, {
    names,
    keys: [
      keys(attr.context_sparse_keys),
      keys(attr.context_dense_keys),
      keys(attr.feature_list_sparse_keys),
      padded,
    ],
    missing: among(padded, keys(attr.feature_list_dense_missing_assumed_empty)),
    defaults,
  });
}

/** Rule of `ParseSingleSequenceExample`, whose keys are an input each. It has no numbers of steps. */
export function parseSingleSequenceExample(node: ImportedNode): readonly Tensor[] {
  const { attr } = node,
    counts = [
      attr.Ncontext_sparse,
      attr.Ncontext_dense,
      attr.Nfeature_list_sparse,
      attr.Nfeature_list_dense,
    ].map((n) => intOf(n, 0));
  const [serialized, missing, ...rest] = node.inputs;
  const lists = counts.map((n) => strings(rest.splice(0, n)));
  const defaults = rest.splice(0, counts[1]);
  const out = parseLists(node, serialized, {
    names: noStrings(),
    keys: [lists[0], lists[1], lists[2], lists[3]],
    missing: among(lists[3], missing),
    defaults,
  });
  return out.slice(0, out.length - counts[3]);
}
