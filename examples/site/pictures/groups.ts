/** Pictures in which scopes of names are boxes; loaded when one is asked for. */

import { openOnScreen } from "../../../src/library/display/fit.ts";
import { folded } from "../../../src/library/display/fold.ts";
import type { Drawing } from "../../../src/library/display/placed.ts";
import { svgOf } from "../../../src/library/display/svg.ts";

export { openOnScreen };

/** Draws each scope that is not open as one box. */
export function foldedSvg(drawing: Drawing, open: ReadonlySet<string>): string {
  return svgOf(folded(drawing, open));
}
