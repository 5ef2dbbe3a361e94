/**
 * Norms: products that read a layer normalization of few rows normalize these themselves, where a dispatch costs more than
 * doing that in each workgroup.
 */
import { isConcrete, sizeOf } from "../../core/shape.ts";
import type { IrGraph, IrNode } from "../ir.ts";
import { addedNode, addedValue, isLoaded } from "./added.ts";
import type { Joined } from "./clusters.ts";
import { mayJoin } from "./cse.ts";
import {
  joined,
  type PassTarget,
  takesEpilogue,
  type Uses,
  usesOf,
  withoutUnused,
} from "./pointwise_nodes.ts";

const NORM = "_LayerNorm", PRODUCT = "_NormMatMul";
/** Most rows: each workgroup finds the statistics of all. */
const MAX_ROWS = 4;
/** Most columns of a product: with more, workgroups are so many that their statistics cost more than a dispatch. */
const MAX_COLUMNS = 16384;
/** Most products that normalize the same rows. */
const MAX_PRODUCTS = 3;

/** Returns the graph with products that normalize their rows themselves. */
export function normalizeInProducts(ir: IrGraph, target: PassTarget): IrGraph {
  if (target !== "GPU" || !isLoaded(PRODUCT)) return ir;
  const uses = usesOf(ir), joins: Joined[] = [];
  for (const norm of ir.nodes) {
    if (norm.def.name !== NORM || !mayJoin(norm)) continue;
    const products = readersOf(norm, uses);
    if (products === null || products.length > MAX_PRODUCTS) continue;
    if (products.every((p) => mayNormalize(p, norm))) {
      joins.push(...products.map((p) => join(p, norm)));
    }
  }
  return joins.length === 0 ? ir : withoutUnused(joined(ir, joins));
}

/** A product that reads normalized rows, perhaps through a view. */
interface Reader {
  readonly product: IrNode;
  readonly view: IrNode | null;
}

/** Returns what reads normalized rows; null where the rows are fetched or waited for. */
function readersOf(norm: IrNode, { readers, held }: Uses): Reader[] | null {
  const list = readers.get(norm)!.flatMap((node): (Reader | null)[] => {
    if (node.def.meaning.kind !== "view") return [{ product: node, view: null }];
    const isOpen = held.has(node) || !mayJoin(node) || node.outputs.length !== 1 ||
      node.inputs.slice(1).some((v) => v.node === norm);
    return isOpen ? [null] : readers.get(node)!.map((product) => ({ product, view: node }));
  });
  return held.has(norm) || list.length === 0 || list.includes(null) ? null : list as Reader[];
}

/** True for a product of normalized rows with one matrix. */
function mayNormalize({ product, view }: Reader, norm: IrNode): boolean {
  const { def: { meaning }, attrs, inputs: [a, b, ...more], outputs: [out], device } = product;
  const isProduct = meaning.kind === "product" && meaning.of !== "normed" &&
    meaning.asFused === undefined && more.length === 0;
  if (!isProduct || !takesEpilogue(product) || !mayJoin(product) || device !== norm.device) {
    return false;
  }
  const rows = view ?? norm, isTurned = Boolean(attrs.transpose_a ?? attrs.adj_x);
  const isFloat = out.dtype === "float32" || out.dtype === "float16";
  if (isTurned || !isFloat || a.node !== rows || b.node === rows) return false;
  if (!isConcrete(out.shape) || !isConcrete(b.shape) || b.shape.length !== 2) return false;
  // A view keeps the columns.
  const count = sizeOf(out.shape.slice(0, -1));
  return norm.outputs[0].shape?.at(-1) === a.shape?.at(-1) && b.shape[0] > 0 &&
    count > 0 && count <= MAX_ROWS && out.shape.at(-1)! <= MAX_COLUMNS;
}

function join({ product, view }: Reader, { inputs: [x, ...rest], attrs, outputs }: IrNode): Joined {
  const { transpose_b, adj_y } = product.attrs;
  const rows = view ? addedValue(view, view.def.name, [x, ...view.inputs.slice(1)], view.attrs) : x;
  const node = addedNode(product, PRODUCT, [rows, ...rest, product.inputs[1]], {
    T: outputs[0].dtype,
    Tb: product.inputs[1].dtype,
    epsilon: attrs.epsilon,
    transpose_b: Boolean(transpose_b ?? adj_y),
  });
  return { members: [product], node, outputs: product.outputs };
}
