/** Graphs as pictures: Graphviz text, and SVG with a layout of our own. */
import {
  type Drawing,
  drawing,
  type DrawnEdge,
  type DrawnNode,
  type DrawOptions,
} from "./placed.ts";
import type { Drawable } from "./summary.ts";

const FILL: Readonly<Record<string, string>> = {
  CPU: "#dbeafe",
  GPU: "#dcfce7",
  script: "#fde68a",
};
const STROKE = { data: "#64748b", control: "#94a3b8", readback: "#dc2626" };

function fillOf({ script, device }: DrawnNode): string {
  return script ? FILL.script : FILL[device];
}

/**
 * A graph in Graphviz's language: boxes coloured by device, script ops by their function, edges over which a value is
 * read back to the host in red, control edges dashed. Throws `TypeError` for a value without a graph.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertStringIncludes } from "@std/assert";
 * const g = new tf.Graph();
 * g.asDefault(() => tf.neg(tf.placeholder("float32", [2], "x")));
 * assertStringIncludes(tf.toDot(g), '"x" -> "Neg"');
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

const BOX = { width: 150, height: 40, across: 24, down: 44 };

/** Places each node one row below the lowest that it reads. */
function layers(count: number, edges: readonly DrawnEdge[]): number[] {
  const row = new Array<number>(count).fill(0);
  // Nodes come after their inputs.
  for (const { from, to } of edges) row[to] = Math.max(row[to], row[from] + 1);
  return row;
}

/** Places nodes in columns, each as near as possible below the middle of its inputs. */
function columns(rows: readonly number[], edges: readonly DrawnEdge[]): number[] {
  const parents = rows.map((): number[] => []);
  for (const { from, to } of edges) parents[to].push(from);
  const column = new Array<number>(rows.length).fill(0);
  const depth = rows.length === 0 ? 0 : Math.max(...rows) + 1;
  for (let r = 0; r < depth; r++) {
    const members = rows.flatMap((row, i) => (row === r ? [i] : []));
    const middle = new Map(members.map((i) => {
      const above = parents[i].map((p) => column[p]);
      return [i, above.length === 0 ? 0 : above.reduce((a, b) => a + b) / above.length];
    }));
    members.sort((a, b) => middle.get(a)! - middle.get(b)! || a - b);
    let free = 0;
    for (const i of members) {
      column[i] = Math.max(free, Math.round(middle.get(i)!));
      free = column[i] + 1;
    }
  }
  return column;
}

function escaped(text: string): string {
  const entities: Record<string, string> = {
    "&": "&amp;",
    "<": "&lt;",
    ">": "&gt;",
    '"': "&quot;",
  };
  return text.replace(/[&<>"]/g, (c) => entities[c]);
}

function cut(text: string): string {
  return text.length > 22 ? `…${text.slice(-21)}` : text;
}

/**
 * A graph as an SVG picture: boxes in layers, coloured by the device they run on, script ops with their function's
 * name, edges over which a value is read back to the host in red. Throws `TypeError` for a value without a graph.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * import { assertStringIncludes } from "@std/assert";
 * const g = new tf.Graph();
 * g.asDefault(() => tf.neg(tf.placeholder("float32", [2], "x")));
 * assertStringIncludes(tf.toSvg(g), "<svg ");
 * ```
 */
export function toSvg(graph: Drawable, options: DrawOptions = {}): string {
  return svgOf(drawing(graph, "toSvg", options));
}

/** Draws nodes and edges, in topological order. */
export function svgOf({ nodes, edges }: Drawing): string {
  const rows = layers(nodes.length, edges), column = columns(rows, edges);
  const left = (i: number): number => BOX.across + column[i] * (BOX.width + BOX.across);
  const top = (i: number): number => BOX.across + rows[i] * (BOX.height + BOX.down);
  const right = Math.max(0, ...nodes.map((_, i) => left(i) + BOX.width)) + BOX.across;
  const bottom = Math.max(0, ...nodes.map((_, i) => top(i) + BOX.height)) + BOX.across;
  const paths = edges.map(({ from, to, kind }) => {
    const x1 = left(from) + BOX.width / 2, y1 = top(from) + BOX.height;
    const x2 = left(to) + BOX.width / 2, y2 = top(to), bend = (y1 + y2) / 2;
    const dash = kind === "control" ? ' stroke-dasharray="4 3"' : "";
    return `<path class="${kind}" d="M${x1} ${y1}C${x1} ${bend} ${x2} ${bend} ${x2} ${y2}" stroke="${
      STROKE[kind]
    }"${kind === "readback" ? ' stroke-width="2"' : ""}${dash}/>`;
  });
  const boxes = nodes.map((n, i) => {
    const x = left(i), y = top(i), middle = x + BOX.width / 2;
    const kind = n.script ? "script" : n.device.toLowerCase();
    const about = `${n.name} on ${n.device}${n.about ? `: ${n.about}` : ""}`;
    return `<g class="${kind}${n.about ? " joined" : ""}"><title>${escaped(about)}</title>` +
      `<rect x="${x}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="6" fill="${
        fillOf(n)
      }" stroke="#475569"/>` +
      `<text x="${middle}" y="${y + 17}" font-weight="bold">${escaped(cut(n.label))}</text>` +
      `<text x="${middle}" y="${y + 32}" fill="#475569">${escaped(cut(n.name))}</text></g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${right}" height="${bottom}" viewBox="0 0 ${right} ${bottom}" font-family="sans-serif" font-size="11" text-anchor="middle">`,
    `<g fill="none">${paths.join("")}</g>`,
    ...boxes,
    "</svg>",
  ].join("\n");
}
