/** Makes tensors: from values, filled, numbered. */
import { wantList } from "../../core/arguments.ts";
import { currentInterpreter } from "../../core/apply.ts";
import { describe, isAssignable, toNdArray } from "../../core/convert.ts";
import { firstLeaf } from "../../core/nest.ts";
import { asDType, type DType, dtypeOfArray, DTYPES } from "../../core/dtype.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { ValueError } from "../../core/errors.ts";
import { type GpuData, isGpuData } from "../../core/gpu_data.ts";
import { NdArray } from "../../core/nd_array.ts";
import { withScope } from "../../core/scope_context.ts";
import { shapeText, sizeOf } from "../../core/shape.ts";
import type { Rank } from "../../core/ranks.ts";
import type { Like, Operand } from "../../core/composite.ts";
import {
  type Scalar,
  shortText,
  Tensor,
  type Tensor1D,
  type Tensor2D,
  type Tensor3D,
  type Tensor4D,
  type Tensor5D,
  type Tensor6D,
  type TensorLike,
  wholeLibrary,
} from "../../core/tensor.ts";
import { dimsInput, filled, filledLike, filledWith } from "./fill_ops.ts";
import { asTensor, toInput } from "../input.ts";

/**
 * Makes a tensor of nested arrays, typed arrays, or flat values with a shape. Numbers are float32, booleans bool,
 * strings string, bigints int64, unless `dtype` differs. Outside graphs it also takes a buffer on the device
 * `tf.webgpuDevice()`: `tf.tensor({ buffer, zeroCopy? }, shape, dtype)`. Throws `ValueError` where values and shape do
 * not fit, `TypeError` for other values. TensorFlow op `Const`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.tensor([1, 2, 3, 4], [2, 2], "int32").arraySync()); // [[1, 2], [3, 4]]
 * ```
 */
export function tensor<R extends Rank = Rank>(
  values: TensorLike | GpuData,
  shape?: readonly number[],
  dtype?: DType,
): Tensor<R> {
  if (isGpuData(values)) return gpuTensor(values, shape, dtype);
  return constantOf(converted(values, dtype), shape);
}

/** Returns values as a host array, and the dtype to which the device converts it while copying. */
interface Converted {
  readonly array: NdArray;
  readonly dtype?: DType;
}

function converted(values: TensorLike, dtype: DType | null | undefined): Converted {
  if (values instanceof Tensor) {
    throw new TypeError(`Cannot make a tensor of ${shortText(values)}: it is one already`);
  }
  const own = dtypeOfArray(values);
  const wanted = dtype === undefined || dtype === null ? typedDType(values) : asDType(dtype);
  return own !== undefined && wanted !== undefined && isAssignable(own, wanted)
    ? { array: toNdArray(values), dtype: wanted }
    : { array: toNdArray(values, { dtype: wanted }) };
}

function constantOf({ array, dtype }: Converted, shape?: readonly number[]): Tensor {
  const shaped = shape === undefined || shape === null ? array : withShape(array, shape);
  return currentInterpreter().constant(shaped, dtype);
}

function gpuTensor(data: GpuData, shape?: readonly number[], dtype?: DType): Tensor {
  if (!shape) throw new ValueError("Cannot make a tensor of a GPU buffer: it needs a shape");
  const { tensorOfGpuData } = wholeLibrary.to("make a tensor of a GPU buffer");
  return tensorOfGpuData(data, shape, asDType(dtype ?? "float32"));
}

function withShape(array: NdArray, shape: readonly number[]): NdArray {
  wantList(shape, "shape", "tensor", "numbers");
  if (shape.some((d) => !Number.isInteger(d) || d < 0)) {
    throw new ValueError(
      `Cannot make a tensor of shape ${shapeText(shape)}: dimensions must be non-negative integers`,
    );
  }
  if (array.size !== sizeOf(shape)) {
    throw new ValueError(
      `Cannot make a tensor of shape ${shapeText(shape)}: based on the provided shape it has ${
        sizeOf(shape)
      } elements, but the values have ${array.size}`,
    );
  }
  // The innermost given dimension may be flat: then it stands for all further ones.
  const last = array.rank - 1;
  if (array.shape.some((d, i) => d !== shape[i] && (i < last || d !== sizeOf(shape.slice(i))))) {
    throw new ValueError(
      `Cannot make a tensor of shape ${shapeText(shape)}: inferred shape ${
        shapeText(array.shape)
      } of the values does not match it`,
    );
  }
  return array.reshape([...shape]);
}

