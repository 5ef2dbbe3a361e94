/** `tf.gather_util`: indices that gather. */
import { computeStrides, sizeFromShape } from "../util/shapes.ts";
import type { DataType } from "../types.ts";
import { Error } from "../../../engine/core/throwing/builtin_errors.ts";

/** Shape and element type of a tensor. */
export interface ShapeInfo {
  /** Dimensions. */
  readonly shape: readonly number[];
  /** Element type. */
  readonly dtype: DataType | string;
}

/**
 * Returns the shape of the result, the number and size of slices, and the strides of a gather by indices. Throws where
 * they do not fit.
 */
export function prepareAndValidate(
  tensor: ShapeInfo,
  indices: ShapeInfo,
): [number[], number, number, number[]] {
  const { shape } = tensor, indexShape = indices.shape;
  if (shape.length < 1) {
    throw new Error(`Cannot gather from a tensor of rank ${shape.length}: wanted at least 1`);
  }
  if (indexShape.length < 1) {
    throw new Error(`Cannot gather by indices of rank ${indexShape.length}: wanted at least 1`);
  }
  if (indices.dtype !== "int32") {
    throw new Error(`Cannot gather by indices of ${indices.dtype}: wanted int32`);
  }
  const depth = indexShape.at(-1)!;
  if (depth > shape.length) {
    throw new Error(`Cannot gather by ${depth} indices from a tensor of rank ${shape.length}`);
  }
  if (sizeFromShape(shape) === 0) {
    throw new Error(`Cannot gather from a tensor without elements: its shape is [${shape}]`);
  }
  const outer = indexShape.slice(0, -1);
  const slice = shape.slice(depth);
  const strides = [...computeStrides(shape).map((s) => s / sizeFromShape(slice)), 1].slice(
    0,
    depth,
  );
  return [[...outer, ...slice], sizeFromShape(outer), sizeFromShape(slice), strides];
}
