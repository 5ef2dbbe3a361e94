/**
 * Reductions: a pointwise op whose only readers are reductions is computed while they read, and a pointwise op that is
 * the only reader of a reduction is computed where its results are stored.
 */
import { type EpilogueOperand, withFusion } from "../../core/fusion.ts";
import { argument, type Expr, substitute } from "../../core/scalar/expr.ts";
import { isConcrete, sameShape } from "../../core/shape.ts";
import type { IrGraph, IrNode, IrValue } from "../ir.ts";
import type { Joined } from "./clusters.ts";
import { mayJoin } from "./cse.ts";
import { isColumnSum } from "./group.ts";
import {
  fusedNode,
  isPointwise,
  isReduction,
  joined,
  MAX_BUFFERS,
  mayBeCopied,
  outside,
  type Uses,
  usesOf,
} from "./pointwise_nodes.ts";

/** float16 stays apart: the reduced elements would not be rounded before. */
const WITHOUT_HALF = "CPU";

/** Returns the graph with pointwise ops fused into the reductions beside them. */
export function fuseReductions(ir: IrGraph): IrGraph {
  const uses = usesOf(ir);
  // Small sums are grouped: an op after such a sum stays apart.
  const groups = ir.nodes.filter(isColumnSum).length > 1;
  const taken = new Set<IrNode>();
  const joins: Joined[] = [];
  for (const node of ir.nodes) {
    if (!mayFuse(node)) continue;
    const before = taken.has(node.inputs[0].node) ? null : producerOf(node, uses);
    const isGrouped = before === null && groups && isColumnSum(node);
    const reader = isGrouped ? null : readerOf(node, before, uses);
    // A reader of two reductions can join only one of them.
    const after = reader !== null && taken.has(reader) ? null : reader;
    if (before === null && after === null) continue;
    if (after) taken.add(after);
    const members = [before, node, after].filter((n) => n !== null);
    const made = fusedReduction(node, before, after);
    joins.push({ members, node: made, outputs: (after ?? node).outputs });
  }
  return joined(ir, joins);
}

function mayFuse(node: IrNode): boolean {
  return isReduction(node) && mayJoin(node);
}

/** Returns the op whose elements are reduced, if it need not stand alone. */
function producerOf(node: IrNode, { readers, held }: Uses): IrNode | null {
  const producer = node.inputs[0].node;
  const list = readers.get(producer)!;
  const inputs = outside(producer);
  const fits = isPointwise(producer, WITHOUT_HALF) && producer.outputs.length === 1 &&
    !held.has(producer) && inputs.length > 0 && inputs.length < MAX_BUFFERS &&
    list.every((r) =>
      mayFuse(r) && r.device === producer.device && r.inputs[0].node === producer &&
      r.inputs[1].node !== producer
    );
  return fits && (list.length === 1 || isWorthCopies(producer, list.length)) ? producer : null;
}

/** True where `copies` reductions read no more than they would if the result were stored. */
function isWorthCopies(producer: IrNode, copies: number): boolean {
  if (!mayBeCopied(producer, copies)) return false;
  const shape = producer.outputs[0].shape;
  const large = outside(producer).filter((v) => sameShape(v.shape, shape)).length;
  return large * copies <= large + 1 + copies;
}

/** Returns the only reader of the results, if it can be computed as they are stored. */
function readerOf(node: IrNode, before: IrNode | null, { readers, held }: Uses): IrNode | null {
  const [reader, ...others] = readers.get(node)!;
  if (reader === undefined || others.length > 0 || held.has(node)) return null;
  const [result] = node.outputs, [out] = reader.outputs;
  if (
    !isPointwise(reader, WITHOUT_HALF) || reader.outputs.length !== 1 ||
    reader.device !== node.device || !sameShape(out.shape, result.shape) || result.dtype === "bool"
  ) return null;
  const further = furtherOf(reader, result);
  // Operands with unknown extents, or of higher rank, may broadcast the results.
  const fit = further.every(({ shape }) =>
    isConcrete(shape) && (sameShape(shape, out.shape) ||
      shape.every((d) => d === 1) && shape.length <= (result.shape?.length ?? 0))
  );
  const operands = before ? outside(before).length : 1;
  return fit && operands + further.length < MAX_BUFFERS ? reader : null;
}

/** Returns a reader's operands besides the result. */
function furtherOf(reader: IrNode, result: IrValue): IrValue[] {
  return [...new Set(outside(reader))].filter((v) => v !== result);
}

function fusedReduction(node: IrNode, before: IrNode | null, after: IrNode | null): IrNode {
  const [x, axes] = node.inputs, [result] = node.outputs;
  const source = before && fusedNode(new Set([before]), before.outputs);
  const [first, ...others] = source?.inputs ?? [x];
  const further = after ? furtherOf(after, result) : [];
  const own = node.inputs.length, from = own + others.length;
  const operands = further.map(({ dtype, shape }, i): EpilogueOperand => ({
    dtype,
    buffer: { input: from + i },
    per: shape!.every((d) => d === 1) ? "all" : "element",
  }));
  // The reduction is the node that can fail: errors name it.
  return {
    ...node,
    attrs: withFusion(node.attrs, {
      own,
      prologue: source &&
        { expr: source.attrs.exprs[0], inputs: [0, ...others.map((_, i) => own + i)] },
      epilogue: after && { expr: epilogueOf(after, [result, ...further]), operands },
      dtype: (after ?? node).outputs[0].dtype,
    }),
    inputs: [first, axes, ...others, ...further],
    outputs: [],
  };
}

/** Returns the expression of a reader over these values. */
function epilogueOf(reader: IrNode, values: readonly IrValue[]): Expr {
  const { inputs, attrs: { exprs } } = fusedNode(new Set([reader]), reader.outputs);
  return substitute(exprs[0], inputs.map((v) => argument(values.indexOf(v))));
}