/**
 * Returns the dtype of the typed arrays inside. TensorFlow.js reads bytes as integers; only an explicit "uint8" keeps
 * them small.
 */
function typedDType(values: unknown): DType | undefined {
  const inner = firstLeaf(values);
  if (inner instanceof Uint8Array || inner instanceof Uint8ClampedArray) {
    return inner === values ? "int32" : undefined;
  }
  return dtypeOfArray(inner);
}

/**
 * Makes a constant: a single value is repeated to fill `shape`; `name` names the node in a graph. Throws `ValueError`
 * where values and shape do not fit. Follows TensorFlow `tf.constant`, op `Const`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.constant(7, "int32", [2, 2]).arraySync()); // [[7, 7], [7, 7]]
 * ```
 */
export function constant(
  value: TensorLike,
  dtype?: DType | null,
  shape?: readonly number[] | null,
  name?: string | null,
): Tensor {
  if (value instanceof Tensor) return asTensor(value.readValue());
  const array = toNdArray(value, {
    dtype: dtype === undefined || dtype === null ? undefined : asDType(dtype),
    shape: shape ?? undefined,
  });
  return withScope({ opName: name ?? null }, () => currentInterpreter().constant(array));
}

/**
 * A tensor of rank 0. Throws `TypeError` for arrays. TensorFlow op `Const`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.scalar(3).item()); // 3
 * ```
 */
export function scalar(
  value: number | boolean | string | Uint8Array | bigint | readonly [number, number],
  dtype?: DType,
): Scalar {
  const complex = dtype !== undefined && DTYPES[asDType(dtype)].kind === "complex";
  const bytes = value instanceof Uint8Array && dtype === "string";
  if (typeof value === "object" && !bytes && !(complex && Array.isArray(value))) {
    throw new TypeError(
      `Cannot make a scalar of ${describe(value)}: wanted a number, boolean, bigint or string`,
    );
  }
  const array = bytes
    ? new NdArray("string", [], [value])
    : toNdArray(value, { dtype: dtype === undefined ? undefined : asDType(dtype) });
  return currentInterpreter().constant(array);
}

function ofRank(
  rank: number,
  values: TensorLike,
  shape: readonly number[] | undefined,
  dtype: DType | undefined,
): Tensor {
  const name = `tensor${rank}d`;
  if (shape && shape.length !== rank) {
    throw new ValueError(
      `Cannot make ${name} of shape ${shapeText(shape)}: it must have ${rank} dimensions`,
    );
  }
  const made = converted(values, dtype), { array } = made;
  if (array.rank !== rank && (array.rank !== 1 || rank === 1)) {
    throw new ValueError(
      `Cannot make ${name} of values of shape ${shapeText(array.shape)}: wanted ${rank} dimensions${
        rank > 1 ? " or flat values" : ""
      }`,
    );
  }
  if (array.rank !== rank && !shape) {
    throw new ValueError(`Cannot make ${name} of flat values: a shape must be provided`);
  }
  return constantOf(made, shape);
}

/**
 * A vector. Throws `ValueError` for values of another rank. TensorFlow op `Const`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.tensor1d([1, 2, 3]).shape); // [3]
 * ```
 */
export function tensor1d(values: TensorLike, dtype?: DType): Tensor1D {
  return ofRank(1, values, undefined, dtype);
}

/**
 * A tensor of rank 2, from nested values or from flat ones and a shape. Throws `ValueError` for another rank.
 * TensorFlow op `Const`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.tensor2d([1, 2, 3, 4], [2, 2]).arraySync()); // [[1, 2], [3, 4]]
 * ```
 */
