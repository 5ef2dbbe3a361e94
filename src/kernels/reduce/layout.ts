/**
 * How a reduction walks its input: neighbouring axes that are alike are merged, axes of extent 1 dropped.
 */
import { broadcastStrides, normalizeAxes, type Shape } from "../../core/shape.ts";
import type { NdArray } from "../../core/nd_array.ts";

/** An input as groups of axes that are reduced and kept by turns, outermost first. */
export interface ReduceLayout {
  /** Extent of each group; never empty. */
  readonly dims: readonly number[];
  /** Whether each group is reduced; neighbours differ, unless an operand walks them differently. */
  readonly reduced: readonly boolean[];
  /** `strides[operand][group]`, in elements. */
  readonly strides: readonly (readonly number[])[];
  /** Elements that go into one result. */
  readonly count: number;
}

/** The groups of a reduction over `axes` (counted from the front) of `shape`, to which operands are broadcast. */
export function reduceLayout(
  shape: Shape,
  axes: readonly number[],
  operands: readonly Shape[] = [],
): ReduceLayout {
  const dims: number[] = [], reduced: boolean[] = [];
  const each = operands.map((s) => broadcastStrides(s, shape));
  const strides: number[][] = each.map(() => []);
  let count = 1;
  for (let i = 0; i < shape.length; i++) {
    const r = axes.includes(i);
    if (r) count *= shape[i];
    if (shape[i] === 1) continue;
    const last = dims.length - 1;
    const joins = last >= 0 && reduced[last] === r &&
      each.every((s, k) => strides[k][last] === s[i] * shape[i]);
    if (joins) {
      dims[last] *= shape[i];
      each.forEach((s, k) => strides[k][last] = s[i]);
    } else {
      dims.push(shape[i]);
      reduced.push(r);
      each.forEach((s, k) => strides[k].push(s[i]));
    }
  }
  if (dims.length === 0) {
    dims.push(1);
    reduced.push(false);
    strides.forEach((s) => s.push(0));
  }
  return { dims, reduced, strides, count };
}

/** Axes from a host input, counted from the front, sorted and unique. */
export function axesOf(axes: NdArray, rank: number): number[] {
  return normalizeAxes(Array.from(axes.data as ArrayLike<number | bigint>, Number), rank);
}

/** A shape as outer × axis × inner around one axis. */
export interface Line {
  /** Product of the extents before the axis. */
  readonly outer: number;
  /** Extent of the axis. */
  readonly length: number;
  /** Product of the extents after the axis. */
  readonly inner: number;
}

/** The shape around one axis, counted from the front. */
export function lineOf(shape: Shape, axis: number): Line {
  let outer = 1, inner = 1;
  for (let i = 0; i < axis; i++) outer *= shape[i];
  for (let i = axis + 1; i < shape.length; i++) inner *= shape[i];
  return { outer, length: shape[axis], inner };
}
