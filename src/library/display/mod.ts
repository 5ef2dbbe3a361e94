/** Display of tensors and graphs. */
import "./jupyter.ts";

export { toDot, toSvg } from "./draw.ts";
export type { DrawOptions } from "./placed.ts";
export { type Drawable, summary } from "./summary.ts";
