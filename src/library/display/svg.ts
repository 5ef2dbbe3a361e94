/** Drawings as SVG pictures. */
import { layout, type Point } from "./layout.ts";
import type { Drawing, DrawnNode } from "./placed.ts";

const FILL: Readonly<Record<string, string>> = {
  CPU: "#dbeafe",
  GPU: "#dcfce7",
  script: "#fde68a",
};
const STROKE = { data: "#64748b", control: "#94a3b8", readback: "#dc2626" };

/** Colour of a box. */
export function fillOf({ script, device }: DrawnNode): string {
  return script ? FILL.script : FILL[device];
}

/** Sizes of boxes and of the room between them. */
export const BOX = { width: 160, height: 40, across: 24, down: 30 };

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
  return text.length > 21 ? `${text.slice(0, 20)}…` : text;
}

/** Cuts names at their beginning, where those of one scope are alike. */
function cutLeft(text: string): string {
  return text.length > 24 ? `…${text.slice(-23)}` : text;
}

/** Draws nodes and edges, in topological order. */
export function svgOf({ nodes, edges }: Drawing): string {
  const { boxes: places, paths, width, height } = layout({ count: nodes.length, edges }, BOX);
  const lines = edges.map(({ kind }, e) => {
    const dash = kind === "control" ? ' stroke-dasharray="4 3"' : "";
    const { x, y } = paths[e].at(-1)!;
    return `<path class="${kind}" d="${lineOf(paths[e])}" stroke="${STROKE[kind]}"${
      kind === "readback" ? ' stroke-width="2"' : ""
    }${dash}/><path d="M${x - 4} ${y - 7}L${x} ${y}L${x + 4} ${y - 7}Z" fill="${STROKE[kind]}"/>`;
  });
  const boxes = nodes.map((n, i) => {
    const { x, y } = places[i], middle = x + BOX.width / 2;
    const kind = n.script ? "script" : n.device.toLowerCase();
    const about = `${n.name} on ${n.device}${n.about ? `: ${n.about}` : ""}`;
    const more = n.scope ? `scope" data-scope="${escaped(n.name)}` : n.about ? "joined" : "";
    return `<g class="${kind}${more && ` ${more}`}"><title>${escaped(about)}</title>` +
      `<rect x="${x}" y="${y}" width="${BOX.width}" height="${BOX.height}" rx="6" fill="${
        fillOf(n)
      }" stroke="#475569"${n.scope ? ' stroke-width="2"' : ""}/>` +
      `<text x="${middle}" y="${y + 17}" font-weight="bold">${escaped(cut(n.label))}</text>` +
      `<text x="${middle}" y="${y + 32}" fill="#475569">${escaped(cutLeft(n.name))}</text></g>`;
  });
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" width="${width}" height="${height}" viewBox="0 0 ${width} ${height}" font-family="sans-serif" font-size="11" text-anchor="middle">`,
    `<g fill="none">${lines.join("")}</g>`,
    ...boxes,
    "</svg>",
  ].join("\n");
}

/** A line through points: straight within pairs, bent from one pair to the next. */
function lineOf(points: readonly Point[]): string {
  const [{ x, y }] = points;
  let text = `M${x} ${y}`;
  for (let i = 1; i < points.length; i++) {
    const from = points[i - 1], to = points[i], bend = (from.y + to.y) / 2;
    const isBent = i % 2 === 1 && from.x !== to.x;
    text += isBent ? `C${from.x} ${bend} ${to.x} ${bend} ${to.x} ${to.y}` : `L${to.x} ${to.y}`;
  }
  return text;
}
