/**
 * Rules for ops that parse records, in the newest of them.
 */
import { asDType } from "../../../engine/core/dtype.ts";
import type { Tensor } from "../../../engine/core/tensor.ts";
import type { AttrValueJson } from "../../../engine/graph/graph_def_json.ts";
import { shapeFromJson, text } from "../../graph_def/values.ts";
import { fill } from "../../../engine/ops/array/creation.ts";
import { stack } from "../../../engine/ops/array/join.ts";
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
