/**
 * Patterns: shapes of small subgraphs, matched from their result backwards. What a pattern consists of must serve nobody else.
 */
import type { NdArray } from "../../core/nd_array.ts";
import { type IrGraph, type IrNode, type IrValue, isConstant } from "../ir.ts";
import type { Joined } from "./clusters.ts";
import { mayJoin } from "./cse.ts";
import { joined, usesOf } from "./pointwise_nodes.ts";

/** What a match has found. */
export class Match {
  /** Values by the names that the pattern gives them. */
  values: ReadonlyMap<string, IrValue> = new Map();
  /** The nodes that the pattern consists of. */
  nodes: ReadonlySet<IrNode> = new Set();

  /** The value of a name. */
  get(name: string): IrValue {
    return this.values.get(name)!;
  }
  /** The one number that a constant of this name holds. */
  number(name: string): number {
    return numberOf(this.get(name))!;
  }
}

/** True where the value is what the pattern describes; then the match has it. */
export type Pattern = (v: IrValue, match: Match) => boolean;

/** Any value; the same one wherever the name comes again. */
export function any(name: string, check: (v: IrValue) => boolean = () => true): Pattern {
  return (v, match) => {
    const known = match.values.get(name);
    if (known !== undefined) return known === v;
    if (!check(v)) return false;
    match.values = new Map([...match.values, [name, v]]);
    return true;
  };
}

/** A constant of one finite number; without a name, of that number. */
export function number(name: string | number): Pattern {
  if (typeof name === "number") return (v) => numberOf(v) === name;
  return any(name, (v) => numberOf(v) !== null);
}

/** An op of one of these names, the operands of which are these. With `both`, two operands may also stand the other way. */
export function op(names: string, operands: readonly Pattern[], both = false): Pattern {
  const allowed = names.split("|");
  return (v, match) => {
    const { node } = v;
    if (
      !allowed.includes(node.def.name) || node.inputs.length !== operands.length ||
      node.outputs.length !== 1 || !mayJoin(node)
    ) return false;
    const { values, nodes } = match;
    for (const list of both ? [operands, [...operands].reverse()] : [operands]) {
      match.nodes = new Set([...nodes, node]);
      if (list.every((p, i) => p(node.inputs[i], match))) return true;
      Object.assign(match, { values, nodes });
    }
    return false;
  };
}

/** The first of these patterns that fits. */
export function either(...patterns: readonly Pattern[]): Pattern {
  return (v, match) => patterns.some((p) => p(v, match));
}

/** A value that a pattern fits and that has a name as well, for where it comes again. */
export function named(name: string, pattern: Pattern): Pattern {
  return (v, match) => match.values.get(name) === v || pattern(v, match) && any(name)(v, match);
}

/** A reduction of the last axis that keeps it as one of extent 1, or does not. */
export function reduceLast(names: string, operand: Pattern, keep = true): Pattern {
  const reduction = op(names, [operand, () => true]);
  return (v, match) => {
    const [x, axes] = v.node.inputs;
    const rank = x?.shape?.length;
    if (rank === undefined || axes === undefined || Boolean(v.node.attrs.keep_dims) !== keep) {
      return false;
    }
    const axis = integersOf(axes);
    return axis?.length === 1 && (axis[0] === -1 || axis[0] === rank - 1) && reduction(v, match);
  };
}

/** The whole numbers of an int32 constant; null for other values. */
export function integersOf({ node, dtype }: IrValue): readonly number[] | null {
  if (!isConstant(node) || dtype !== "int32") return null;
  return Array.from((node.attrs.value as NdArray).data as Int32Array);
}

function numberOf({ node, dtype }: IrValue): number | null {
  if (!isConstant(node) || dtype !== "float32") return null;
  const { data, size, rank } = node.attrs.value as NdArray;
  const value = (data as Float32Array)[0];
  // More dimensions than one may be more than the other operand has.
  return size === 1 && rank <= 1 && Number.isFinite(value) ? value : null;
}

/** A pattern, and the node that takes its place: with inputs from the match, and as outputs those that it has besides the first. */
export interface Rule {
  readonly pattern: Pattern;
  /** Null where the match is not to be replaced after all. */
  readonly replace: (match: Match, root: IrNode) => IrNode | null;
}

/** The graph with every place where a rule fits replaced; the first of the rules comes first. */
export function applyRules(ir: IrGraph, rules: readonly Rule[]): IrGraph {
  const { readers, held } = usesOf(ir);
  const taken = new Set<IrNode>();
  const joins: Joined[] = [];
  const isApart = (nodes: ReadonlySet<IrNode>, root: IrNode): boolean =>
    [...nodes].every((n) =>
      !taken.has(n) && n.device === root.device &&
      (n === root || !held.has(n) && readers.get(n)!.every((r) => nodes.has(r)))
    );
  for (const node of [...ir.nodes].reverse()) {
    if (taken.has(node) || node.outputs.length !== 1) continue;
    for (const { pattern, replace } of rules) {
      const match = new Match();
      if (!pattern(node.outputs[0], match) || !isApart(match.nodes, node)) continue;
      const made = replace(match, node);
      if (made === null) continue;
      for (const n of match.nodes) taken.add(n);
      joins.push({ members: match.nodes, node: made, outputs: [...node.outputs, ...made.outputs] });
      break;
    }
  }
  return joined(ir, joins);
}
