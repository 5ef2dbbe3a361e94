/**
 * A model as it is run: graphs of nodes with their versions, attributes and constants. Made by `read_graph.ts`.
 */
import type { Attributes } from "./attributes.ts";
import type { TensorData } from "./tensor_data.ts";
import type { ValueType } from "./types.ts";

/** A named value that goes into a graph or comes out of it. */
export interface GraphValue {
  /** Its name. */
  readonly name: string;
  /** Its type; null where the file does not tell it. */
  readonly type: ValueType | null;
}

/** A node. */
export interface GraphNode {
  /** Name of its op, as `Conv`. */
  readonly op: string;
  /** The op's domain; empty for ONNX's own. */
  readonly domain: string;
  /** The version of the domain that the file is written for. */
  readonly version: number;
  /** What errors call it: its name, or its first output where it has none. */
  readonly name: string;
  /** Names of its inputs; empty for absent ones. */
  readonly inputs: readonly string[];
  /** Names of its outputs; empty for those that are not wanted. */
  readonly outputs: readonly string[];
  /** Its attributes, but for graphs. */
  readonly attributes: Attributes;
  /** Graphs among its attributes, by name. */
  readonly graphs: Readonly<Record<string, OnnxGraph>>;
}

/** A graph: of a model, or of a node's branch or body. */
export interface OnnxGraph {
  /** Its name. */
  readonly name: string;
  /** What it takes, without those that initialisers give. */
  readonly inputs: readonly GraphValue[];
  /** What it gives. */
  readonly outputs: readonly GraphValue[];
  /** Its nodes, each after those that it reads. */
  readonly nodes: readonly GraphNode[];
  /** Constants of the file by name. */
  readonly initialisers: ReadonlyMap<string, TensorData>;
  /** Types that the file tells of values within it. */
  readonly types: ReadonlyMap<string, ValueType>;
  /** Names that it reads of the graphs around it. */
  readonly captures: readonly string[];
}

/** The name of an op with its domain, as errors and options have it: `Conv`, `com.microsoft:Gelu`. */
export function opName(node: Pick<GraphNode, "op" | "domain">): string {
  return node.domain === "" ? node.op : `${node.domain}:${node.op}`;
}

/** All nodes of a graph and of the graphs within. */
export function allNodes(graph: OnnxGraph): GraphNode[] {
  return graph.nodes.flatMap((node) => [node, ...Object.values(node.graphs).flatMap(allNodes)]);
}
