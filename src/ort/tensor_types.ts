/** Types of onnxruntime's tensors, under which programs name them. */

/** Classes of data by element type. */
export interface DataTypeMap {
  /** 32-bit floats. */
  float32: Float32Array;
  /** Unsigned bytes. */
  uint8: Uint8Array;
  /** Signed bytes. */
  int8: Int8Array;
  /** Unsigned 16-bit integers. */
  uint16: Uint16Array;
  /** Signed 16-bit integers. */
  int16: Int16Array;
  /** Signed 32-bit integers. */
  int32: Int32Array;
  /** Signed 64-bit integers. */
  int64: BigInt64Array;
  /** Texts. */
  string: string[];
  /** 0 or 1 each. */
  bool: Uint8Array;
  /** `Float16Array` at run time where there is one, else the bits. */
  float16: Uint16Array;
  /** 64-bit floats. */
  float64: Float64Array;
  /** Unsigned 32-bit integers. */
  uint32: Uint32Array;
  /** Unsigned 64-bit integers. */
  uint64: BigUint64Array;
  /** Two elements in a byte, the first in the low bits. */
  uint4: Uint8Array;
  /** Two elements in a byte, the first in the low bits. */
  int4: Uint8Array;
}

/** Elements by element type. */
export interface ElementTypeMap {
  /** A number. */
  float32: number;
  /** A number. */
  uint8: number;
  /** A number. */
  int8: number;
  /** A number. */
  uint16: number;
  /** A number. */
  int16: number;
  /** A number. */
  int32: number;
  /** A bigint. */
  int64: bigint;
  /** A text. */
  string: string;
  /** True or false. */
  bool: boolean;
  /** A number. */
  float16: number;
  /** A number. */
  float64: number;
  /** A number. */
  uint32: number;
  /** A bigint. */
  uint64: bigint;
  /** A number. */
  uint4: number;
  /** A number. */
  int4: number;
}

/** Name of an element type. */
export type ElementType = keyof DataTypeMap;

/** Data of a tensor. */
export type TensorData = DataTypeMap[ElementType];

/** Places of data. `none`: the tensor is disposed. */
export type DataLocation =
  | "none"
  | "cpu"
  | "cpu-pinned"
  | "texture"
  | "gpu-buffer"
  | "ml-tensor";

/** Order of the channels of an image. */
export type ImageFormat = "RGB" | "RGBA" | "BGR" | "RBG";

/** Order of an image's axes. */
export type ImageTensorLayout = "NHWC" | "NCHW";

/** Numbers of channels: one for all, or one each. */
export type ChannelValues =
  | number
  | readonly [number, number, number]
  | readonly [number, number, number, number];

/** An image that a canvas draws: an image element, or a bitmap. */
export interface DrawableImage {
  /** Width in pixels. */
  readonly width: number;
  /** Height in pixels. */
  readonly height: number;
}

/** Options of images as tensors: a value is `(v + bias) / mean`. */
export interface TensorFromImageOptions {
  /** Height of the image to take. */
  readonly resizedHeight?: number;
  /** Width of the image to take. */
  readonly resizedWidth?: number;
  /** Height, for sources that have none. */
  readonly height?: number;
  /** Width, for sources that have none. */
  readonly width?: number;
  /** Channels of the tensor. Default: RGB. */
  readonly tensorFormat?: ImageFormat;
  /** Axes of the tensor: only NCHW. */
  readonly tensorLayout?: ImageTensorLayout;
  /** Type of the elements. */
  readonly dataType?: "float32" | "uint8";
  /** Scale of the values. Default: mean 255, bias 0. */
  readonly norm?: { readonly bias?: ChannelValues; readonly mean?: ChannelValues };
}

/** Options of tensors as images: a value is `(x - bias) * mean`. */
export interface TensorToImageOptions {
  /** Axes of the tensor. Default: NCHW. */
  readonly tensorLayout?: ImageTensorLayout;
  /** Channels of the tensor. Default: RGB. */
  readonly format?: ImageFormat;
  /** Scale of the values. Default: mean 255, bias 0. */
  readonly norm?: { readonly bias?: ChannelValues; readonly mean?: ChannelValues };
}

/** Functions that read and free the memory of a tensor. */
export interface ResourceFunctions<T extends ElementType = ElementType> {
  /** Reads the data. */
  download?(): Promise<DataTypeMap[T]>;
  /** Frees the memory. */
  dispose?(): void;
}

/** Options of `Tensor.fromGpuBuffer` and `Tensor.fromMLTensor`. */
export interface TensorFromBufferOptions<T extends ElementType = ElementType>
  extends ResourceFunctions<T> {
  /** Element type. Default: float32. */
  readonly dataType?: T;
  /** Shape. */
  readonly dims: readonly number[];
}

