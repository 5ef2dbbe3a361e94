/** The parts of rules for ops that only files have: the node, Weft's ops, and attributes as files write them. */
import { apply, apply1, type OpInput } from "../../engine/core/apply.ts";
import { type Attrs, lookupOp } from "../../engine/core/op.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { AttrValueJson } from "../../engine/graph/graph_def/graph_def.ts";
import { text } from "../../engine/graph/graph_def/values.ts";

/** A node of a file, as rules see it. */
export interface ImportedNode {
  /** Its inputs in the graph being built. */
  readonly inputs: readonly Tensor[];
  /** Its attributes in the file's form. */
  readonly attr: Readonly<Record<string, AttrValueJson>>;
}

/** Adds the node's replacement and returns its outputs. */
export type ImportRule = (node: ImportedNode) => readonly Tensor[];

/** The rule of an op, with the minimum number of inputs unless it is one. */
export type RuleEntry = readonly [op: string, rule: ImportRule, least?: number];

/** Adds one of Weft's ops to the graph. */
export function put(op: string, inputs: readonly OpInput[], attrs?: Attrs): Tensor[] {
  return apply(lookupOp(op)!, inputs, attrs);
}

/** Adds one of Weft's ops with one output to the graph. */
export function put1(op: string, inputs: readonly OpInput[], attrs?: Attrs): Tensor {
  return apply1(lookupOp(op)!, inputs, attrs);
}

/** Makes the rule that passes the inputs to one of Weft's ops. */
export function as(op: string, attrs?: (attr: ImportedNode["attr"]) => Attrs): ImportRule {
  return ({ inputs, attr }) => put(op, inputs, attrs?.(attr));
}

/** Reads an integer attribute. */
export function intOf(value: AttrValueJson | undefined, otherwise: number): number {
  return Number(value?.i ?? otherwise);
}

/** Reads a text attribute. */
export function textOf(value: AttrValueJson | undefined, otherwise: string): string {
  return value?.s === undefined ? otherwise : text(value.s);
}

/** Reads the dtype of indices. */
export function indexOf(value: AttrValueJson | undefined): "int32" | "int64" {
  return value?.type === "DT_INT64" ? "int64" : "int32";
}
