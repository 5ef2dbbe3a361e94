/**
 * Makes a plan's graph with some values replaced and unused nodes left out: nodes whose inputs stay are shared with it. The readers of a removed node inherit its
 * control edges, so that no effect is lost.
 */
import { addOutputLike, type IrGraph, type IrNode, type IrValue, nodeLike } from "../ir.ts";

/**
 * Returns `ir` without the nodes that are keys of `nodes`, and with each key of `values`, which are all their outputs,
 * replaced. A replacement is a value of an earlier node of `ir`, or of a node in `added`, which has no inputs. `nodes`
 * tells the replacement of each node in control edges; null: none.
 */
export function replaceValues(
  ir: IrGraph,
  values: ReadonlyMap<IrValue, IrValue>,
  nodes: ReadonlyMap<IrNode, IrNode | null>,
  added: readonly IrNode[] = [],
): IrGraph {
  const valueOf = (v: IrValue): IrValue => values.get(v) ?? v;
  const controls = controlsAfter(ir, nodes);
  const targets = new Set<IrNode>();
  for (const n of ir.targets) for (const c of controls.instead(n)) targets.add(c);
  for (const v of ir.fetches) for (const c of controls.behind(v.node)) targets.add(c);
  const needed = new Set<IrNode>(targets);
  for (const v of ir.fetches) needed.add(valueOf(v).node);
  for (let i = ir.nodes.length - 1; i >= 0; i--) {
    const node = ir.nodes[i];
    if (node.feed >= 0) needed.add(node);
    if (!needed.has(node)) continue;
    for (const v of node.inputs) needed.add(valueOf(v).node);
    for (const c of controls.of(node)) needed.add(c);
  }
  // Copies of nodes with other inputs or control edges.
  const copies = new Map<IrNode, IrNode>();
  const nodeOf = (n: IrNode): IrNode => copies.get(n) ?? n;
  const copyOf = (v: IrValue): IrValue => {
    const value = valueOf(v), copy = copies.get(value.node);
    return copy === undefined ? value : copy.outputs[value.index];
  };
  const out: IrNode[] = added.filter((node) => needed.has(node));
  for (const node of ir.nodes) {
    if (!needed.has(node)) continue;
    const waits = controls.of(node);
    const stays = waits === node.controls && !waits.some((c) => copies.has(c)) &&
      !node.inputs.some((v) => values.has(v) || copies.has(v.node));
    if (stays) {
      out.push(node);
      continue;
    }
    const copy = nodeLike(node, node.inputs.map(copyOf), waits.map(nodeOf));
    for (const v of node.outputs) addOutputLike(copy, v);
    copies.set(node, copy);
    out.push(copy);
  }
  return { nodes: out, fetches: ir.fetches.map(copyOf), targets: [...targets].map(nodeOf) };
}

const NONE: readonly IrNode[] = [];

/** Rewrites the control edges of a graph without removed nodes. */
function controlsAfter(ir: IrGraph, nodes: ReadonlyMap<IrNode, IrNode | null>) {
  const changed = new Map<IrNode, readonly IrNode[]>();
  /** Returns the control edges of a remaining node. */
  const of = (node: IrNode): readonly IrNode[] => changed.get(node) ?? node.controls;
  /** Returns the control edges of a removed node that its replacement lacks. */
  const behind = (node: IrNode): readonly IrNode[] => nodes.has(node) ? of(node) : NONE;
  /** Returns the nodes to wait for in place of a node. */
  const instead = (node: IrNode): readonly IrNode[] => {
    const other = nodes.get(node);
    return other === undefined ? [node] : other === null ? of(node) : [other, ...of(node)];
  };
  for (const node of ir.nodes) {
    const isTouched = nodes.has(node) || node.controls.some((c) => nodes.has(c)) ||
      node.inputs.some((v) => behind(v.node).length > 0);
    if (!isTouched) continue;
    const list = new Set(node.controls.flatMap(instead));
    for (const v of node.inputs) for (const c of behind(v.node)) list.add(c);
    // Replacements may have common control edges.
    const other = nodes.get(node);
    if (other) { for (const c of of(other)) list.delete(c); }
    changed.set(node, [...list]);
  }
  return { of, behind, instead };
}
