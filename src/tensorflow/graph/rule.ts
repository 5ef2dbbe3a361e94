/**
 * What rules for ops that only files have are made of: the node they see, ops of ours, and attributes as files write them.
 */
import { apply, apply1, type OpInput } from "../../engine/core/apply.ts";
import { type Attrs, lookupOp } from "../../engine/core/op.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { AttrValueJson } from "../../engine/graph/graph_def/graph_def.ts";
import { text } from "../../engine/graph/graph_def/values.ts";

/** A node of a file, as rules see it. */
export interface ImportedNode {
  /** Its inputs in the graph that is being built. */
  readonly inputs: readonly Tensor[];
  /** Its attributes as the file has them. */
  readonly attr: Readonly<Record<string, AttrValueJson>>;
}

/** Adds what a node means and gives its outputs. */
export type ImportRule = (node: ImportedNode) => readonly Tensor[];

/** The rule of an op, and how many inputs it reads at least where that is not one. */
export type RuleEntry = readonly [op: string, rule: ImportRule, least?: number];

/** Puts an op of ours into the graph. */
export function put(op: string, inputs: readonly OpInput[], attrs?: Attrs): Tensor[] {
  return apply(lookupOp(op)!, inputs, attrs);
}

/** Puts an op of ours that has one output into the graph. */
export function put1(op: string, inputs: readonly OpInput[], attrs?: Attrs): Tensor {
  return apply1(lookupOp(op)!, inputs, attrs);
}

/** The rule that hands the inputs to an op of ours. */
export function as(op: string, attrs?: (attr: ImportedNode["attr"]) => Attrs): ImportRule {
  return ({ inputs, attr }) => put(op, inputs, attrs?.(attr));
}

/** A whole number of a file. */
export function intOf(value: AttrValueJson | undefined, otherwise: number): number {
  return Number(value?.i ?? otherwise);
}

/** A text of a file. */
export function textOf(value: AttrValueJson | undefined, otherwise: string): string {
  return value?.s === undefined ? otherwise : text(value.s);
}

/** The dtype of indices of a file. */
export function indexOf(value: AttrValueJson | undefined): "int32" | "int64" {
  return value?.type === "DT_INT64" ? "int64" : "int32";
}
