/**
 * Fusion: a pointwise op whose only reader is another pointwise op becomes part of it. A cheap op with several such
 * readers becomes part of each, where storing its result would cost more than computing it again.
 */
import { sameShape } from "../../core/shape.ts";
import type { IrGraph, IrNode, IrValue } from "../ir.ts";
import {
  fusedNode,
  isElementwise,
  joined,
  literal,
  MAX_BUFFERS,
  MAX_WORK,
  mayBeCopied,
  outside,
  type PassTarget,
  takesEpilogue,
  type Uses,
  usesOf,
  workOfNode,
} from "./pointwise_nodes.ts";

/** A set of pointwise nodes that become one. */
interface Group {
  /** The node whose result leaves the group. */
  readonly root: IrNode;
  readonly members: Set<IrNode>;
  /** Outer inputs. */
  readonly inputs: Set<IrValue>;
  /** Instructions per element. */
  work: number;
}

interface Context extends Uses {
  readonly groups: ReadonlyMap<IrNode, readonly Group[]>;
  readonly target: PassTarget;
}

/** Returns the graph with chains and trees of pointwise ops fused. */
export function fuse(ir: IrGraph, target: PassTarget): IrGraph {
  const groups = new Map<IrNode, Group[]>();
  const context: Context = { ...usesOf(ir), groups, target };
  for (let i = ir.nodes.length - 1; i >= 0; i--) {
    const node = ir.nodes[i];
    if (!isElementwise(node, target) || node.outputs.length !== 1) continue;
    const open = groupsToJoin(node, context);
    for (const group of open) join(group, node);
    groups.set(node, open.length > 0 ? open : [groupOf(node)]);
  }
  const joins = [...new Set([...groups.values()].flat())]
    .filter((g) => g.members.size > 1 || foldsConstants(g))
    .map(({ root, members }) => ({
      members,
      node: fusedNode(members, root.outputs),
      outputs: root.outputs,
    }));
  return joined(ir, joins);
}

function groupOf(node: IrNode): Group {
  const inputs = new Set(outside(node));
  return { root: node, members: new Set([node]), inputs, work: workOfNode(node) };
}

/** Returns the groups that are the only readers of this node and can take it in; none if it must stay apart. */
function groupsToJoin(node: IrNode, context: Context): Group[] {
  const { readers, held, groups } = context;
  const list = readers.get(node)!;
  if (held.has(node) || list.length === 0 || !list.every((r) => groups.has(r))) return [];
  const open = [...new Set(list.flatMap((r) => groups.get(r)!))];
  if (!open.every((g) => mayTake(g, node))) return [];
  return open.length === 1 || isWorthCopies(node, open, context) ? open : [];
}

function mayTake(group: Group, node: IrNode): boolean {
  const inputs = new Set([...group.inputs, ...outside(node)]);
  inputs.delete(node.outputs[0]);
  return group.root.device === node.device &&
    // Fusing a small value into a large one would compute it again for each element.
    sameShape(node.outputs[0].shape, group.root.outputs[0].shape) &&
    inputs.size < MAX_BUFFERS && group.work + workOfNode(node) <= MAX_WORK;
}

/** True where less memory is read and written if each group computes the node itself. */
function isWorthCopies(node: IrNode, groups: readonly Group[], context: Context): boolean {
  if (!mayBeCopied(node, groups.length)) return false;
  const large = outside(node).filter((v) => sameShape(v.shape, node.outputs[0].shape));
  // A value that is stored anyway saves nothing.
  const stored = large.every((v) =>
    context.held.has(v.node) || new Set(context.readers.get(v.node)).size > 1 ||
    !(isElementwise(v.node, context.target) || takesEpilogue(v.node))
  );
  const further = groups.flatMap((g) => large.filter((v) => !g.inputs.has(v)));
  return stored && further.length <= groups.length;
}

function join(group: Group, node: IrNode): void {
  group.members.add(node);
  group.work += workOfNode(node);
  group.inputs.delete(node.outputs[0]);
  for (const v of outside(node)) group.inputs.add(v);
}

function foldsConstants(group: Group): boolean {
  return group.root.inputs.some((v) => literal(v) !== null) && group.inputs.size > 0;
}
