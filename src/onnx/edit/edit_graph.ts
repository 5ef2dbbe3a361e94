/** Graphs with other outputs, and with nodes of the caller's in the place of tensors: what nothing reads is left out. */
import { ValueError } from "../../engine/core/errors.ts";
import type { Node } from "../proto/onnx_pb.ts";
import type { GraphNode, GraphValue, OnnxGraph } from "../file/graph.ts";

/** New nodes that make a tensor. */
export interface Edit {
  /** Name of the tensor. */
  readonly name: string;
  /** Returns the nodes, the last of which makes the tensor; `own` is the new name of what made it before. */
  nodes(own: string): readonly GraphNode[];
  /** The same nodes in the file's form; absent for functions of the caller's. */
  messages?(own: string): readonly Node[];
}

/**
 * Returns the name of a tensor: a name of the graph, or a node's name for its first output. Throws `ValueError` if
 * there is none.
 */
export function tensorNamed(graph: OnnxGraph, name: string, whose: string): string {
  if (graph.initialisers.has(name) || graph.inputs.some((v) => v.name === name)) return name;
  if (graph.nodes.some((node) => node.outputs.includes(name)) && name !== "") return name;
  const node = graph.nodes.find((n) => n.name === name);
  const output = node?.outputs.find((o) => o !== "");
  if (output !== undefined) return output;
  throw new ValueError(`${whose}: it has no tensor "${name}"${similar(graph, name)}`);
}

/** Names that contain one another, as advice. */
function similar(graph: OnnxGraph, name: string): string {
  const names = new Set(graph.nodes.flatMap((n) => [...n.outputs, n.name]));
  const near = [...names].filter((n) =>
    n !== "" && name !== "" && (n.includes(name) || name.includes(n))
  );
  return near.length === 0 ? "" : `; there is ${near.slice(0, 5).map((n) => `"${n}"`).join(", ")}`;
}

/**
 * Returns the graph with edits, in their order, and these outputs. Nodes and inputs that no output needs are left out.
 * Throws `ValueError` for an edit whose nodes read what is made of its tensor.
 */
export function editGraph(
  graph: OnnxGraph,
  edits: readonly Edit[],
  outputs: readonly string[],
): OnnxGraph {
  let nodes = graph.nodes;
  const used = new Set(nodes.flatMap((n) => n.outputs));
  for (const edit of edits) {
    let own = `${edit.name}#`;
    while (used.has(own)) own += "#";
    used.add(own);
    // The new nodes stand behind the old one: sorting moves them where they read later nodes.
    nodes = nodes.flatMap((node) =>
      node.outputs.includes(edit.name)
        ? [
          { ...node, outputs: node.outputs.map((o) => o === edit.name ? own : o) },
          ...edit.nodes(own),
        ]
        : [node]
    );
  }
  const sorted = needed(nodes, outputs, edits);
  const read = new Set([...outputs, ...sorted.flatMap(readBy)]);
  return {
    ...graph,
    nodes: sorted,
    inputs: graph.inputs.filter(({ name }) => read.has(name)),
    outputs: outputs.map((name) => valueNamed(graph, name, edits)),
  };
}

/** The names that a node reads, those of its inner graphs included. */
function readBy(node: GraphNode): string[] {
  const inner = Object.values(node.graphs).flatMap((g) => g.captures);
  return [...node.inputs, ...inner].filter((name) => name !== "");
}

/** Returns the nodes that the outputs need, in an order in which each is behind those that it reads. */
function needed(
  nodes: readonly GraphNode[],
  outputs: readonly string[],
  edits: readonly Edit[],
): GraphNode[] {
  const maker = new Map(nodes.flatMap((node) => node.outputs.map((name) => [name, node])));
  const wanted = new Set<GraphNode>(), open = [...outputs];
  for (let name = open.pop(); name !== undefined; name = open.pop()) {
    const node = maker.get(name);
    if (node === undefined || wanted.has(node)) continue;
    wanted.add(node);
    open.push(...readBy(node));
  }
  if (edits.length === 0) return nodes.filter((node) => wanted.has(node));
  const sorted: GraphNode[] = [], state = new Map<GraphNode, "open" | "done">();
  for (const root of nodes) {
    const stack = wanted.has(root) && !state.has(root) ? [root] : [];
    while (stack.length > 0) {
      const node = stack[stack.length - 1];
      if (state.get(node) === undefined) {
        state.set(node, "open");
        for (const name of readBy(node)) {
          const made = maker.get(name);
          if (made === undefined || state.get(made) === "done") continue;
          if (state.get(made) === "open") throw circular(edits);
          stack.push(made);
        }
      } else {
        stack.pop();
        if (state.get(node) === "open") sorted.push(node);
        state.set(node, "done");
      }
    }
  }
  return sorted;
}

function circular(edits: readonly Edit[]): ValueError {
  const list = edits.map((e) => `"${e.name}"`).join(", ");
  return new ValueError(`Cannot replace ${list}: its function reads a tensor that is made of it`);
}

function valueNamed(graph: OnnxGraph, name: string, edits: readonly Edit[]): GraphValue {
  const known = [...graph.outputs, ...graph.inputs].find((v) => v.name === name);
  const type = known?.type ?? graph.types.get(name) ?? null;
  // An edit keeps the dtype or changes it, and so with the shape: results tell.
  return { name, type: edits.some((e) => e.name === name) ? null : type };
}
