/** Axes of reductions, and shapes of joins and splits. */
import type { Tensor } from "../../../engine/core/tensor.ts";
import { assert } from "../util/checks.ts";
import type { TensorInfo } from "../types.ts";

/** True where axes, in ascending order, are the last ones. */
export function axesAreInnerMostDims(axes: readonly number[], rank: number): boolean {
  return axes.every((axis, i) => axis === rank - axes.length + i);
}
/** Merges the indices along kept and along reduced axes. */
export function combineLocations(
  outputLoc: readonly number[],
  reduceLoc: readonly number[],
  axes: readonly number[],
): number[] {
  const rank = outputLoc.length + reduceLoc.length;
  let out = 0, reduced = 0;
  return Array.from(
    { length: rank },
    (_, axis) => axes.includes(axis) ? reduceLoc[reduced++] : outputLoc[out++],
  );
}
/** Returns the extents of the kept and of the reduced axes. */
export function computeOutAndReduceShapes(
  aShape: readonly number[],
  axes: readonly number[],
): [number[], number[]] {
  return [aShape.filter((_, axis) => !axes.includes(axis)), axes.map((axis) => aShape[axis])];
}
/** Inserts axes of extent 1 into a shape. */
export function expandShapeToKeepDim(shape: readonly number[], axes: readonly number[]): number[] {
  return combineLocations(shape, axes.map(() => 1), axes);
}
/** Throws unless axes are the last ones. */
export function assertAxesAreInnerMostDims(msg: string, axes: number[], rank: number): void {
  assert(
    axesAreInnerMostDims(axes, rank),
    () => `${msg} wants the innermost axes, received ${axes} of ${rank}`,
  );
}
/** Returns the order of axes that puts these last; null where they are last. */
export function getAxesPermutation(axes: readonly number[], rank: number): number[] | null {
  if (axesAreInnerMostDims(axes, rank)) return null;
  const kept = Array.from({ length: rank }, (_, axis) => axis).filter((a) => !axes.includes(a));
  return [...kept, ...axes];
}
/** Returns the inverse of an order of axes. */
export function getUndoAxesPermutation(axes: readonly number[]): number[] {
  const undo: number[] = [];
  axes.forEach((axis, i) => undo[axis] = i);
  return undo;
}
/** Returns the last `numAxes` axes. */
export function getInnerMostAxes(numAxes: number, rank: number): number[] {
  return Array.from({ length: numAxes }, (_, i) => rank - numAxes + i);
}

/** Throws where shapes cannot be joined along an axis. */
export function assertParamsConsistent(shapes: readonly number[][], axis: number): void {
  const [first] = shapes, rank = first.length;
  shapes.forEach((shape, i) => {
    assert(
      shape.length === rank,
      () => `Cannot join tensors: tensors[${i}] has rank ${shape.length}, the first has ${rank}`,
    );
  });
  assert(axis >= 0 && axis < rank, () => `Cannot join tensors along axis ${axis} of ${rank}`);
  shapes.forEach((shape, i) => {
    assert(
      shape.every((extent, a) => a === axis || extent === first[a]),
      () =>
        `Cannot join tensors along axis ${axis}: tensors[${i}] is [${shape}], the first [${first}]`,
    );
  });
}
/** Returns the shape of tensors joined along an axis. */
export function computeOutShape(shapes: readonly number[][], axis: number): number[] {
  const out = [...shapes[0]];
  for (const shape of shapes.slice(1)) out[axis] += shape[axis];
  return out;
}

/**
 * Returns the extents of the parts of a tensor split along an axis; one of them may be given as -1. Throws where they
 * do not fit.
 */
export function prepareSplitSize(
  x: Tensor | TensorInfo,
  numOrSizeSplits: number | readonly number[],
  axis = 0,
): number[] {
  const extent = x.shape[axis];
  if (typeof numOrSizeSplits === "number") {
    assert(
      extent % numOrSizeSplits === 0,
      () => `Cannot cut ${extent} into ${numOrSizeSplits} pieces`,
    );
    return new Array(numOrSizeSplits).fill(extent / numOrSizeSplits);
  }
  const free = numOrSizeSplits.filter((size) => size === -1).length;
  assert(free <= 1, "Cannot cut a tensor: at most one piece may be -1");
  const known = numOrSizeSplits.reduce((n, size) => size === -1 ? n : n + size, 0);
  const sizes = numOrSizeSplits.map((size) => size === -1 ? extent - known : size);
  assert(
    sizes.reduce((a, b) => a + b, 0) === extent,
    () => `Cannot cut ${extent} into pieces of ${numOrSizeSplits}: their sum must be the extent`,
  );
  return sizes;
}

/** Largest number of values that one loop reduces. */
export const PARALLELIZE_THRESHOLD = 30;
/** Sizes of a reduction. */
export interface ReduceInfo {
  /** Values of a window. */
  windowSize: number;
  /** Number of reductions. */
  batchSize: number;
  /** Values of each reduction. */
  inSize: number;
  /** Results of each reduction. */
  outSize: number;
}
/** Returns a divisor near the root. */
export function computeOptimalWindowSize(inSize: number): number {
  if (inSize <= PARALLELIZE_THRESHOLD) return inSize;
  let size = Math.floor(Math.sqrt(inSize));
  while (size > 1 && inSize % size !== 0) size--;
  return size > 1 ? size : inSize;
}
