/** Shapes of segments and gathers. */
import { nearestDivisor } from "../util/arrays.ts";
import { sizeFromShape } from "../util/shapes.ts";
import { PARALLELIZE_THRESHOLD } from "./axes.ts";
import type { ShapeInfo } from "./gather.ts";
import { Error } from "../../../engine/core/throwing/builtin_errors.ts";

/** Sizes of a reduction of segments. */
export interface SegOpInfo {
  /** Values of a window. */
  windowSize: number;
  /** Number of reductions. */
  batchSize: number;
  /** Values of each reduction. */
  inSize: number;
  /** Segments of each reduction. */
  numSegments: number;
}

/** A gather as four extents. */
export interface GatherOpShapeInfo {
  /** Number of batches. */
  batchSize: number;
  /** Elements of a slice. */
  sliceSize: number;
  /** Number of slices before the axis. */
  outerSize: number;
  /** Extent of the axis. */
  dimSize: number;
  /** Shape of the result. */
  outputShape: number[];
}

/** Returns a divisor of the length, near its root and not below the number of segments. */
export function segOpComputeOptimalWindowSize(inSize: number, numSegments: number): number {
  const start = inSize <= PARALLELIZE_THRESHOLD ? inSize : Math.floor(Math.sqrt(inSize));
  for (let size = nearestDivisor(inSize, start);; size = nearestDivisor(inSize, size + 1)) {
    if (size > numSegments || size === inSize) return size;
  }
}
/** Replaces an axis of a shape by the number of segments. */
export function computeOutShape(
  aShape: readonly number[],
  axis: number,
  numSegments: number,
): number[] {
  return aShape.with(axis, numSegments);
}
/** Returns the extents of a gather. Throws where batches do not fit. */
export function collectGatherOpShapeInfo(
  x: Pick<ShapeInfo, "shape">,
  indices: Pick<ShapeInfo, "shape">,
  axis: number,
  batchDims: number,
): GatherOpShapeInfo {
  const indexRank = indices.shape.length, rank = x.shape.length;
  const batch = batchDims < 0 ? batchDims + indexRank : batchDims;
  if (batchDims !== 0 && !(batchDims >= -indexRank && batchDims <= indexRank)) {
    throw new Error(
      `Cannot gather: batchDims must be from ${-indexRank} to ${indexRank}, received ${batchDims}`,
    );
  }
  if (batch > rank || axis < batch) {
    throw new Error(
      `Cannot gather: batchDims ${batch} must be at most axis ${axis} and rank ${rank}`,
    );
  }
  for (let i = 0; i < batch; i++) {
    if (x.shape[i] === indices.shape[i]) continue;
    throw new Error(
      `Cannot gather: x is [${x.shape}] and indices [${indices.shape}], they differ along batch axis ${i}`,
    );
  }
  const leading = x.shape.slice(0, batch), outer = x.shape.slice(batch, axis);
  const slice = x.shape.slice(axis + 1);
  return {
    batchSize: sizeFromShape(leading),
    outerSize: sizeFromShape(outer),
    sliceSize: sizeFromShape(slice),
    dimSize: x.shape[axis],
    outputShape: [...leading, ...outer, ...indices.shape.slice(batch), ...slice],
  };
}
