/** Drawings that fit a screen: scopes of names stand open as far as there is room. */

import { boxesOf, folded } from "./fold.ts";
import { layout } from "./layout.ts";
import type { Drawing } from "./placed.ts";
import { BOX } from "./svg.ts";

/** A picture of this size is shown whole at four fifths of its size, where its texts are legible, in a window of 1280×800. */
const SCREEN = { width: 1600, height: 1000 };

/** Boxes that a picture of this size has room for. */
const MOST_BOXES = Math.floor(
  SCREEN.width / (BOX.width + BOX.across) * SCREEN.height / (BOX.height + BOX.down),
);

/** The scopes to open: outer ones first, in the order of the graph, each where the picture still fits. */
export function openOnScreen(drawing: Drawing): Set<string> {
  const open = new Set<string>(), tried = new Set<string>();
  for (;;) {
    const shut = [...boxesOf(drawing.nodes, open)]
      .filter(([scope, within]) => scope !== null && within.length > 1 && !tried.has(scope))
      .map(([scope]) => ({ scope: scope!, depth: scope!.split("/").length }));
    if (shut.length === 0) return open;
    const { scope } = shut.reduce((a, b) => b.depth < a.depth ? b : a);
    tried.add(scope);
    open.add(scope);
    if (!fits(drawing, open)) open.delete(scope);
  }
}

function fits(drawing: Drawing, open: ReadonlySet<string>): boolean {
  const boxes = boxesOf(drawing.nodes, open), alone = boxes.get(null)?.length ?? 0;
  if (alone + boxes.size > MOST_BOXES) return false;
  const { nodes, edges } = folded(drawing, open);
  const { width, height } = layout({ count: nodes.length, edges }, BOX);
  return width <= SCREEN.width && height <= SCREEN.height;
}