export function tensor2d(values: TensorLike, shape?: readonly number[], dtype?: DType): Tensor2D {
  return ofRank(2, values, shape, dtype);
}

/**
 * A tensor of rank 3, from nested values or from flat ones and a shape. Throws `ValueError` for another rank.
 * TensorFlow op `Const`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.tensor3d([1, 2, 3, 4], [1, 2, 2]).shape); // [1, 2, 2]
 * ```
 */
export function tensor3d(values: TensorLike, shape?: readonly number[], dtype?: DType): Tensor3D {
  return ofRank(3, values, shape, dtype);
}

/**
 * A tensor of rank 4, from nested values or from flat ones and a shape. Throws `ValueError` for another rank.
 * TensorFlow op `Const`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.tensor4d([1, 2, 3, 4], [1, 2, 2, 1]).shape); // [1, 2, 2, 1]
 * ```
 */
export function tensor4d(values: TensorLike, shape?: readonly number[], dtype?: DType): Tensor4D {
  return ofRank(4, values, shape, dtype);
}

/**
 * A tensor of rank 5, from nested values or from flat ones and a shape. Throws `ValueError` for another rank.
 * TensorFlow op `Const`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.tensor5d([1, 2], [1, 1, 2, 1, 1]).rank); // 5
 * ```
 */
export function tensor5d(values: TensorLike, shape?: readonly number[], dtype?: DType): Tensor5D {
  return ofRank(5, values, shape, dtype);
}

/**
 * A tensor of rank 6, from nested values or from flat ones and a shape. Throws `ValueError` for another rank.
 * TensorFlow op `Const`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.tensor6d([1, 2], [1, 1, 2, 1, 1, 1]).rank); // 6
 * ```
 */
export function tensor6d(values: TensorLike, shape?: readonly number[], dtype?: DType): Tensor6D {
  return ofRank(6, values, shape, dtype);
}

/**
 * A tensor with every element the same. The shape may be a tensor in a graph. TensorFlow op `Fill`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.fill([2, 2], 4).arraySync()); // [[4, 4], [4, 4]]
 * ```
 */
export function fill<R extends Rank = Rank>(
  shape: TensorLike,
  value: TensorLike,
  dtype?: DType,
): Tensor<R> {
  const type = dtype ? asDType(dtype) : typeof value === "number" ? "float32" : undefined;
  const element = toInput(value, "value", "fill", { dtype: type });
  return filledWith(dimsInput(shape, "fill"), element);
}

/**
 * Zeros of a shape. TensorFlow op `Fill`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.zeros([2]).arraySync()); // [0, 0]
 * ```
 */
export function zeros<R extends Rank = Rank>(
  shape: TensorLike,
  dtype: DType = "float32",
): Tensor<R> {
  return filled(dimsInput(shape, "zeros"), asDType(dtype), 0);
}

/**
 * Ones of a shape. TensorFlow op `Fill`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.ones([2], "int32").arraySync()); // [1, 1]
 * ```
 */
export function ones<R extends Rank = Rank>(
  shape: TensorLike,
  dtype: DType = "float32",
): Tensor<R> {
  return filled(dimsInput(shape, "ones"), asDType(dtype), 1);
}

/**
 * Zeros of another tensor's shape and dtype. TensorFlow op `ZerosLike`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.zerosLike([[1, 2]]).arraySync()); // [[0, 0]]
 * ```
 */
export function zerosLike<X extends Operand>(x: X): Like<X> {
  return filledLike(toInput(x, "x", "zerosLike"), 0) as Like<X>;
}

/**
 * Ones of another tensor's shape and dtype. TensorFlow op `OnesLike`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.onesLike([[1, 2]]).arraySync()); // [[1, 1]]
 * ```
 */
export function onesLike<X extends Operand>(x: X): Like<X> {
  return filledLike(toInput(x, "x", "onesLike"), 1) as Like<X>;
}
