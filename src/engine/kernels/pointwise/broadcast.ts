/** Collapses broadcast index spaces: neighbouring axes that every operand walks alike become one. */
import { broadcastStrides, type Shape } from "../../core/shape.ts";

/** A loop nest over an output, and each operand's stride per axis. */
export interface Walk {
  /** Extents, outermost first; never empty. */
  readonly dims: readonly number[];
  /** `strides[operand][axis]`, in elements. */
  readonly strides: readonly (readonly number[])[];
}

/** Returns the smallest loop nest that walks `out` with operands broadcast to it. */
export function collapseBroadcast(out: Shape, operands: readonly Shape[]): Walk {
  return collapse(out, operands.map((s) => broadcastStrides(s, out)));
}

/**
 * Merges axes where `stride[axis] = stride[axis+1] * dims[axis+1]` for every operand; drops axes of extent 1. Marked
 * axes merge only with axes of the same mark.
 */
export function collapse(
  shape: Shape,
  strides: readonly (readonly number[])[],
  marked: readonly boolean[] = [],
): Walk & { readonly marks: readonly boolean[] } {
  const dims: number[] = [], marks: boolean[] = [];
  const merged: number[][] = strides.map(() => []);
  for (let axis = 0; axis < shape.length; axis++) {
    if (shape[axis] === 1) continue;
    const last = dims.length - 1, mark = marked[axis] ?? false;
    const joins = last >= 0 && marks[last] === mark &&
      strides.every((s, k) => merged[k][last] === s[axis] * shape[axis]);
    if (joins) {
      dims[last] *= shape[axis];
      strides.forEach((s, k) => merged[k][last] = s[axis]);
    } else {
      dims.push(shape[axis]);
      marks.push(mark);
      strides.forEach((s, k) => merged[k].push(s[axis]));
    }
  }
  if (dims.length === 0) {
    dims.push(shape.includes(0) ? 0 : 1);
    marks.push(false);
    merged.forEach((m) => m.push(0));
  }
  return { dims, strides: merged, marks };
}
