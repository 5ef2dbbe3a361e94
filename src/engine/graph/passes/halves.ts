/**
 * Halves: products of float32 whose matrix is a float16 that was cast read it as it is stored, at half the bytes and without a
 * copy in float32.
 */
import type { IrGraph, IrNode, IrValue } from "../ir.ts";
import { addedNode, halfOf, isLoaded } from "./added.ts";
import type { Joined } from "./clusters.ts";
import { mayJoin } from "./cse.ts";
import { joined, type PassTarget, takesEpilogue, withoutUnused } from "./pointwise_nodes.ts";

const PRODUCT = "_HalfMatMul";

/** Returns the graph with products that read float16 beside float32. */
export function readHalves(ir: IrGraph, target: PassTarget): IrGraph {
  if (target !== "GPU" || !isLoaded(PRODUCT)) return ir;
  const joins: Joined[] = [];
  for (const node of ir.nodes) {
    const half = halfRead(node);
    if (half !== null) joins.push(join(node, half));
  }
  return joins.length === 0 ? ir : withoutUnused(joined(ir, joins));
}

/** Finds the casts of matrices that products shall read as they are stored, where these are all of their readers. */
export function keptHalves(ir: IrGraph, target: PassTarget): ReadonlySet<IrNode> {
  const kept = new Set<IrNode>(), others = new Set<IrNode>(ir.fetches.map((v) => v.node));
  if (target !== "GPU" || !isLoaded(PRODUCT)) return kept;
  for (const node of ir.nodes) {
    const half = halfRead(node);
    if (half !== null) kept.add(node.inputs[1].node);
    node.inputs.forEach((v, i) => {
      if (half === null || i !== 1) others.add(v.node);
    });
  }
  for (const node of others) kept.delete(node);
  return kept;
}

/** Returns the float16 that a product on a GPU may read in the place of its cast; null where there is none. */
function halfRead(node: IrNode): IrValue | null {
  const { def: { meaning }, inputs: [a, b, ...more], device } = node;
  const isProduct = meaning.kind === "product" && meaning.of === undefined &&
    meaning.asFused === undefined && more.length === 0 && !device.includes("CPU");
  if (!isProduct || !takesEpilogue(node) || !mayJoin(node) || a.dtype !== "float32") return null;
  const half = halfOf(b), cast = b.node;
  return half === b || cast.device !== device || !mayJoin(cast) ? null : half;
}

function join(product: IrNode, half: IrValue): Joined {
  const { transpose_a, transpose_b, adj_x, adj_y } = product.attrs;
  const node = addedNode(product, PRODUCT, [product.inputs[0], half], {
    T: "float32",
    Tb: "float16",
    adj_x: Boolean(transpose_a ?? adj_x),
    adj_y: Boolean(transpose_b ?? adj_y),
  });
  return { members: [product], node, outputs: product.outputs };
}
