/**
 * Epilogues: a pointwise op that is the only reader of a matrix product happens where the product is stored.
 * May import core and graph files.
 */
import { lookupOp } from "../../core/op.ts";
import { argument, type Expr, substitute } from "../../core/scalar.ts";
import { type PartialShape, sameShape } from "../../core/shape.ts";
import type { IrGraph, IrNode, IrValue } from "../ir.ts";
import { isPure } from "./cse.ts";
import { replaceNodes } from "./rewrite.ts";

/** Operands beside the two matrices: WebGPU promises eight storage buffers. */
const MAX_OPERANDS = 5;

/** The graph with pointwise readers moved into the matrix products before them. */
export function fuseEpilogues(ir: IrGraph): IrGraph {
  const readers = new Map<IrNode, number>();
  for (const node of ir.nodes) {
    for (const v of node.inputs) readers.set(v.node, (readers.get(v.node) ?? 0) + 1);
  }
  const held = new Set<IrNode>([...ir.fetches.map((v) => v.node), ...ir.targets]);
  for (const node of ir.nodes) for (const c of node.controls) held.add(c);
  const taken = new Map<IrNode, IrNode>();
  for (const node of ir.nodes) {
    if (
      node.def.pointwise === undefined || !isPure(node) || node.outputs.length !== 1 ||
      node.controls.length > 0
    ) continue;
    const at = node.inputs.findIndex((v) =>
      isProduct(v.node) && readers.get(v.node) === 1 && !held.has(v.node)
    );
    if (at < 0 || taken.has(node.inputs[at].node)) continue;
    if (accesses(node, at) !== null) taken.set(node.inputs[at].node, node);
  }
  if (taken.size === 0) return ir;
  const products = new Map([...taken].map(([product, reader]) => [reader, product]));
  return replaceNodes(ir, new Set(taken.keys()), (node, valueOf) => {
    const product = products.get(node);
    return product ? withEpilogue(product, node, valueOf) : null;
  });
}

function isProduct(node: IrNode): boolean {
  return node.def.name === "MatMul" && node.outputs[0].dtype === "float32" &&
    node.controls.length === 0 &&
    !node.outputs[0].promised;
}

/** How the reader's other inputs are read, or null where one of them cannot be. */
function accesses(reader: IrNode, at: number): string[] | null {
  const product = reader.inputs[at];
  const out = reader.outputs[0];
  if (
    reader.device !== product.node.device || out.dtype !== "float32" ||
    !sameShape(out.shape, product.shape)
  ) return null;
  const list = reader.inputs.filter((_, i) => i !== at).map((v) => access(v, out.shape));
  return list.length > MAX_OPERANDS || list.includes(null) ? null : list as string[];
}

function access({ dtype, shape }: IrValue, out: PartialShape): string | null {
  if (
    shape === null || out === null || (dtype !== "float32" && dtype !== "int32" && dtype !== "bool")
  ) return null;
  if (shape.every((d) => d === 1)) return "all";
  const n = out[1];
  if (n !== null && shape.at(-1) === n && shape.slice(0, -1).every((d) => d === 1)) return "column";
  return sameShape(shape, out) ? "element" : null;
}

function withEpilogue(product: IrNode, reader: IrNode, valueOf: (v: IrValue) => IrValue): IrNode {
  const at = reader.inputs.findIndex((v) => v.node === product);
  const operands = reader.inputs.filter((_, i) => i !== at);
  let next = 1;
  const args: Expr[] = reader.inputs.map((_, i) => argument(i === at ? 0 : next++));
  const own = reader.def.pointwise!(reader.inputs.map((_, i) => argument(i)), reader.attrs);
  const { transpose_a, transpose_b } = product.attrs;
  return {
    ...reader,
    def: lookupOp("_MatMulEpilogue")!,
    attrs: {
      T: "float32",
      Toperand: operands.map((v) => v.dtype),
      transpose_a,
      transpose_b,
      expr: substitute(own, args),
      per: accesses(reader, at)!,
    },
    inputs: [...product.inputs, ...operands].map(valueOf),
    controls: [],
    outputs: [],
  };
}
