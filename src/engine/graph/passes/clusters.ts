/** Clusters: sets of nodes that are replaced by one node each, without cycles. */
import { InternalError } from "../../core/errors.ts";
import { addOutputLike, type IrGraph, type IrNode, type IrValue, nodeLike } from "../ir.ts";

/** Nodes to be replaced by one, and their place in a valid order. */
interface Unit {
  readonly members: Set<IrNode>;
  at: number;
}

/** A partition of a graph's nodes, initially one set each. */
export class Clusters {
  readonly #next = new Map<IrNode, IrNode[]>();
  readonly #unitOf = new Map<IrNode, Unit>();
  /** Units in order; null for one that was united with another. */
  readonly #order: (Unit | null)[];

  constructor({ nodes }: IrGraph) {
    this.#order = nodes.map((node, at) => {
      const unit = { members: new Set([node]), at };
      this.#unitOf.set(node, unit);
      this.#next.set(node, []);
      for (const v of node.inputs) this.#next.get(v.node)!.push(node);
      for (const c of node.controls) this.#next.get(c)!.push(node);
      return unit;
    });
  }

  setOf(node: IrNode): ReadonlySet<IrNode> {
    return this.#unitOf.get(node)!.members;
  }

  /**
   * Unites the units of two nodes; returns false, unchanged, if a path between them leads through a third unit, or with
   * `apart` if there is any path.
   */
  unite(a: IrNode, b: IrNode, apart = false): boolean {
    const one = this.#unitOf.get(a)!, other = this.#unitOf.get(b)!;
    if (one === other) return true;
    const [first, last] = one.at < other.at ? [one, other] : [other, one];
    const after = this.#between(first, last, apart);
    if (after === null) return false;
    const [into, gone] = first.members.size < last.members.size ? [last, first] : [first, last];
    for (const node of gone.members) {
      into.members.add(node);
      this.#unitOf.set(node, into);
    }
    this.#reorder(first.at, last.at, into, after);
    return true;
  }

  /** Returns the units between the two that need the first; null if they must not be united. */
  #between(first: Unit, last: Unit, apart: boolean): ReadonlySet<Unit> | null {
    const found = new Set<Unit>(), stack = [first];
    while (stack.length > 0) {
      const unit = stack.pop()!;
      for (const member of unit.members) {
        for (const node of this.#next.get(member)!) {
          const next = this.#unitOf.get(node)!;
          if (next === last) {
            if (unit !== first || apart) return null;
          } else if (next !== first && next.at < last.at && !found.has(next)) {
            found.add(next);
            stack.push(next);
          }
        }
      }
    }
    return found;
  }

  /** Moves a union between the units that do not need it and those that do. */
  #reorder(from: number, to: number, union: Unit, after: ReadonlySet<Unit>): void {
    const between = this.#order.slice(from + 1, to).filter((u) => u !== null);
    const places = [
      ...between.filter((u) => !after.has(u)),
      union,
      ...between.filter((u) => after.has(u)),
    ];
    for (let at = from; at <= to; at++) {
      const unit = places[at - from] ?? null;
      this.#order[at] = unit;
      if (unit) unit.at = at;
    }
  }
}

/** A cluster and its replacement. */
export interface Joined {
  /** The replaced nodes. */
  readonly members: Iterable<IrNode>;
  /**
   * The replacement: its inputs are values of the old graph, its outputs are empty. It also has all the members'
   * control edges.
   */
  readonly node: IrNode;
  /** The members' values that become its outputs, in order. No other node may read the others. */
  readonly outputs: readonly IrValue[];
}

/** Joins of which none reads a value that another computes within itself: views let a join read what lies before its neighbour's result. */
export class SeparateJoins {
  readonly #inner = new Set<IrValue>();
  readonly #read = new Set<IrValue>();

