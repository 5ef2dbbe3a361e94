/** The types that TensorFlow.js's programs name: ranks, element types, values and containers of tensors. */
import type { Tensor } from "../../engine/core/tensor.ts";
import type { DataType, NumericDataType } from "../../engine/core/ranks.ts";
import type { Variable } from "../../engine/runtime/variables/variable.ts";

export type {
  ArrayMap,
  DataType,
  DataTypeMap,
  NumericDataType,
  ShapeMap,
} from "../../engine/core/ranks.ts";
export type {
  Scalar,
  Tensor1D,
  Tensor2D,
  Tensor3D,
  Tensor4D,
  Tensor5D,
  Tensor6D,
} from "../../engine/core/tensor.ts";
export type { TensorGpuData as GPUData } from "../../engine/types.ts";

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
/** The element types that a host value may become. */
export type DataTypeFor<T extends number | string | boolean> = T extends number | boolean
  ? NumericDataType
  : T extends string ? "string"
  : never;
/** Numbers of a tensor. */
export type NumericArray = Float32Array | Int32Array | Uint8Array;
/** Numbers of a tensor; TensorFlow.js's name for them. */
export type TypedArray = NumericArray;
/** Elements as users see them. */
export type DataValues = NumericArray | string[];
/** Elements as a backend keeps them: texts are bytes. */
export type BackendValues = Float32Array | Int32Array | Uint8Array | Uint8Array[];
/** Numbers or truth values in a row. */
export type FlatVector = boolean[] | number[] | NumericArray;
/** Values in nests of any depth. */
export interface RecursiveArray<T> {
  /** A value or a deeper nest. */
  [index: number]: T | RecursiveArray<T>;
}
/** A value that can become a tensor of rank 0. */
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
  /** True: the tensor is that memory, not a copy. */
  zeroCopy?: boolean;
}
/** A texture of WebGL, which Weft does not support. */
export interface WebGLData {
  /** The texture. */
  texture: object;
  /** Rows. */
  height: number;
  /** Texels in a row. */
  width: number;
  /** The channels that hold elements. */
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
/** Saves tensors for a gradient. */
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
/** The identity of a tensor's memory. */
export type DataId = object;
/** The description of a tensor for kernels. */
export interface TensorInfo {
  /** Its memory. */
  dataId: DataId;
  /** Its dimensions. */
  shape: number[];
  /** Its element type. */
  dtype: DataType;
}
/** Options of a transfer to the GPU; none has an effect here. */
export interface DataToGPUOptions {
  /** Shape of a texture of WebGL. */
  customTexShape?: [number, number];
}

/** Options of a model's `predict`. */
export interface ModelPredictConfig {
  /** Rows of a batch. */
  batchSize?: number;
  /** True: reports progress. */
  verbose?: boolean;
}
/** An input or output of a model. */
export interface ModelTensorInfo {
  /** Its name. */
  name: string;
  /** Dimensions, -1 for unknown ones. */
  shape?: number[];
  /** Its element type. */
  dtype: DataType;
  /** Element type in the file. */
  tfDtype?: string;
}
/** A model that computes outputs from inputs. */
export interface InferenceModel {
  /** Its inputs. */
  readonly inputs: ModelTensorInfo[];
  /** Its outputs. */
  readonly outputs: ModelTensorInfo[];
  /** Computes its outputs. */
  predict(
    inputs: Tensor | Tensor[] | NamedTensorMap,
    config: ModelPredictConfig,
  ): Tensor | Tensor[] | NamedTensorMap;
  /** Computes the tensors of these names. */
  execute(
    inputs: Tensor | Tensor[] | NamedTensorMap,
    outputs: string | string[],
  ): Tensor | Tensor[];
}
/** An input or output of a SavedModel. */
export interface SavedModelTensorInfo {
  /** Its element type. */
  dtype: string;
  /** Its dimensions. */
  shape: number[];
  /** Its name. */
  name: string;
}
/** Signatures of a SavedModel. */
export interface SignatureDefInfo {
  /** A signature. */
  [key: string]: {
    inputs: { [key: string]: SavedModelTensorInfo };
    outputs: { [key: string]: SavedModelTensorInfo };
  };
}
/** A graph of a SavedModel. */
export interface MetaGraphInfo {
  /** Its tags. */
  tags: string[];
  /** Its signatures. */
  signatureDefs: SignatureDefInfo;
}
/** A signature of a model. */
export interface SignatureDefEntry {
  /** Its inputs. */
  inputs: { [key: string]: ModelTensorInfo };
  /** Its outputs. */
  outputs: { [key: string]: ModelTensorInfo };
}
/** Signatures of a model. */
export interface SignatureDef {
  /** A signature. */
  [key: string]: SignatureDefEntry;
}
/** A graph of a model. */
export interface MetaGraph {
  /** Its tags. */
  tags: string[];
  /** Its signatures. */
  signatureDefs: SignatureDef;
}
