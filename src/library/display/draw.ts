/** Graphs as pictures: Graphviz text, and SVG. */
import { drawing, type DrawOptions } from "./placed.ts";
import type { Drawable } from "./summary.ts";
import { fillOf, svgOf } from "./svg.ts";

/**
 * A graph in Graphviz's language: boxes coloured by device, script ops by their function, edges over which a value is
 * read back to the host in red, control edges dashed. Throws `TypeError` for a value without a graph.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const g = new tf.Graph();
 * g.asDefault(() => tf.neg(tf.placeholder("float32", [2], "x")));
 * console.log(tf.toDot(g)); // …"x" -> "Neg"…
 * ```
 */
export function toDot(graph: Drawable, options: DrawOptions = {}): string {
  const { nodes, edges } = drawing(graph, "toDot", options);
  const quoted = (text: string): string => `"${text.replace(/["\\]/g, "\\$&")}"`;
  const style = {
    data: "",
    control: " [style=dashed]",
    readback: ' [color="#dc2626", label="read"]',
  };
  return [
    "digraph {",
    '  node [shape=box, style="rounded,filled"];',
    ...nodes.map((n) =>
      `  ${quoted(n.name)} [label=${
        quoted(`${n.label}\n${n.name}`).replace("\n", "\\n")
      }, fillcolor="${fillOf(n)}"];`
    ),
    ...edges.map(({ from, to, kind }) =>
      `  ${quoted(nodes[from].name)} -> ${quoted(nodes[to].name)}${style[kind]};`
    ),
    "}",
  ].join("\n");
}

/**
 * A graph as an SVG picture: boxes in layers, coloured by the device they run on, script ops and calls with their function's
 * name, edges over which a value is read back to the host in red. Constants and variables stand in the boxes that read them, and with
 * `fold` each scope of names (`tf.nameScope`) is one box, or, with `"fit"`, each that a screen has no room for. Throws `TypeError` for a value without a graph.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const g = new tf.Graph();
 * g.asDefault(() => tf.neg(tf.placeholder("float32", [2], "x")));
 * console.log(tf.toSvg(g)); // <svg …</svg>
 * ```
 *
 * @example Scopes of names as boxes
 * ```ts
 * import * as tf from "@weft/weft";
 * const g = new tf.Graph();
 * g.asDefault(() => tf.nameScope("layer", () => tf.neg(tf.square(tf.placeholder("float32", [2])))));
 * console.log(tf.toSvg(g, { fold: true })); // <svg …3 in layer…</svg>
 * ```
 */
export function toSvg(graph: Drawable, options: DrawOptions = {}): string {
  return svgOf(drawing(graph, "toSvg", options));
}
