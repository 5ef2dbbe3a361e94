/**
 * Shapes of segments and gathers.
 */
import { nearestDivisor } from "../util/arrays.ts";
import { sizeFromShape } from "../util/shapes.ts";
import { PARALLELIZE_THRESHOLD } from "./axes.ts";
import type { ShapeInfo } from "./gather.ts";
import { Error } from "../../../engine/core/throwing/builtin_errors.ts";

/** What a reduction of segments reads and writes. */
export interface SegOpInfo {
  /** Values of a window. */
  windowSize: number;
  /** Reductions. */
  batchSize: number;
  /** Values of each. */
  inSize: number;
  /** Segments of each. */
  numSegments: number;
}

/** A gather as four extents. */
export interface GatherOpShapeInfo {
  /** Batches. */
  batchSize: number;
  /** Elements of a slice. */
  sliceSize: number;
  /** Slices before the axis. */
  outerSize: number;
  /** Extent of the axis. */
  dimSize: number;
  /** Shape of the result. */
  outputShape: number[];
}

/** A divisor of the length, near its root and not below the number of segments. */
export function segOpComputeOptimalWindowSize(inSize: number, numSegments: number): number {
  const start = inSize <= PARALLELIZE_THRESHOLD ? inSize : Math.floor(Math.sqrt(inSize));
  for (let size = nearestDivisor(inSize, start);; size = nearestDivisor(inSize, size + 1)) {
    if (size > numSegments || size === inSize) return size;
  }
}
/** A shape with the number of segments along an axis. */
export function computeOutShape(
  aShape: readonly number[],
  axis: number,
  numSegments: number,
): number[] {
  return aShape.with(axis, numSegments);
}
/** A gather as four extents. Throws where batches do not fit. */
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
