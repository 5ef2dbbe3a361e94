/**
 * Epilogues: a pointwise op that is the only reader of a product or convolution is computed where the sums are stored.
 */
import type { DType } from "../../core/dtype.ts";
import { type EpilogueOperand, withFusion } from "../../core/fusion.ts";
import { argument, castTo } from "../../core/scalar/expr.ts";
import { isConcrete, type PartialShape, sameShape } from "../../core/shape.ts";
import type { IrGraph, IrNode, IrValue } from "../ir.ts";
import { type Joined, joinNodes } from "./clusters.ts";
import {
  applied,
  isPointwise,
  MAX_BUFFERS,
  type PassTarget,
  takesEpilogue,
  usesOf,
} from "./pointwise_nodes.ts";

/** Returns the graph with pointwise readers fused into the products before them. */
export function fuseEpilogues(ir: IrGraph, target: PassTarget): IrGraph {
  const { readers, held } = usesOf(ir);
  const taken = new Set<IrNode>();
  const joins: Joined[] = [];
  for (const node of ir.nodes) {
    if (!isPointwise(node, target) || node.outputs.length !== 1) continue;
    const at = node.inputs.findIndex((v) =>
      isProduct(v.node) && readers.get(v.node)!.length === 1 && !held.has(v.node) &&
      !taken.has(v.node)
    );
    if (at < 0) continue;
    const per = accesses(node, at);
    if (per === null) continue;
    const product = node.inputs[at].node;
    taken.add(product);
    joins.push({
      members: [product, node],
      node: withEpilogue(product, node, per),
      outputs: node.outputs,
    });
  }
  return joins.length === 0 ? ir : joinNodes(ir, joins);
}

type Access = EpilogueOperand["per"];

function isFloat(dtype: DType): boolean {
  return dtype === "float32" || dtype === "float16";
}

function isProduct(node: IrNode): boolean {
  return takesEpilogue(node) && isFloat(node.outputs[0].dtype) &&
    node.controls.length === 0 && !node.outputs[0].promised;
}

/** Returns the access to each of the reader's other inputs, or null if one cannot be read. */
function accesses(reader: IrNode, at: number): Access[] | null {
  const product = reader.inputs[at];
  const out = reader.outputs[0];
  if (
    reader.device !== product.node.device || !isFloat(out.dtype) ||
    !sameShape(out.shape, product.shape)
  ) return null;
  const list = reader.inputs.filter((_, i) => i !== at).map((v) => access(v, out.shape));
  // The product has operands of its own and a result.
  const most = MAX_BUFFERS - 1 - product.node.inputs.length;
  return list.length > most || list.includes(null) ? null : list as Access[];
}

function access({ shape }: IrValue, out: PartialShape): Access | null {
  if (shape === null || out === null) return null;
  if (shape.every((d) => d === 1)) return "all";
  const columns = out.at(-1);
  if (
    columns !== null && shape.at(-1) === columns && shape.slice(0, -1).every((d) => d === 1)
  ) return "column";
  // With unknown extents, either may be broadcast to the other.
  return isConcrete(shape) && sameShape(shape, out) ? "element" : null;
}

function withEpilogue(product: IrNode, reader: IrNode, per: readonly Access[]): IrNode {
  const at = reader.inputs.findIndex((v) => v.node === product);
  const further = reader.inputs.filter((_, i) => i !== at), own = product.inputs.length;
  let next = 1;
  const { dtype } = product.outputs[0];
  const sum = dtype === "float16" ? castTo(argument(0), dtype) : argument(0);
  const args = reader.inputs.map((_, i) => (i === at ? sum : argument(next++)));
  const [expr] = applied(reader, args);
  const operands = further.map(({ dtype }, i): EpilogueOperand => ({
    dtype,
    buffer: { input: own + i },
    per: per[i],
  }));
  const epilogue = { expr, operands }, out = reader.outputs[0].dtype;
  // The product is the node that can fail: errors name it.
  return {
    ...product,
    attrs: withFusion(product.attrs, { own, prologue: null, epilogue, dtype: out }),
    inputs: [...product.inputs, ...further],
    controls: [],
    outputs: [],
  };
}
