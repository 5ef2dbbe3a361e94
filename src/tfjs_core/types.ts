/**
 * The types that TensorFlow.js's programs name: ranks, element types, what tensors are made of, containers of tensors.
 */
import type { Tensor } from "../core/tensor.ts";
import type { Variable } from "../runtime/variables/variable.ts";

/** Elements of tensors on the host, by element type. */
export interface DataTypeMap {
  /** 32-bit floats. */
  float32: Float32Array;
  /** 32-bit integers. */
  int32: Int32Array;
  /** 0 and 1. */
  bool: Uint8Array;
  /** Real and imaginary parts in turn. */
  complex64: Float32Array;
  /** Texts. */
  string: string[];
}
/** One element on the host, by element type. */
export interface SingleValueMap {
  /** A truth value. */
  bool: boolean;
  /** An integer. */
  int32: number;
  /** A float. */
  float32: number;
  /** A part of a complex number. */
  complex64: number;
  /** A text. */
  string: string;
}
/** An element type of TensorFlow.js. */
export type DataType = keyof DataTypeMap;
/** An element type that holds numbers. */
export type NumericDataType = "float32" | "int32" | "bool" | "complex64";
/** The element types that a host value may become. */
export type DataTypeFor<T extends number | string | boolean> = T extends number | boolean
  ? NumericDataType
  : T extends string ? "string"
  : never;
/** Numbers of a tensor. */
export type NumericArray = Float32Array | Int32Array | Uint8Array;
/** Elements as users give and get them. */
export type DataValues = DataTypeMap[DataType];
/** Elements as a backend keeps them: texts are bytes. */
export type BackendValues = Float32Array | Int32Array | Uint8Array | Uint8Array[];
/** Numbers or truth values in a row. */
export type FlatVector = boolean[] | number[] | NumericArray;
/** Values in nests of any depth. */
export interface RecursiveArray<T> {
  /** A value or a deeper nest. */
  [index: number]: T | RecursiveArray<T>;
}
/** What can become a tensor of rank 0. */
export type ScalarLike = number | boolean | string | Uint8Array;
/** Pixels with four bytes each. */
export interface PixelData {
  /** Pixels in a row. */
  width: number;
  /** Rows. */
  height: number;
  /** Bytes. */
  data: Uint8Array;
}
/** GPU memory to make a tensor of. */
export interface WebGPUData {
  /** The memory. */
  buffer: GPUBuffer;
  /** True: the tensor is that memory and not a copy. */
  zeroCopy?: boolean;
}
/** A texture of WebGL, which Weft has not. */
export interface WebGLData {
  /** The texture. */
  texture: object;
  /** Rows. */
  height: number;
  /** Texels in a row. */
  width: number;
  /** Which channels hold elements. */
  channels: string;
}
/** Tensors by name. */
export interface NamedTensorMap {
  /** A tensor. */
  [name: string]: Tensor;
}
/** A tensor and its name. */
export interface NamedTensor {
  /** The name. */
  name: string;
  /** The tensor. */
  tensor: Tensor;
}
/** Variables by name. */
export interface NamedVariableMap {
  /** A variable. */
  [name: string]: Variable;
}
/** Keeps tensors for a gradient. */
export type GradSaveFunc = (save: Tensor[]) => void;
/** Anything that may hold tensors. */
export type TensorContainer =
  | void
  | Tensor
  | string
  | number
  | boolean
  | TensorContainerObject
  | TensorContainerArray
  | Float32Array
  | Int32Array
  | Uint8Array;
/** An object that may hold tensors. */
export interface TensorContainerObject {
  /** A value. */
  [x: string]: TensorContainer;
}
/** A list that may hold tensors. */
export interface TensorContainerArray extends Array<TensorContainer> {}
/** What names the memory of a tensor. */
export type DataId = object;
/** What a kernel knows of a tensor. */
export interface TensorInfo {
  /** Its memory. */
  dataId: DataId;
  /** Its dimensions. */
  shape: number[];
  /** Its element type. */
  dtype: DataType;
}
