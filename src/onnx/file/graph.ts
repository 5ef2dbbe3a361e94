/** A model as it is run: graphs of nodes with versions, attributes and constants. Made by `read_graph.ts`. */
import type { Attributes } from "./attributes.ts";
import type { TensorData } from "./tensor_data.ts";
import type { ValueType } from "./types.ts";

/** A named input or output of a graph. */
export interface GraphValue {
  readonly name: string;
  /** Its type; null if the file does not tell it. */
  readonly type: ValueType | null;
}

export interface GraphNode {
  /** Name of its op, such as `Conv`. */
  readonly op: string;
  /** The op's domain; empty for ONNX's own. */
  readonly domain: string;
  /** The version of the domain in the file. */
  readonly version: number;
  /** Its name in errors: its own, or its first output's. */
  readonly name: string;
  /** Names of its inputs; empty for absent ones. */
  readonly inputs: readonly string[];
  /** Names of its outputs; empty for unused ones. */
  readonly outputs: readonly string[];
  /** Its attributes, without graphs. */
  readonly attributes: Attributes;
  /** Graphs among its attributes, by name. */
  readonly graphs: Readonly<Record<string, OnnxGraph>>;
}

/** A graph: of a model, or of a node's branch or body. */
export interface OnnxGraph {
  readonly name: string;
  /** Its inputs, without those with initialisers. */
  readonly inputs: readonly GraphValue[];
  readonly outputs: readonly GraphValue[];
  /** Its nodes in topological order. */
  readonly nodes: readonly GraphNode[];
  /** Constants of the file by name. */
  readonly initialisers: ReadonlyMap<string, TensorData>;
  /** Types of inner values in the file. */
  readonly types: ReadonlyMap<string, ValueType>;
  /** Names that it reads from the graphs around it. */
  readonly captures: readonly string[];
}

/** Returns the name of an op with its domain, as in errors and options: `Conv`, `com.microsoft:Gelu`. */
export function opName(node: Pick<GraphNode, "op" | "domain">): string {
  return node.domain === "" ? node.op : `${node.domain}:${node.op}`;
}

/** Returns all nodes of a graph and of its inner graphs. */
export function allNodes(graph: OnnxGraph): GraphNode[] {
  return graph.nodes.flatMap((node) => [node, ...Object.values(node.graphs).flatMap(allNodes)]);
}
