/**
 * Rules: what an op of ONNX is made of. The table of them is `src/onnx/ops/table.ts`.
 */
import type { NdArray } from "../../engine/core/nd_array.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { Follow } from "./entries.ts";
import type { NodeCall } from "./node_call.ts";
import type { Value } from "./value.ts";

/** What a rule gives for an output: a tensor, known elements, or a value that says more. */
export type RuleOutput = Tensor | NdArray | Value;

/** Makes a node's outputs of ops of ours: one, or a list of them in the node's order; null for one that is not made. */
export type Rule = (node: NodeCall) => RuleOutput | readonly (RuleOutput | null)[];

/** What else is to be known of an op. */
export interface RuleOptions {
  /** The op's domain. Default: ONNX's own. */
  readonly domain?: string;
  /** Inputs whose elements the rule wants while it builds, as axes and shapes: an initialiser there is no variable. */
  readonly known?: readonly number[];
  /** Inputs that training must leave alone, as running averages: a variable there is not trainable. */
  readonly frozen?: readonly number[];
  /** True where int32 may stand for int64 that counts or places something, and the result does so too. */
  readonly narrow?: boolean;
  /** How whole numbers that are known in part go through it, as in shapes. */
  readonly follow?: Follow;
  /** True where few elements may become many: that is not done while building. */
  readonly grows?: boolean;
  /** False where equal inputs may give different results. Default true. */
  readonly folds?: boolean;
}

/** An entry of the table. */
export interface OpEntry extends RuleOptions {
  /** Name of the op, as `Conv`. */
  readonly name: string;
  /** The first version of the op's domain that the rule is for; it holds until the next entry of the op. */
  readonly since: number;
  /** The rule; null for an op that is refused. */
  readonly rule: Rule | null;
  /** Why the op is refused. */
  readonly refused?: string;
}

/** Finds the entry of an op by domain, name and version; null where there is none. */
export type Lookup = (domain: string, name: string, version: number) => OpEntry | null;

/** An entry with a rule, from a version on. */
export function op(name: string, since: number, rule: Rule, options: RuleOptions = {}): OpEntry {
  return { ...options, name, since, rule };
}

/** An entry of an op that is refused, with the reason. */
export function refuse(name: string, since: number, refused: string, domain = ""): OpEntry {
  return { name, since, rule: null, refused, domain };
}
