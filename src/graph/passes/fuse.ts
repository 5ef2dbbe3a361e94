/**
 * Fusion: pointwise ops whose results are read by one other pointwise op only become part of it.
 * May import core and graph files.
 */
import type { DType } from "../../core/dtype.ts";
import { lookupOp } from "../../core/op.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { argument, castTo, constant, type Expr, substitute } from "../../core/scalar.ts";
import { sameShape } from "../../core/shape.ts";
import type { IrGraph, IrNode, IrValue } from "../ir.ts";
import { isPure } from "./cse.ts";
import { replaceNodes } from "./rewrite.ts";

/** Inputs a fused op may have: WebGPU promises eight storage buffers, one is the output. */
const MAX_INPUTS = 7;
/** Expressions larger than this are left apart: printing and compiling them would cost more than they save. */
const MAX_NODES = 200;

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
  const readers = readersOf(ir);
  const held = new Set<IrNode>([...ir.fetches.map((v) => v.node), ...ir.targets]);
  for (const node of ir.nodes) for (const c of node.controls) held.add(c);
  const groupOf = new Map<IrNode, Group>();
  for (let i = ir.nodes.length - 1; i >= 0; i--) {
    const node = ir.nodes[i];
    if (!isFusible(node)) continue;
    const group = held.has(node) ? null : groupToJoin(node, readers, groupOf);
    if (group) join(group, node, groupOf);
    else {
      const own: Group = { root: node, members: new Set([node]), inputs: new Set(outside(node)) };
      groupOf.set(node, own);
    }
  }
  const groups = new Set(
    [...groupOf.values()].filter((g) => g.members.size > 1 || foldsConstants(g)),
  );
  return groups.size === 0 ? ir : rebuild(ir, groupOf, groups);
}

function readersOf(ir: IrGraph): Map<IrNode, IrNode[]> {
  const readers = new Map<IrNode, IrNode[]>();
  for (const node of ir.nodes) {
    for (const v of node.inputs) {
      const list = readers.get(v.node);
      if (list) list.push(node);
      else readers.set(v.node, [node]);
    }
  }
  return readers;
}

function isFusible(node: IrNode): boolean {
  return node.def.pointwise !== undefined && isPure(node) && node.controls.length === 0 &&
    node.outputs.length === 1 &&
    !node.outputs[0].promised && [...node.inputs, ...node.outputs].every((v) => isSimple(v.dtype));
}

/** Dtypes whose arithmetic every printer has. */
function isSimple(dtype: DType): boolean {
  return dtype === "float32" || dtype === "int32" || dtype === "uint32" || dtype === "bool";
}

/** The one group that reads this node and nothing else does; null where there is none or it must stay apart. */
function groupToJoin(
  node: IrNode,
  readers: ReadonlyMap<IrNode, IrNode[]>,
  groupOf: ReadonlyMap<IrNode, Group>,
): Group | null {
  const list = readers.get(node);
  if (!list) return null;
  const group = groupOf.get(list[0]);
  if (!group || list.some((r) => groupOf.get(r) !== group) || group.root.device !== node.device) {
    return null;
  }
  // Fusing a small value into a large one would compute it again for each element.
  if (!sameShape(node.outputs[0].shape, group.root.outputs[0].shape)) return null;
  const inputs = new Set([...group.inputs, ...outside(node)]);
  inputs.delete(node.outputs[0]);
  return inputs.size <= MAX_INPUTS && group.members.size < MAX_NODES / 4 ? group : null;
}

function join(group: Group, node: IrNode, groupOf: Map<IrNode, Group>): void {
  group.members.add(node);
  group.inputs.delete(node.outputs[0]);
  for (const v of outside(node)) group.inputs.add(v);
  groupOf.set(node, group);
}

/** Inputs that stay inputs: small constants become part of the expression. */
function outside(node: IrNode): IrValue[] {
  return node.inputs.filter((v) => literal(v) === null);
}

function foldsConstants(group: Group): boolean {
  return group.root.inputs.some((v) => literal(v) !== null) && group.inputs.size > 0;
}

/** A rank-0 constant as an expression, where every printer gives it the same value. */
function literal(v: IrValue): Expr | null {
  if (v.node.def.name !== "Const" || v.node.feed >= 0) return null;
  const array = v.node.attrs.value as NdArray;
  if (array.shape.length > 0 || (v.dtype !== "float32" && v.dtype !== "int32")) return null;
  const value = (array.data as Float32Array)[0];
  if (!Number.isFinite(value) || (v.dtype === "int32" && Math.abs(value) > 2 ** 23)) return null;
  return castTo(constant(value), v.dtype);
}

function rebuild(
  ir: IrGraph,
  groupOf: ReadonlyMap<IrNode, Group>,
  groups: ReadonlySet<Group>,
): IrGraph {
  const dropped = new Set<IrNode>();
  const fusedAt = new Map<IrNode, Group>();
  for (const [node, group] of groupOf) {
    if (!groups.has(group)) continue;
    if (group.root === node) fusedAt.set(node, group);
    else dropped.add(node);
  }
  return withoutUnused(replaceNodes(ir, dropped, (node, valueOf) => {
    const group = fusedAt.get(node);
    return group ? fusedNode(group, valueOf) : null;
  }));
}

/** Constants that became part of expressions need not be there any more. */
function withoutUnused(ir: IrGraph): IrGraph {
  const used = new Set<IrNode>([...ir.fetches.map((v) => v.node), ...ir.targets]);
  for (const node of ir.nodes) {
    for (const v of node.inputs) used.add(v.node);
    for (const c of node.controls) used.add(c);
  }
  return {
    ...ir,
    nodes: ir.nodes.filter((n) => n.def.name !== "Const" || n.feed >= 0 || used.has(n)),
  };
}

function fusedNode(group: Group, valueOf: (v: IrValue) => IrValue): IrNode {
  const { root } = group;
  const inputs = [...group.inputs];
  const exprs = new Map<IrValue, Expr>(inputs.map((v, i) => [v, argument(i)]));
  const exprOf = (v: IrValue): Expr => {
    let e = exprs.get(v) ?? literal(v);
    if (!e) {
      const { def, attrs } = v.node;
      const args = v.node.inputs.map((_, i) => argument(i));
      e = substitute(def.pointwise!(args, attrs), v.node.inputs.map(exprOf));
      exprs.set(v, e);
    }
    return e;
  };
  const expr = exprOf(root.outputs[0]);
  return {
    ...root,
    def: lookupOp("_FusedPointwise")!,
    attrs: {
      Tin: inputs.map((v) => v.dtype),
      Tout: [root.outputs[0].dtype],
      exprs: [expr],
    },
    inputs: inputs.map(valueOf),
    controls: [],
    outputs: [],
  };
}
