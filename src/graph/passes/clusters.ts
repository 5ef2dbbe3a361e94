/**
 * Clusters: sets of nodes that become one node each, without making a cycle.
 * May import core and graph files.
 */
import { InternalError } from "../../core/errors.ts";
import type { IrGraph, IrNode, IrValue } from "../ir.ts";

/** A partition of a graph's nodes, at first one set each. */
export class Clusters {
  readonly #next = new Map<IrNode, IrNode[]>();
  readonly #setOf = new Map<IrNode, Set<IrNode>>();

  /** Every node by itself. */
  constructor({ nodes }: IrGraph) {
    for (const node of nodes) {
      this.#next.set(node, []);
      for (const v of node.inputs) this.#next.get(v.node)!.push(node);
      for (const c of node.controls) this.#next.get(c)!.push(node);
    }
  }

  /** The set that a node is in. */
  setOf(node: IrNode): ReadonlySet<IrNode> {
    return this.#setOf.get(node) ?? new Set([node]);
  }

  /** Unites the sets of two nodes; false, and nothing done, where a way from one to the other leads through a third. */
  unite(a: IrNode, b: IrNode): boolean {
    const union = new Set([...this.setOf(a), ...this.setOf(b)]);
    if (this.#comesBack(union)) return false;
    for (const node of union) this.#setOf.set(node, union);
    return true;
  }

  /** True where what leaves the set leads into it again. */
  #comesBack(set: ReadonlySet<IrNode>): boolean {
    const seen = new Set<IrNode>();
    const stack: IrNode[] = [];
    const enter = (node: IrNode): void => {
      if (seen.has(node)) return;
      for (const n of this.setOf(node)) {
        seen.add(n);
        stack.push(n);
      }
    };
    for (const node of set) for (const n of this.#next.get(node)!) if (!set.has(n)) enter(n);
    while (stack.length > 0) {
      for (const n of this.#next.get(stack.pop()!)!) {
        if (set.has(n)) return true;
        enter(n);
      }
    }
    return false;
  }
}

/** A cluster and the node that takes its place. */
export interface Joined {
  /** The nodes that go. */
  readonly members: Iterable<IrNode>;
  /** What comes instead: its inputs are values of the old graph, its outputs are left empty. */
  readonly node: IrNode;
  /** The members' values that are its outputs, in order. Nobody may read the others any more. */
  readonly outputs: readonly IrValue[];
}

/** Copies `ir` with clusters replaced, in an order in which everything can stand. Throws `InternalError` where there is none. */
export function joinNodes(ir: IrGraph, joins: readonly Joined[]): IrGraph {
  const joinOf = new Map<IrNode, Joined>();
  for (const join of joins) for (const m of join.members) joinOf.set(m, join);
  // What waits for its inputs: meeting it again is a cycle, which would be walked forever.
  const waiting = new Set<IrNode | Joined>();
  const copies = new Map<IrNode | Joined, IrNode>();
  const values = new Map<IrValue, IrValue>();
  const out: IrNode[] = [];
  const unitOf = (node: IrNode): IrNode | Joined => joinOf.get(node) ?? node;
  const templateOf = (unit: IrNode | Joined): IrNode => "members" in unit ? unit.node : unit;
  const place = (root: IrNode): void => {
    const stack: [IrNode | Joined, boolean][] = [[unitOf(root), false]];
    while (stack.length > 0) {
      const [unit, ready] = stack.pop()!;
      if (copies.has(unit)) continue;
      const { inputs, controls, ...rest } = templateOf(unit);
      if (!ready) {
        if (waiting.has(unit)) {
          throw new InternalError(`Cannot join nodes: "${templateOf(unit).name}" needs itself`);
        }
        waiting.add(unit);
        stack.push([unit, true]);
        for (const n of [...inputs.map((v) => v.node), ...controls]) {
          if (!copies.has(unitOf(n))) stack.push([unitOf(n), false]);
        }
        continue;
      }
      const copy: IrNode = {
        ...rest,
        inputs: inputs.map((v) => values.get(v)!),
        controls: [...new Set(controls.map((c) => copies.get(unitOf(c))!))],
        outputs: [],
      };
      unit.outputs.forEach((v, index) => {
        const w: IrValue = { ...v, node: copy, index };
        copy.outputs.push(w);
        values.set(v, w);
      });
      copies.set(unit, copy);
      out.push(copy);
    }
  };
  // A cluster stands where its last member did, unless it is needed before.
  const last = new Map(ir.nodes.map((n) => [unitOf(n), n]));
  for (const node of ir.nodes) if (last.get(unitOf(node)) === node) place(node);
  return {
    nodes: out,
    fetches: ir.fetches.map((v) => values.get(v)!),
    targets: [...new Set(ir.targets.map((n) => copies.get(unitOf(n))!))],
  };
}