  /** Adds joins that belong together; false where they cannot stand beside those that are there. */
  add(joins: readonly Joined[]): boolean {
    const outputs = new Set(joins.flatMap((join) => join.outputs));
    const inner = joins.flatMap(({ members }) => [...members].flatMap((n) => n.outputs))
      .filter((v) => !outputs.has(v));
    const read = joins.flatMap(({ node }) => node.inputs), own = new Set(inner);
    if (inner.some((v) => this.#read.has(v))) return false;
    if (read.some((v) => own.has(v) || this.#inner.has(v))) return false;
    for (const v of inner) this.#inner.add(v);
    for (const v of read) this.#read.add(v);
    return true;
  }
}

/** Returns the nodes that a cluster's members wait for. */
function waitsOfJoined({ members, node }: Joined): IrNode[] {
  const inside = new Set(members), waits = new Set(node.controls);
  for (const member of inside) for (const c of member.controls) waits.add(c);
  return [...waits].filter((c) => !inside.has(c));
}

/**
 * Returns `ir` with clusters replaced, in a valid order; nodes whose inputs stay are not copied. Throws `InternalError` if
 * there is no order.
 */
export function joinNodes(ir: IrGraph, joins: readonly Joined[]): IrGraph {
  const joinOf = new Map<IrNode, Joined>();
  for (const join of joins) for (const m of join.members) joinOf.set(m, join);
  // Nodes whose inputs are being visited: meeting one again is a cycle, which would never end.
  const waiting = new Set<IrNode | Joined>();
  const placed = new Map<IrNode | Joined, IrNode>();
  /** Values of copies and of replacements. */
  const values = new Map<IrValue, IrValue>();
  const out: IrNode[] = [];
  const unitOf = (node: IrNode): IrNode | Joined => joinOf.get(node) ?? node;
  const valueOf = (v: IrValue): IrValue => values.get(v) ?? v;
  const isPlaced = (node: IrNode): boolean => placed.has(unitOf(node));
  const put = (unit: IrNode | Joined, node: IrNode): void => {
    placed.set(unit, node);
    out.push(node);
  };
  const place = (root: IrNode): void => {
    const stack = [unitOf(root)];
    while (stack.length > 0) {
      const unit = stack[stack.length - 1];
      if (placed.has(unit)) {
        stack.pop();
        continue;
      }
      const isJoin = "members" in unit, template = isJoin ? unit.node : unit, { inputs } = template;
      const controls = isJoin ? waitsOfJoined(unit) : unit.controls;
      const before = stack.length;
      for (const v of inputs) if (!isPlaced(v.node)) stack.push(unitOf(v.node));
      for (const c of controls) if (!isPlaced(c)) stack.push(unitOf(c));
      if (stack.length > before) {
        if (waiting.has(unit)) {
          throw new InternalError(`Cannot join nodes: "${template.name}" needs itself`);
        }
        waiting.add(unit);
        continue;
      }
      stack.pop();
      const stays = !isJoin && !inputs.some((v) => values.has(v)) &&
        controls.every((c) => placed.get(c) === c);
      if (stays) {
        put(unit, unit);
        continue;
      }
      const copy = nodeLike(
        template,
        inputs.map(valueOf),
        controls.length === 0 ? [] : [...new Set(controls.map((c) => placed.get(unitOf(c))!))],
      );
      for (const v of unit.outputs) values.set(v, addOutputLike(copy, v));
      put(unit, copy);
    }
  };
  // A cluster stands at its last member, unless it is needed before.
  const last = new Map<Joined, IrNode>();
  for (const node of ir.nodes) {
    const join = joinOf.get(node);
    if (join !== undefined) last.set(join, node);
  }
  for (const node of ir.nodes) {
    const join = joinOf.get(node);
    if (join === undefined || last.get(join) === node) place(node);
  }
  return {
    nodes: out,
    fetches: ir.fetches.map(valueOf),
    targets: [...new Set(ir.targets.map((n) => placed.get(unitOf(n))!))],
  };
}
