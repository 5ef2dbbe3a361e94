/** A graph as text, one line for each node. */
import { shapeText } from "../../engine/core/shape.ts";
import { Graph } from "../../engine/graph/graph.ts";
import type { Operation } from "../../engine/graph/operation.ts";
import { wrongArgument } from "../../engine/core/arguments.ts";
import { Tensor } from "../../engine/core/tensor.ts";

/**
 * A value with a graph: a graph, a `tf.function` that was called or has an `inputSignature`, or a body that
 * `getConcreteFunction()` returned.
 */
export type Drawable = Graph | { readonly graph: unknown };

/** Returns the graph of a drawable value. Throws `TypeError` for a value without a graph. */
export function graphOf(x: Drawable, fn: string): Graph {
  const graph = x instanceof Graph || x instanceof Tensor
    ? x
    : (x as { readonly graph?: unknown } | null | undefined)?.graph;
  if (graph instanceof Graph) return graph;
  throw wrongArgument(x, "graph", fn, "a tf.Graph or a tf.function that was called");
}

export function isScript({ type }: Operation): boolean {
  return /^(PyFunc|PyFuncStateless|EagerPyFunc)$/.test(type);
}

/** Returns the name of a script op's function. */
export function scriptName(op: Operation): string {
  const { func, token } = (op.attrs._script ?? {}) as { func?: { name?: string }; token?: string };
  return func?.name || token || "script";
}

/** Sums a graph up in a line: the number of operations, and of the commonest types. */
export function graphLine(graph: Graph): string {
  const counts = new Map<string, number>();
  for (const { type } of graph.operations) counts.set(type, (counts.get(type) ?? 0) + 1);
  const most = [...counts].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1));
  const shown = most.slice(0, 5).map(([type, n]) => (n === 1 ? type : `${n} ${type}`));
  const list = shown.join(", ") + (most.length > 5 ? ", …" : "");
  const { length } = graph.operations;
  return `<tf.Graph ${graph.key}: ${length} operation${length === 1 ? "" : "s"}${
    list && `: ${list}`
  }>`;
}

/**
 * A graph as a table: name, op, shape of the results, inputs; of script ops the name of their function. Throws
 * `TypeError` for a value without a graph.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const g = new tf.Graph();
 * g.asDefault(() => tf.neg(tf.placeholder("float32", [2], "x")));
 * console.log(tf.summary(g).split("\n")[2].split(/ +/)); // ["Neg", "Neg", "float32[2]", "x"]
 * ```
 */
export function summary(graph: Drawable): string {
  const g = graphOf(graph, "summary");
  const rows = g.operations.map((op) => [
    op.name,
    isScript(op) ? `${op.type} ${scriptName(op)}()` : op.type,
    op.outputs.filter((t) => t.dtype !== "variant").map((t) =>
      `${t.dtype}${shapeText(t.staticShape)}`
    ).join(", "),
    [
      ...op.inputs.map((t) => (t.valueIndex === 0 ? t.operation.name : t.name)),
      ...op.controlInputs.map((c) => `^${c.name}`),
    ].join(", "),
  ]);
  const all = [["name", "op", "results", "inputs"], ...rows];
  const width = [0, 1, 2].map((c) => Math.max(...all.map((r) => r[c].length)));
  return all.map((r) => r.map((cell, c) => cell.padEnd(width[c] ?? 0)).join("  ").trimEnd()).join(
    "\n",
  );
}
