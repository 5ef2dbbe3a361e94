/**
 * Writes of products: where columns of a product of one row go to a row of a variable, as keys and values of a token go to where they
 * are kept, the product writes them there itself.
 */
import { fusionOf, type RowWrite, withFusion } from "../../core/fusion.ts";
import { argument, castTo } from "../../core/scalar/expr.ts";
import { isConcrete, sizeOf } from "../../core/shape.ts";
import type { IrGraph, IrNode, IrValue } from "../ir.ts";
import { addedNode, isLoaded } from "./added.ts";
import { Clusters, type Joined } from "./clusters.ts";
import { mayJoin } from "./cse.ts";
import { joined, MAX_BUFFERS, type PassTarget, withoutUnused } from "./pointwise_nodes.ts";
import { grouped, viewsOf } from "./strides.ts";

const SCATTER = "ResourceScatterUpdate", PRODUCT = "_ProductWrite";

/** A product, what writes columns of it, and the first of these columns. */
interface Pair {
  readonly product: IrNode;
  readonly scatter: IrNode;
  readonly from: number;
}

/** Returns the graph with products that write to variables. */
export function writeFromProducts(ir: IrGraph, target: PassTarget): IrGraph {
  if (target !== "GPU" || !isLoaded(PRODUCT)) return ir;
  const pairs = new Map<IrNode, Pair>();
  for (const node of ir.nodes) {
    const pair = node.def.name === SCATTER ? pairOf(node) : null;
    if (pair !== null && !pairs.has(pair.product)) pairs.set(pair.product, pair);
  }
  let list = [...pairs.values()];
  while (list.length > 0) {
    const made = shortened(ir, list), clusters = new Clusters(made.graph);
    const fitting = made.pairs.map(({ product, scatter }) => clusters.unite(product, scatter));
    if (fitting.every(Boolean)) return withoutUnused(joined(made.graph, made.pairs.map(join)));
    list = list.filter((_, i) => fitting[i]);
  }
  return ir;
}

/** Returns the product that a scatter of one row writes columns of; null where it writes something else. */
function pairOf(scatter: IrNode): Pair | null {
  const { inputs: [, index, updates], attrs: { _shape: shape } } = scatter;
  const isOne = index.dtype === "int32" && isConcrete(index.shape) && sizeOf(index.shape) === 1;
  if (!isOne || !isConcrete(updates.shape) || !isConcrete(shape) || shape.length === 0) return null;
  const width = sizeOf(shape.slice(1));
  if (width === 0 || sizeOf(updates.shape) !== width) return null;
  const [{ base, offset, axes, scale }] = viewsOf(updates, scatter.device);
  const lines = grouped(axes, [width]), isRun = lines?.[0].length === 1 && lines[0][0].step === 1;
  const isRow = isConcrete(base.shape) && sizeOf(base.shape) === base.shape.at(-1);
  const fits = isRow && scale === 1 && isRun && mayWrite(base, scatter);
  return fits ? { product: base.node, scatter, from: offset } : null;
}

function mayWrite({ node, dtype }: IrValue, scatter: IrNode): boolean {
  const { def: { meaning }, inputs } = node;
  return meaning.kind === "product" && meaning.asFused === undefined &&
    dtype === scatter.attrs.dtype && (dtype === "float32" || dtype === "float16") &&
    mayJoin(node) && node.device === scatter.device && inputs.length + 3 <= MAX_BUFFERS;
}

/** Copies a graph so that scatters read their products, and not views of them. */
function shortened(ir: IrGraph, pairs: readonly Pair[]): { graph: IrGraph; pairs: Pair[] } {
  const copies = new Map(pairs.map((pair) => [{ ...pair.scatter.attrs }, pair]));
  const joins = [...copies].map(([attrs, { product, scatter }]): Joined => {
    const [handle, index] = scatter.inputs, inputs = [handle, index, product.outputs[0]];
    return { members: [scatter], node: { ...scatter, inputs, attrs, outputs: [] }, outputs: [] };
  });
  const graph = joined(ir, joins);
  const made = new Map(graph.nodes.map((node) => [node.attrs, node]));
  const both = [...copies].map(([attrs, { from }]): Pair => {
    const scatter = made.get(attrs)!;
    return { product: scatter.inputs[2].node, scatter, from };
  });
  return { graph, pairs: both };
}

function join({ product, scatter, from }: Pair): Joined {
  const { def, inputs, attrs, outputs: [out] } = product, [handle, index] = scatter.inputs;
  const { _shape: [rows, ...row] } = scatter.attrs, { dtype } = out, count = inputs.length;
  const own = fusionOf(attrs) ??
    { own: count, prologue: null, epilogue: null, dtype };
  const write: RowWrite = {
    ...{ from, rows, width: sizeOf(row) },
    ...{ index: { input: count }, into: { input: count + 1 } },
  };
  const alone = { expr: castTo(argument(0), dtype), operands: [] };
  const writing = withFusion(attrs, { ...own, epilogue: { ...own.epilogue ?? alone, write } });
  // Passes keep effects by the operation that they come from, and errors name the product.
  const node = addedNode(scatter, PRODUCT, [handle, index, ...inputs], {
    T: dtype,
    Tin: inputs.map((v) => v.dtype),
    shape: out.shape,
    form: { def, alone: attrs, writing },
  });
  return {
    members: [product, scatter],
    node: { ...node, name: product.name },
    outputs: product.outputs,
  };
}