/** Options of `Tensor.fromTexture`. */
export interface TensorFromTextureOptions extends ResourceFunctions<"float32"> {
  /** Height of the image. */
  readonly height: number;
  /** Width of the image. */
  readonly width: number;
  /** Channels of the image. */
  readonly format?: ImageFormat;
}

/** Data outside of JavaScript's memory, or in memory that is shared with a runtime. */
export type LocatedData<T extends ElementType = ElementType> =
  & ResourceFunctions<T>
  & { readonly type: T; readonly dims: readonly number[] }
  & (
    | { readonly location: "cpu-pinned"; readonly data: DataTypeMap[T] }
    | { readonly location: "texture"; readonly texture: object }
    | { readonly location: "gpu-buffer"; readonly gpuBuffer: GPUBuffer }
    | { readonly location: "ml-tensor"; readonly mlTensor: object }
  );

/** A tensor whose element type is known. */
export interface TypedTensor<T extends ElementType> {
  /** Shape. */
  readonly dims: readonly number[];
  /** Element type. */
  readonly type: T;
  /** Number of elements. */
  readonly size: number;
  /** Elements in row-major order. Throws `Error` if they are not in JavaScript's memory. */
  readonly data: DataTypeMap[T];
  /** Place of the data. */
  readonly location: DataLocation;
  /** The WebGPU buffer that holds the data. Throws `Error` if there is none. */
  readonly gpuBuffer: GPUBuffer;
  /** The WebGL texture that holds the data. Throws `Error` if there is none. */
  readonly texture: object;
  /** The WebNN tensor that holds the data. Throws `Error` if there is none. */
  readonly mlTensor: object;
  /** Reads the data; the tensor has it from then on. `releaseData` frees the other memory. */
  getData(releaseData?: boolean): Promise<DataTypeMap[T]>;
  /** Returns a tensor over the same data. Throws `Error` if the sizes differ. */
  reshape(dims: readonly number[]): TypedTensor<T>;
  /** Frees the memory. */
  dispose(): void;
  /** Draws the tensor, an image, and returns it as a `data:` URL. */
  toDataURL(options?: TensorToImageOptions): string;
  /** Returns the tensor, an image, as pixels. */
  toImageData(options?: TensorToImageOptions): ImageData;
}

/** Makes tensors. */
export interface TensorConstructor {
  /** Makes a tensor of a type over an array, or of numbers, texts or booleans. */
  new <T extends ElementType>(
    type: T,
    data: DataTypeMap[T] | readonly ElementTypeMap[T][] | readonly number[] | Uint8ClampedArray,
    dims?: readonly number[],
  ): TypedTensor<T>;
  /** Makes a tensor over an array, whose class tells the type. */
  new (data: Float32Array, dims?: readonly number[]): TypedTensor<"float32">;
  /** Makes a tensor over an array, whose class tells the type. */
  new (data: Int32Array, dims?: readonly number[]): TypedTensor<"int32">;
  /** Makes a tensor over an array, whose class tells the type. */
  new (data: BigInt64Array, dims?: readonly number[]): TypedTensor<"int64">;
  /** Makes a tensor over an array, whose class tells the type. */
  new (data: readonly string[], dims?: readonly number[]): TypedTensor<"string">;
  /** Makes a tensor over an array, whose class tells the type. */
  new (data: readonly boolean[], dims?: readonly number[]): TypedTensor<"bool">;
  /** Makes a tensor over an array, whose class tells the type. */
  new (
    data: TensorData | Uint8ClampedArray,
    dims?: readonly number[],
  ): TypedTensor<ElementType>;
  /** Makes a tensor of data in a place. */
  new <T extends ElementType>(data: LocatedData<T>): TypedTensor<T>;
  /** Makes a float32 tensor of shape [1, channels, height, width] of an image or of the URL of one. */
  fromImage(
    image: ImageData | DrawableImage | string,
    options?: TensorFromImageOptions,
  ): Promise<TypedTensor<"float32">>;
  /** Makes a tensor over a WebGPU buffer, which stays the caller's. */
  fromGpuBuffer<T extends ElementType = "float32">(
    buffer: GPUBuffer,
    options: TensorFromBufferOptions<T>,
  ): TypedTensor<T>;
  /** Makes a tensor over a WebGL texture, which no session of Weft takes. */
  fromTexture(texture: object, options: TensorFromTextureOptions): TypedTensor<"float32">;
  /** Makes a tensor over a tensor of WebNN, which no session of Weft takes. */
  fromMLTensor<T extends ElementType = "float32">(
    tensor: object,
    options: TensorFromBufferOptions<T>,
  ): TypedTensor<T>;
  /** Makes a tensor over memory of a runtime. */
  fromPinnedBuffer<T extends Exclude<ElementType, "string">>(
    type: T,
    buffer: DataTypeMap[T],
    dims?: readonly number[],
  ): TypedTensor<T>;
}
