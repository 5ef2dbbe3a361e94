/** The host's thread in the picture of a plan: it weaves from side to side through the steps, over those that the host computes. */
/// <reference lib="dom" />

import { svgElement } from "../page.ts";

/** Room of a turn beside the boxes, and the line's place in a box: between its two texts. */
const TURN = 22, DOWN = 21.5;

/** A box of the picture. */
interface Box {
  readonly x: number;
  readonly y: number;
  readonly width: number;
  readonly isScript: boolean;
}

function boxesOf(svg: SVGSVGElement): Box[] {
  return [...svg.querySelectorAll("g[class] > rect")].map((rect) => {
    const at = (name: string): number => Number(rect.getAttribute(name));
    const isScript = rect.parentElement!.classList.contains("script");
    return { x: at("x"), y: at("y"), width: at("width"), isScript };
  });
}

/** The line through boxes, a layer after the other, to the right and to the left in turn. */
export function threadLine(boxes: readonly Pick<Box, "x" | "y" | "width">[]): string {
  const left = Math.min(...boxes.map(({ x }) => x)) - 2;
  const right = Math.max(...boxes.map(({ x, width }) => x + width)) + 2;
  const layers = [...new Set(boxes.map(({ y }) => y))].sort((a, b) => a - b);
  return layers.map((top, i) => {
    const [from, to, turn] = i % 2 === 0 ? [left, right, TURN] : [right, left, -TURN];
    const y = top + DOWN, next = layers[i + 1];
    const begin = i === 0 ? `M${from - turn} ${y}` : "";
    if (next === undefined) return `${begin}H${to + turn}`;
    return `${begin}H${to}C${to + turn} ${y} ${to + turn} ${next + DOWN} ${to} ${next + DOWN}`;
  }).join("");
}

/** Draws the thread into a picture: under the boxes, and over those of scripts. */
export function drawThread(svg: SVGSVGElement): void {
  const boxes = boxesOf(svg);
  if (boxes.length === 0) return;
  const thread = svgElement("path", { class: "thread", d: threadLine(boxes), pathLength: 1 });
  svg.prepend(thread);
  for (const { x, y, width } of boxes.filter(({ isScript }) => isScript)) {
    svg.append(
      svgElement("path", { class: "thread over", d: `M${x - 3} ${y + DOWN}h${width + 6}` }),
    );
  }
}
