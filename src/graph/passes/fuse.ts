/**
 * Fusion: pointwise ops whose results are read by one other pointwise op only become part of it.
 * May import core and graph files.
 */
import { sameShape } from "../../core/shape.ts";
import type { IrGraph, IrNode, IrValue } from "../ir.ts";
import { joinNodes } from "./clusters.ts";
import {
  fusedNode,
  heldNodes,
  isPointwise,
  literal,
  MAX_BUFFERS,
  MAX_NODES,
  outside,
  readersOf,
  withoutUnused,
} from "./pointwise_nodes.ts";

/** A set of pointwise nodes that become one. */
interface Group {
  /** The node whose result leaves the group. */
  readonly root: IrNode;
  readonly members: Set<IrNode>;
  /** Values that come from outside. */
  readonly inputs: Set<IrValue>;
}

/** The graph with chains and trees of pointwise ops fused. */
export function fuse(ir: IrGraph): IrGraph {
  const readers = readersOf(ir), held = heldNodes(ir);
  const groupOf = new Map<IrNode, Group>();
  for (let i = ir.nodes.length - 1; i >= 0; i--) {
    const node = ir.nodes[i];
    if (!isPointwise(node) || node.outputs.length !== 1) continue;
    const group = held.has(node) ? null : groupToJoin(node, readers.get(node)!, groupOf);
    if (group) join(group, node, groupOf);
    else {
      const own: Group = { root: node, members: new Set([node]), inputs: new Set(outside(node)) };
      groupOf.set(node, own);
    }
  }
  const joins = [...new Set(groupOf.values())]
    .filter((g) => g.members.size > 1 || foldsConstants(g))
    .map(({ root, members }) => ({
      members,
      node: fusedNode(members, root.outputs),
      outputs: root.outputs,
    }));
  return joins.length === 0 ? ir : withoutUnused(joinNodes(ir, joins));
}

/** The one group that reads this node and nothing else does; null where there is none or it must stay apart. */
function groupToJoin(
  node: IrNode,
  readers: readonly IrNode[],
  groupOf: ReadonlyMap<IrNode, Group>,
): Group | null {
  const group = readers.length > 0 ? groupOf.get(readers[0]) : undefined;
  if (!group || readers.some((r) => groupOf.get(r) !== group)) return null;
  if (group.root.device !== node.device) return null;
  // Fusing a small value into a large one would compute it again for each element.
  if (!sameShape(node.outputs[0].shape, group.root.outputs[0].shape)) return null;
  const inputs = new Set([...group.inputs, ...outside(node)]);
  inputs.delete(node.outputs[0]);
  return inputs.size < MAX_BUFFERS && group.members.size < MAX_NODES / 4 ? group : null;
}

function join(group: Group, node: IrNode, groupOf: Map<IrNode, Group>): void {
  group.members.add(node);
  group.inputs.delete(node.outputs[0]);
  for (const v of outside(node)) group.inputs.add(v);
  groupOf.set(node, group);
}

function foldsConstants(group: Group): boolean {
  return group.root.inputs.some((v) => literal(v) !== null) && group.inputs.size > 0;
}
