/** Weights of nodes: an initialiser, or what the graph makes of one alone, as by dequantising or transposing it. */
import type { DType } from "../../engine/core/dtype.ts";
import type { GraphNode, OnnxGraph } from "../file/graph.ts";
import { dtypeOfNumber } from "../file/types.ts";

/** Kinds of nodes with a weight: x · W, rows of W, or images convolved by W. */
export type WeightKind = "product" | "rows" | "filter";

/** A node with its weight. */
export interface WeightedNode {
  readonly node: GraphNode;
  readonly kind: WeightKind;
  /** The initialiser from which the weight is made. */
  readonly root: string;
  /** The nodes that make the weight of it. */
  readonly makers: readonly GraphNode[];
  /** Shape as the node multiplies by it: `[in, out]`; of a filter `[out, in, …]`. */
  readonly shape: readonly number[];
  /** True where the weight is the initialiser itself, or its transpose. */
  readonly isPlain: boolean;
  /** True where the initialiser is the transpose. */
  readonly isTurned: boolean;
  /** Dtype of the node's result. */
  readonly dtype: DType;
  /** Factor of the product. */
  readonly alpha: number;
}

/** A tensor that is made of an initialiser alone. */
interface Chain extends Pick<WeightedNode, "root" | "makers" | "isPlain" | "isTurned" | "dtype"> {
  readonly shape: readonly number[];
}

/** Finds all nodes of a graph that multiply by a weight. */
export function weightedNodes(graph: OnnxGraph): WeightedNode[] {
  const maker = new Map(graph.nodes.flatMap((n) => n.outputs.map((o) => [o, n] as const)));
  return graph.nodes.flatMap((node) => {
    const found = weightOf(node, graph, maker);
    return found === null ? [] : [found];
  });
}

function weightOf(
  node: GraphNode,
  graph: OnnxGraph,
  maker: ReadonlyMap<string, GraphNode>,
): WeightedNode | null {
  const { attributes, domain, op } = node;
  const name = `${domain === "com.microsoft" ? "ms:" : domain === "" ? "" : "?"}${op}`;
  if (name === "ms:MatMulNBits") {
    const scale = graph.initialisers.get(node.inputs[2]);
    return {
      node,
      kind: "product",
      root: node.inputs[1],
      makers: [],
      shape: [attributes.int("K", 0), attributes.int("N", 0)],
      isPlain: false,
      isTurned: false,
      dtype: scale?.dtype ?? "float32",
      alpha: 1,
    };
  }
  const place = name === "Gather" ? 0 : 1;
  const chain = chainOf(node.inputs[place] ?? "", graph, maker, 0);
  if (chain === null || node.inputs[1 - place] === node.inputs[place]) return null;
  const made = (kind: WeightKind, turned = false): WeightedNode => ({
    ...chain,
    node,
    kind,
    shape: turned ? chain.shape.toReversed() : chain.shape,
    isTurned: chain.isTurned !== turned,
    alpha: kind === "product" ? attributes.float("alpha", 1) : 1,
  });
  const rank = chain.shape.length;
  switch (name) {
    case "MatMul":
      return rank === 2 ? made("product") : null;
    case "Gemm":
    case "ms:FusedMatMul":
      if (rank !== 2 || attributes.flag("transA") || attributes.flag("transBatchA")) return null;
      return made("product", attributes.flag("transB"));
    case "Gather":
      return rank === 2 && attributes.int("axis", 0) === 0 ? made("rows") : null;
    case "Conv":
      return rank >= 3 && attributes.int("group", 1) === 1 && !chain.isTurned
        ? made("filter")
        : null;
    default:
      return null;
  }
}

/** Maximum nodes between an initialiser and its use as a weight. */
const MOST_LINKS = 6;

function chainOf(
  name: string,
  graph: OnnxGraph,
  maker: ReadonlyMap<string, GraphNode>,
  depth: number,
): Chain | null {
  const data = graph.initialisers.get(name);
  if (data !== undefined) {
    const { shape, dtype } = data;
    return { root: name, makers: [], shape, isPlain: true, isTurned: false, dtype };
  }
  const node = maker.get(name);
  if (node === undefined || node.domain !== "" || depth > MOST_LINKS) return null;
  const { attributes } = node;
  if (node.op === "Constant") {
    const value = attributes.tensor("value");
    if (value === undefined) return null;
    const { shape, dtype } = value;
    return { root: name, makers: [node], shape, isPlain: false, isTurned: false, dtype };
  }
  const from = chainOf(node.inputs[0] ?? "", graph, maker, depth + 1);
  if (from === null) return null;
  const chain = { ...from, makers: [...from.makers, node] };
  switch (node.op) {
    case "Identity":
      return chain;
    case "Cast":
      return { ...chain, isPlain: false, dtype: dtypeOfNumber(attributes.int("to", 1)) };
    case "DequantizeLinear": {
      const number = attributes.int("output_dtype", 0);
      const dtype = number === 0
        ? graph.initialisers.get(node.inputs[1])?.dtype ?? "float32"
        : dtypeOfNumber(number);
      return { ...chain, isPlain: false, dtype };
    }
    case "Transpose": {
      const turns = (attributes.ints("perm") ?? [1, 0]).join() === "1,0";
      if (!turns || from.shape.length !== 2) return null;
      return { ...chain, shape: from.shape.toReversed(), isTurned: !from.isTurned };
    }
    default:
      return null;
  }
}
