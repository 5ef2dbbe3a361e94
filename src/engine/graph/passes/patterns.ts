/**
 * Patterns of small subgraphs, matched backwards from their result. The nodes of a match must have no other readers.
 */
import type { NdArray } from "../../core/nd_array.ts";
import { type IrGraph, type IrNode, type IrValue, isConstant } from "../ir.ts";
import { isLoaded } from "./added.ts";
import type { Joined } from "./clusters.ts";
import { mayJoin } from "./cse.ts";
import { joined, usesOf } from "./pointwise_nodes.ts";

const NO_VALUES: ReadonlyMap<string, IrValue> = new Map(),
  NO_NODES: ReadonlySet<IrNode> = new Set();

/** The bindings of a match. */
export class Match {
  /** Values by the pattern's names. */
  values: ReadonlyMap<string, IrValue> = NO_VALUES;
  nodes: ReadonlySet<IrNode> = NO_NODES;

  get(name: string): IrValue {
    return this.values.get(name)!;
  }
  /** Returns the number of a constant's name. */
  number(name: string): number {
    return numberOf(this.get(name))!;
  }
}

/** Matches a value and binds its names; false if it does not fit. */
export interface Pattern {
  (v: IrValue, match: Match): boolean;
  /** Ops that make the values that may fit; absent where that is unknown. */
  readonly ops?: readonly string[] | undefined;
}

/** Notes the ops that make the values that may fit a pattern. */
function ofOps(pattern: Pattern, ops: readonly string[] | undefined): Pattern {
  return Object.assign(pattern, { ops });
}

/** Matches any value; a repeated name must match the same value. */
export function any(name: string, check: (v: IrValue) => boolean = () => true): Pattern {
  return (v, match) => {
    const known = match.values.get(name);
    if (known !== undefined) return known === v;
    if (!check(v)) return false;
    match.values = new Map(match.values).set(name, v);
    return true;
  };
}

/** Matches a constant of one finite number; without a name, of this number. */
export function number(name: string | number): Pattern {
  if (typeof name === "number") return (v) => numberOf(v) === name;
  return any(name, (v) => numberOf(v) !== null);
}

/** Matches an op of one of these names with these operands. With `both`, two operands may be exchanged. */
export function op(names: string, operands: readonly Pattern[], both = false): Pattern {
  const allowed = names.split("|"), lists = both ? [operands, [...operands].reverse()] : [operands];
  return ofOps((v, match) => {
    const { node } = v;
    if (
      !allowed.includes(node.def.name) || node.inputs.length !== operands.length ||
      node.outputs.length !== 1 || !mayJoin(node)
    ) return false;
    const { values, nodes } = match;
    for (const list of lists) {
      match.nodes = new Set(nodes).add(node);
      if (list.every((p, i) => p(node.inputs[i], match))) return true;
      match.values = values;
      match.nodes = nodes;
    }
    return false;
  }, allowed);
}

/** Matches the first fitting pattern. */
export function either(...patterns: readonly Pattern[]): Pattern {
  const ops = patterns.every((p) => p.ops !== undefined)
    ? patterns.flatMap((p) => p.ops!)
    : undefined;
  return ofOps((v, match) => patterns.some((p) => p(v, match)), ops);
}

/** Binds a name to a value that also matches a pattern. */
export function named(name: string, pattern: Pattern): Pattern {
  const bind = any(name);
  return ofOps(
    (v, match) => match.values.get(name) === v || pattern(v, match) && bind(v, match),
    pattern.ops,
  );
}

/** Matches a reduction of the last axis; `keep` tells whether it stays with extent 1. */
export function reduceLast(names: string, operand: Pattern, keep = true): Pattern {
  const reduction = op(names, [operand, () => true]);
  return ofOps((v, match) => {
    const [x, axes] = v.node.inputs;
    const rank = x?.shape?.length;
    if (rank === undefined || axes === undefined || Boolean(v.node.attrs.keep_dims) !== keep) {
      return false;
    }
    const axis = integersOf(axes);
    return axis?.length === 1 && (axis[0] === -1 || axis[0] === rank - 1) && reduction(v, match);
  }, reduction.ops);
}

/** Returns the integers of an int32 constant; null for other values. */
export function integersOf({ node, dtype }: IrValue): readonly number[] | null {
  if (!isConstant(node) || dtype !== "int32") return null;
  return Array.from((node.attrs.value as NdArray).data as Int32Array);
}

function numberOf({ node, dtype }: IrValue): number | null {
  if (!isConstant(node) || dtype !== "float32") return null;
  const array = node.attrs.value as NdArray;
  // A rank above one may exceed the other operand's.
  if (array.size !== 1 || array.rank > 1) return null;
  const value = (array.data as Float32Array)[0];
  return Number.isFinite(value) ? value : null;
}

/** A pattern and its replacement: a node with inputs from the match, and the outputs after the first. */
export interface Rule {
  /** The op that it makes: without that, matches stay. */
  readonly makes: string;
  readonly pattern: Pattern;
  /** Returns null if the match must stay. */
  readonly replace: (match: Match, root: IrNode) => IrNode | null;
}

/** Returns the graph with all matches replaced; the first fitting rule applies. */
export function applyRules(ir: IrGraph, rules: readonly Rule[]): IrGraph {
  const { readers, held } = usesOf(ir);
  const taken = new Set<IrNode>();
  const joins: Joined[] = [], usable = rules.filter(({ makes }) => isLoaded(makes));
  const byOp = new Map<string, readonly Rule[]>();
  const rulesOf = (name: string): readonly Rule[] => {
    let found = byOp.get(name);
    if (found === undefined) {
      byOp.set(name, found = usable.filter(({ pattern: { ops } }) => ops?.includes(name) ?? true));
    }
    return found;
  };
  const isApart = (nodes: ReadonlySet<IrNode>, root: IrNode): boolean =>
    [...nodes].every((n) =>
      !taken.has(n) && n.device === root.device &&
      (n === root || !held.has(n) && readers.get(n)!.every((r) => nodes.has(r)))
    );
  for (const node of [...ir.nodes].reverse()) {
    if (taken.has(node) || node.outputs.length !== 1) continue;
    for (const { pattern, replace } of rulesOf(node.def.name)) {
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
