/** The movement of windows: extents, strides, gaps and padding from a node's attributes. */
import type { NodeCall } from "../build/node_call.ts";

/** The movement of windows over the spatial axes, one number for each. */
export interface Sliding {
  /** Extents of the window. */
  readonly kernel: readonly number[];
  readonly strides: readonly number[];
  /** Steps between taps. */
  readonly dilations: readonly number[];
  /** Zeros before and after. */
  readonly pads: readonly (readonly [before: number, after: number])[];
}

/** Reads the movement of a node's windows. `kernel` is the default window. */
export function slidingOf(n: NodeCall, kernel: readonly number[]): Sliding {
  const { attributes } = n, axes = kernel.length, ones = new Array<number>(axes).fill(1);
  const strides = attributes.ints("strides") ?? ones;
  const dilations = attributes.ints("dilations") ?? ones;
  const given = attributes.ints("pads") ?? new Array<number>(2 * axes).fill(0);
  for (
    const [name, list, length] of [
      ["strides", strides, axes],
      ["dilations", dilations, axes],
      ["pads", given, 2 * axes],
    ] as const
  ) {
    if (list.length !== length) n.fail(`it has ${list.length} ${name}, wanted ${length}`);
  }
  if ([...strides, ...dilations, ...kernel].some((v) => v < 1)) {
    n.fail(
      `windows [${kernel}], strides [${strides}] and dilations [${dilations}] must be at least 1`,
    );
  }
  const auto = attributes.text("auto_pad", "NOTSET");
  const pads = kernel.map((k, i): readonly [number, number] => {
    if (auto === "VALID") return [0, 0];
    if (auto !== "SAME_UPPER" && auto !== "SAME_LOWER") return [given[i], given[i + axes]];
    const span = (k - 1) * dilations[i] + 1, extent = n.dims(0)[i + 2];
    if (extent === null && strides[i] !== 1) n.needs(`the extent of axis ${i + 2} of input 0`);
    const steps = extent === null ? 0 : (Math.ceil(extent / strides[i]) - 1) * strides[i];
    const total = extent === null ? span - 1 : Math.max(0, steps + span - extent);
    const less = Math.floor(total / 2);
    return auto === "SAME_UPPER" ? [less, total - less] : [total - less, less];
  });
  return { kernel, strides, dilations, pads };
}

/**
 * Returns the padding with the addition of `ceil_mode` after an axis, which includes windows that stick out, but not
 * those that begin in the padding after it.
 */
export function ceiledPads(
  { kernel, strides, dilations, pads }: Sliding,
  extents: readonly (number | null)[],
  n: NodeCall,
): (readonly [number, number])[] {
  if (!n.attributes.flag("ceil_mode")) return [...pads];
  return pads.map(([before, after], i) => {
    const extent = extents[i] ?? n.needs(`the extent of axis ${i + 2} of input 0`);
    const span = (kernel[i] - 1) * dilations[i] + 1, whole = extent + before + after;
    let count = Math.ceil((whole - span) / strides[i]) + 1;
    if ((count - 1) * strides[i] >= extent + before) count--;
    return [before, Math.max(after, (count - 1) * strides[i] + span - extent - before)];
  });
}
