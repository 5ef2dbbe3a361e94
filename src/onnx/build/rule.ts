/** Rules: how an op of ONNX is made. The table of them is `src/onnx/ops/table.ts`. */
import type { NdArray } from "../../engine/core/nd_array.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { Follow } from "./entries.ts";
import type { NodeCall } from "./node_call.ts";
import type { Value } from "./value.ts";

/** A rule's output: a tensor, known elements, or a value with more information. */
export type RuleOutput = Tensor | NdArray | Value;

/** Makes a node's outputs of Weft's ops: one, or a list in the node's order; null for one that is not made. */
export type Rule = (node: NodeCall) => RuleOutput | readonly (RuleOutput | null)[];

/**
 * Ops that take float32 in place of float16: what they compute needs no rounding between; what they move stays as all of it is held;
 * products leave large weights as they are; `alone`: only the first output is one of float16, and others must not be wanted.
 */
export type Halves = "computed" | "moved" | "multiplied" | "alone";

export interface RuleOptions {
  /** The op's domain. Default: ONNX's own. */
  readonly domain?: string;
  /**
   * Inputs whose elements the rule needs while building, such as axes and shapes: an initialiser there is no variable.
   */
  readonly known?: readonly number[];
  /** Inputs that training must leave alone, such as running averages: a variable there is not trainable. */
  readonly frozen?: readonly number[];
  /** True where int32 may replace int64 that counts or places, in inputs and results. */
  readonly narrow?: boolean;
  /** Says where float32 may stand for float16, in inputs and results. */
  readonly halves?: Halves;
  /** Follows partly known integers through the op, as in shapes. */
  readonly follow?: Follow;
  /** True where each element of the result is computed from those at its place: images may have their channels last. */
  readonly pointwise?: boolean;
  /** True where few elements may become many: such an op is not computed while building. */
  readonly grows?: boolean;
  /** False where equal inputs may give different results, or where no op is made. Default true. */
  readonly folds?: boolean;
}

/** An entry of the table. */
export interface OpEntry extends RuleOptions {
  /** Name of the op, as `Conv`. */
  readonly name: string;
  /** The first version of the op's domain with this rule; it holds until the op's next entry. */
  readonly since: number;
  /** The rule; null for a refused op. */
  readonly rule: Rule | null;
  /** The reason of a refusal. */
  readonly refused?: string;
}

/** Finds the entry of an op by domain, name and version; null if there is none. */
export type Lookup = (domain: string, name: string, version: number) => OpEntry | null;

/** Makes an entry with a rule, from a version on. */
export function op(name: string, since: number, rule: Rule, options: RuleOptions = {}): OpEntry {
  return { ...options, name, since, rule };
}

/** Makes the entries of refused ops of a domain, by their reasons. */
export function refusals(
  reasons: Readonly<Record<string, readonly string[]>>,
  domain: string,
): OpEntry[] {
  return Object.entries(reasons).flatMap(([refused, names]) =>
    names.map((name): OpEntry => ({ name, since: 1, rule: null, refused, domain }))
  );
}
