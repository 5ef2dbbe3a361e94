/** Creation of tensors with TensorFlow.js's types: numbers of any typed array that it does not know are float32. */
import * as weft from "../../../mod.ts";
import type { DType } from "../../engine/core/dtype.ts";
import type { Rank } from "../../engine/core/ranks.ts";
import type { Tensor, Tensor1D, TensorLike } from "../../engine/core/tensor.ts";
import { env } from "./environment.ts";
import type { DataType, WebGPUData } from "./types.ts";
import { flatten } from "./util/arrays.ts";
import { checkConversionForErrors } from "./util/shapes.ts";

/** Returns TensorFlow.js's default element type where it differs from Weft's. Checks the values while debugging. */
function defaultDType(values: unknown, dtype: DType | undefined): DType | undefined {
  if (env().getBool("DEBUG")) checkNumbers(values, dtype);
  if (dtype !== undefined && dtype !== null || !ArrayBuffer.isView(values)) return dtype;
  const isKnown = values instanceof Float32Array || values instanceof Int32Array ||
    values instanceof Uint8Array || values instanceof Uint8ClampedArray;
  return isKnown ? dtype : "float32";
}

function checkNumbers(values: unknown, dtype: DType | undefined): void {
  const numbers = flatten(values as number[]);
  if (dtype === "string" || numbers.some((v) => typeof v !== "number")) return;
  checkConversionForErrors(numbers, (dtype ?? "float32") as DataType);
}

/** Makes a creation function use TensorFlow.js's element types. */
function withShape(
  make: (values: TensorLike, shape?: readonly number[], dtype?: DType) => Tensor,
): (values: TensorLike, shape?: readonly number[] | null, dtype?: DataType) => Tensor {
  return (values, shape, dtype) => make(values, shape ?? undefined, defaultDType(values, dtype));
}

/**
 * Makes a tensor. See `tf.tensor`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.tensor([1, 2, 3, 4], [2, 2]).arraySync()); // [[1, 2], [3, 4]]
 * ```
 */
export function tensor<R extends Rank = Rank>(
  values: TensorLike | WebGPUData,
  shape?: readonly number[] | null,
  dtype?: DataType,
): Tensor<R> {
  return weft.tensor(values as TensorLike, shape ?? undefined, defaultDType(values, dtype));
}
/**
 * Makes a tensor of one axis. See `tf.tensor1d`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.tensor1d([1, 2]).shape); // [2]
 * ```
 */
export function tensor1d(values: TensorLike, dtype?: DataType): Tensor1D {
  return weft.tensor1d(values, defaultDType(values, dtype));
}
/** Makes a tensor of values, a shape and an element type. */
export type MakeTensor<R extends Rank = Rank> = (
  values: TensorLike,
  shape?: readonly number[] | null,
  dtype?: DataType,
) => Tensor<R>;
/** Makes a tensor of two axes. See `tf.tensor2d`. */
export const tensor2d: MakeTensor<Rank.R2> = withShape(weft.tensor2d);
/** Makes a tensor of three axes. See `tf.tensor3d`. */
export const tensor3d: MakeTensor<Rank.R3> = withShape(weft.tensor3d);
/** Makes a tensor of four axes. See `tf.tensor4d`. */
export const tensor4d: MakeTensor<Rank.R4> = withShape(weft.tensor4d);
/** Makes a tensor of five axes. See `tf.tensor5d`. */
export const tensor5d: MakeTensor<Rank.R5> = withShape(weft.tensor5d);
/** Makes a tensor of six axes. See `tf.tensor6d`. */
export const tensor6d: MakeTensor<Rank.R6> = withShape(weft.tensor6d);
