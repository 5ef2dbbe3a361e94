/**
 * Rewriting a plan's graph node by node: some are left out, some replaced, the rest copied.
 * May import graph files.
 */
import type { IrGraph, IrNode, IrValue } from "../ir.ts";

/**
 * Copies `ir` without `dropped`. `replace` may return another node with the same outputs in place of one; it finds inputs through
 * `valueOf`, and leaves `outputs` empty. Nobody but replacements may read what was dropped.
 */
export function replaceNodes(
  ir: IrGraph,
  dropped: ReadonlySet<IrNode>,
  replace: (node: IrNode, valueOf: (v: IrValue) => IrValue) => IrNode | null,
): IrGraph {
  const values = new Map<IrValue, IrValue>();
  const nodes = new Map<IrNode, IrNode>();
  const out: IrNode[] = [];
  const valueOf = (v: IrValue): IrValue => values.get(v)!;
  for (const node of ir.nodes) {
    if (dropped.has(node)) continue;
    const copy = replace(node, valueOf) ?? {
      ...node,
      inputs: node.inputs.map(valueOf),
      controls: node.controls.map((c) => nodes.get(c)!),
      outputs: [],
    };
    for (const v of node.outputs) {
      const w: IrValue = { ...v, node: copy };
      copy.outputs.push(w);
      values.set(v, w);
    }
    nodes.set(node, copy);
    out.push(copy);
  }
  return {
    nodes: out,
    fetches: ir.fetches.map(valueOf),
    targets: ir.targets.map((n) => nodes.get(n)!),
  };
}
