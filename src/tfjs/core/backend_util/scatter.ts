/** `tf.scatter_util`: indices that scatter. */
import { computeStrides, sizeFromShape } from "../util/shapes.ts";
import type { ShapeInfo } from "./gather.ts";
import { Error } from "../../../engine/core/throwing/builtin_errors.ts";

/** Sizes of a scatter. */
export interface ScatterShapeInfo {
  /** Number of indices of a slice. */
  sliceRank: number;
  /** Number of slices. */
  numUpdates: number;
  /** Elements of a slice. */
  sliceSize: number;
  /** Steps along the indexed axes, in slices. */
  strides: number[];
  /** Elements of the result. */
  outputSize: number;
}

/** Throws unless updates have the shape that indices and result imply. */
export function validateUpdateShape(
  shape: readonly number[],
  indices: ShapeInfo,
  updates: ShapeInfo,
): void {
  const isDeep = indices.shape.length > 1;
  const depth = isDeep ? indices.shape.at(-1)! : 1;
  const batch = isDeep ? indices.shape.slice(0, -1) : indices.shape;
  const wanted = [...batch, ...shape.slice(depth)];
  const isFitting = depth <= shape.length && wanted.length === updates.shape.length &&
    wanted.every((d, i) => d === updates.shape[i]);
  if (isFitting) return;
  throw new Error(
    `Must have updates.shape = indices.shape[:-1] + shape[sliceDim:]: received updates [${updates.shape}], indices [${indices.shape}] and shape [${shape}], which want [${wanted}]`,
  );
}

/** Throws where a scatter's arguments do not fit. */
export function validateInput(
  updates: ShapeInfo,
  indices: ShapeInfo,
  shape: readonly number[],
): void {
  if (indices.shape.length < 1) {
    throw new Error(`Cannot scatter by indices of rank ${indices.shape.length}: wanted at least 1`);
  }
  if (updates.shape.length < 1) {
    throw new Error(`Cannot scatter updates of rank ${updates.shape.length}: wanted at least 1`);
  }
  if (indices.dtype !== "int32") {
    throw new Error(`Cannot scatter by indices of ${indices.dtype}: wanted int32`);
  }
  if (shape.length < 1) {
    throw new Error(`Cannot scatter into a shape of rank ${shape.length}: wanted at least 1`);
  }
  if (sizeFromShape(shape) === 0 && sizeFromShape(updates.shape) > 0) {
    throw new Error(`Cannot scatter [${updates.shape}] into a shape without elements, [${shape}]`);
  }
  validateUpdateShape(shape, indices, updates);
}

/** Computes the sizes of a scatter. */
export function calculateShapes(
  _updates: Pick<ShapeInfo, "shape">,
  indices: Pick<ShapeInfo, "shape">,
  shape: readonly number[],
): ScatterShapeInfo {
  const rank = indices.shape.length;
  const sliceRank = rank > 1 ? indices.shape[rank - 1] : 1;
  const sliceSize = sizeFromShape(shape.slice(sliceRank));
  const safe = sliceRank < 1 ? 1 : sliceRank;
  return {
    sliceRank,
    numUpdates: sizeFromShape(indices.shape) / safe,
    sliceSize,
    strides: [...computeStrides(shape.slice(0, sliceRank)), 1],
    outputSize: sizeFromShape(shape),
  };
}
