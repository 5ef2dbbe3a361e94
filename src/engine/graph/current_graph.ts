/** The graph being built, if any. Eager code asks for it without loading the graph's code. */
import { currentInterpreter, type Interpreter } from "../core/apply.ts";
import type { FuncGraph } from "./func_graph.ts";
import type { Graph } from "./graph.ts";

/** A graph as an interpreter of ops. */
export interface GraphInterpreter extends Interpreter {
  /** The graph. */
  readonly graph: Graph;
}

/** The graph that ops are added to, or null in eager mode. */
export function currentGraph(): Graph | null {
  return (currentInterpreter() as Partial<GraphInterpreter>).graph ?? null;
}

/**
 * The outermost graph being built, around all function bodies: a session runs it. Null in eager mode and its functions.
 */
export function outermostGraph(): Graph | null {
  let graph = currentGraph();
  while (graph !== null && isFuncGraph(graph)) graph = graph.outer;
  return graph;
}

/** True for the body of a function. */
export function isFuncGraph(graph: Graph): graph is FuncGraph {
  return (graph as Partial<FuncGraph>).captures !== undefined;
}
