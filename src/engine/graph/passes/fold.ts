/** Folding: pure nodes with constant inputs become constants. The caller computes the nodes. */
import type { NdArray } from "../../core/nd_array.ts";
import { compatible } from "../../core/shape.ts";
import { type IrGraph, type IrNode, type IrValue, isConstant } from "../ir.ts";
import { constantNode } from "./added.ts";
import { isPure, runsScript } from "./cse.ts";
import { replaceValues } from "./replace.ts";

/** Computes a node: one array per output, or null if it is not to be folded. */
export type Evaluate = (
  node: IrNode,
  inputs: readonly NdArray[],
) => readonly NdArray[] | null | Promise<readonly NdArray[] | null>;

/**
 * Returns the graph with constants in place of constant computations; a promise if an evaluation must be awaited.
 * Independent evaluations overlap. Throws (or rejects with) the errors of `evaluate`.
 */
export function fold(ir: IrGraph, evaluate: Evaluate): IrGraph | Promise<IrGraph> {
  const known = new Map<IrValue, NdArray>();
  const folded = new Map<IrNode, readonly NdArray[]>();
  let waiting: IrNode[] = [];
  for (const node of ir.nodes) {
    if (isConstant(node)) known.set(node.outputs[0], node.attrs.value);
    else if (isPure(node) && !(runsScript(node.def) && node.controls.length > 0)) {
      if (node.outputs.length > 0) waiting.push(node);
    }
  }
  const keep = (node: IrNode, results: readonly NdArray[] | null): void => {
    if (!results || !node.outputs.every((v, i) => compatible(v.shape, results[i].shape))) return;
    folded.set(node, results);
    node.outputs.forEach((v, i) => known.set(v, results[i]));
  };
  const advance = (): IrGraph | Promise<IrGraph> => {
    const pending: Promise<void>[] = [];
    const later: IrNode[] = [];
    for (const node of waiting) {
      if (!node.inputs.every((v) => known.has(v))) {
        later.push(node);
        continue;
      }
      const results = evaluate(node, node.inputs.map((v) => known.get(v)!));
      if (results instanceof Promise) pending.push(results.then((r) => keep(node, r)));
      else keep(node, results);
    }
    if (pending.length === 0) return folded.size === 0 ? ir : replaceFolded(ir, folded);
    waiting = later;
    return Promise.all(pending).then(advance);
  };
  return advance();
}

function replaceFolded(ir: IrGraph, folded: ReadonlyMap<IrNode, readonly NdArray[]>): IrGraph {
  const values = new Map<IrValue, IrValue>();
  const nodes = new Map<IrNode, null>();
  const added: IrNode[] = [];
  for (const [node, results] of folded) {
    nodes.set(node, null);
    node.outputs.forEach((v, i) => {
      const constant = constantNode(node, results[i]);
      added.push(constant.node);
      values.set(v, constant);
    });
  }
  return replaceValues(ir, values, nodes, added);
}
