/** Layouts of reductions: neighbouring axes that are walked alike are merged, axes of extent 1 dropped. */
import { broadcastStrides, normalizeAxes, type Shape, sizeOf } from "../../core/shape.ts";
import type { NdArray } from "../../core/nd_array.ts";
import type { Problem } from "../../core/op.ts";
import { collapse, type Walk } from "../pointwise/broadcast.ts";

/** An input as alternating groups of reduced and kept axes, outermost first. */
export interface ReduceLayout extends Walk {
  /** True for each reduced group; neighbours differ, unless an operand walks them differently. */
  readonly reduced: readonly boolean[];
  /** Elements of one result. */
  readonly count: number;
}

/**
 * Returns the groups of a reduction over `axes` (counted from the front) of `shape`, to which operands are broadcast.
 */
export function reduceLayout(
  shape: Shape,
  axes: readonly number[],
  operands: readonly Shape[] = [],
): ReduceLayout {
  const isReduced = shape.map((_, i) => axes.includes(i));
  const { marks: reduced, ...walk } = collapse(
    shape,
    operands.map((s) => broadcastStrides(s, shape)),
    isReduced,
  );
  return { ...walk, reduced, count: sizeOf(shape.filter((_, i) => isReduced[i])) };
}

/** Returns axes of a host input, counted from the front, sorted and unique. */
export function axesOf(axes: NdArray, rank: number): number[] {
  return normalizeAxes(Array.from(axes.data as ArrayLike<number | bigint>, Number), rank);
}

/** A shape around one axis of this length: the number of positions before and after it. */
export interface Line {
  readonly outer: number;
  readonly length: number;
  readonly inner: number;
}

/** Returns the line of input 0 along the axis in a host input. */
export function lineIn({ inputs: [{ shape }], hosts }: Problem, axis: number): Line {
  return lineOf(shape, axesOf(hosts[axis]!, shape.length)[0]);
}

/** Returns the shape around one axis, counted from the front. */
export function lineOf(shape: Shape, axis: number): Line {
  const outer = sizeOf(shape.slice(0, axis)), inner = sizeOf(shape.slice(axis + 1));
  return { outer, length: shape[axis], inner };
}
