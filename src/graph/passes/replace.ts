/**
 * A copy of a plan's graph in which some values are taken from elsewhere; nodes that nobody needs any more are left out.
 * May import graph files.
 */
import type { IrGraph, IrNode, IrValue } from "../ir.ts";

/**
 * Copies `ir` with each key of `values` replaced. A replacement is a value of an earlier node of `ir`, or of a node in `added`,
 * which has no inputs. `nodes` says which node control edges mean instead; null: none.
 */
export function replaceValues(
  ir: IrGraph,
  values: ReadonlyMap<IrValue, IrValue>,
  nodes: ReadonlyMap<IrNode, IrNode | null>,
  added: readonly IrNode[] = [],
): IrGraph {
  const valueOf = (v: IrValue): IrValue => values.get(v) ?? v;
  const nodeOf = (n: IrNode): IrNode | null => {
    const other = nodes.get(n);
    return other === undefined ? n : other;
  };
  const needed = new Set<IrNode>();
  for (const v of ir.fetches) needed.add(valueOf(v).node);
  for (const n of ir.targets) keep(needed, nodeOf(n));
  for (let i = ir.nodes.length - 1; i >= 0; i--) {
    const node = ir.nodes[i];
    if (node.feed >= 0) needed.add(node);
    if (!needed.has(node)) continue;
    for (const v of node.inputs) needed.add(valueOf(v).node);
    for (const c of node.controls) keep(needed, nodeOf(c));
  }
  const copies = new Map<IrNode, IrNode>();
  const copyOf = (v: IrValue): IrValue => {
    const { node, index } = valueOf(v);
    return copies.get(node)!.outputs[index];
  };
  const out: IrNode[] = [];
  for (const node of [...added, ...ir.nodes]) {
    if (!needed.has(node)) continue;
    const controls = new Set<IrNode>();
    for (const c of node.controls) {
      const other = nodeOf(c);
      if (other) controls.add(copies.get(other)!);
    }
    const copy: IrNode = {
      ...node,
      inputs: node.inputs.map(copyOf),
      controls: [...controls],
      outputs: [],
    };
    for (const v of node.outputs) copy.outputs.push({ ...v, node: copy });
    copies.set(node, copy);
    out.push(copy);
  }
  return {
    nodes: out,
    fetches: ir.fetches.map(copyOf),
    targets: ir.targets.flatMap((n) => {
      const other = nodeOf(n);
      return other ? [copies.get(other)!] : [];
    }),
  };
}

function keep(set: Set<IrNode>, node: IrNode | null): void {
  if (node) set.add(node);
}
