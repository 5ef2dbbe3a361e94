/** The parts of rules for ops that only files have: the node, Weft's ops, and attributes as files write them. */
import { apply, apply1, type OpInput } from "../../engine/core/apply.ts";
import { type Attrs, lookupOp } from "../../engine/core/op.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { Spec } from "../../engine/core/tensor_spec.ts";
import type { ConcreteFunction } from "../../engine/runtime/functions/concrete_function.ts";
import type { AttrValueJson, FunctionDefJson } from "../../engine/graph/graph_def_json.ts";
import { text } from "../graph_def/values.ts";

/** A node of a file, as rules see it. */
export interface ImportedNode {
  /** Its name in the file. */
  readonly name: string;
  /** Its inputs in the graph being built. */
  readonly inputs: readonly Tensor[];
  /** Its attributes in the file's form. */
  readonly attr: Readonly<Record<string, AttrValueJson>>;
  /** Functions of the file. */
  readonly functions: Functions;
}

/** Adds the node's replacement and returns its outputs. */
export type ImportRule = (node: ImportedNode) => readonly Tensor[];

/** The functions of a file, as rules see them. */
export interface Functions {
  def(name: string): FunctionDefJson;
  get(name: string, given: readonly Spec[]): ConcreteFunction;
  /** Returns the function that the file declares as the gradient of another; undefined for none. */
  gradientOf(name: string): string | undefined;
}

/** An op that is written in others. */
export interface RuleEntry {
  readonly rule: ImportRule;
  /** The least number of inputs that it reads. */
  readonly least: number;
  /** Names of its outputs, as bodies of functions tell them; none where it has one or they are not known. */
  readonly outputs: readonly string[];
  /** For an op of ours: true for nodes that it does not know. Default: the op is none of ours. */
  readonly when?: (node: ImportedNode) => boolean;
}

/** The treatment of one of TensorFlow's ops: a rule, an op of ours by its name, or the reason why it is refused. */
export type OpEntry = RuleEntry | { readonly op: string } | { readonly refused: string };

/** The entry of an op that is written in others. It reads one input, where nothing else is said. */
export function rule(
  rule: ImportRule,
  least = 1,
  options: Partial<Pick<RuleEntry, "outputs" | "when">> = {},
): RuleEntry {
  return { rule, least, outputs: [], ...options };
}

/** The entry of an op that is one of ours under another name. */
export function same(op: string): OpEntry {
  return { op };
}

/** The entries of ops that are refused for one reason. */
export function refused(reason: string, ...ops: string[]): Record<string, OpEntry> {
  return Object.fromEntries(ops.map((op) => [op, { refused: reason }]));
}

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
