/** Tensor: onnxruntime's tensors, typed as its own declarations type them. */
import { Tensor as TensorClass } from "./tensor_class.ts";
import type * as types from "./tensor_types.ts";

/** A tensor. */
export interface Tensor extends types.TypedTensor<types.ElementType> {}

/** Types of tensors. */
export declare namespace Tensor {
  /** Name of an element type. */
  type Type = types.ElementType;
  /** Classes of data by element type. */
  type DataTypeMap = types.DataTypeMap;
  /** Elements by element type. */
  type ElementTypeMap = types.ElementTypeMap;
  /** Data of a tensor. */
  type DataType = types.TensorData;
  /** An element. */
  type ElementType = types.ElementTypeMap[types.ElementType];
  /** Place of data. */
  type DataLocation = types.DataLocation;
  /** A WebGPU buffer. */
  type GpuBufferType = GPUBuffer;
  /** Element types of WebGPU buffers. */
  type GpuBufferDataTypes =
    | "float32"
    | "float16"
    | "int32"
    | "int64"
    | "uint32"
    | "uint8"
    | "bool";
}

/**
 * Makes tensors. Typed arrays are kept, not copied. Throws `TypeError` for data that do not fit the type, `RangeError`
 * for negative extents, `Error` for more or fewer elements than the shape has.
 *
 * @example
 * ```ts
 * import { Tensor } from "@weft/weft/ort";
 * const ids = new Tensor("int64", [7, 8], [1, 2]);
 * console.log(ids.data); // BigInt64Array(2) [7n, 8n]
 * console.log(new Tensor(Float32Array.of(1, 2, 3, 4)).reshape([2, 2]).dims); // [2, 2]
 * ```
 */
export const Tensor: types.TensorConstructor = TensorClass as unknown as types.TensorConstructor;
