/** The class of onnxruntime's tensors. */
import { showAs } from "../engine/core/arrays/shown.ts";
import { Error, RangeError, TypeError } from "../engine/core/throwing/builtin_errors.ts";
import { arrayClassOf, asFloat16, isPacked, typeOfArray } from "./element_types.ts";
import { readImage, toDataUrl, toImageData } from "./tensor_image.ts";
import type {
  DataLocation,
  DrawableImage,
  ElementType,
  LocatedData,
  TensorData,
  TensorFromBufferOptions,
  TensorFromImageOptions,
  TensorFromTextureOptions,
  TensorToImageOptions,
} from "./tensor_types.ts";

/** Element types that data in these places may have. */
const TYPES_AT: Readonly<Record<string, readonly string[]>> = {
  texture: ["float32"],
  "gpu-buffer": "float32 float16 int32 int64 uint32 uint8 bool uint4 int4".split(" "),
  "ml-tensor": "float32 float16 int32 int64 uint32 uint64 int8 uint8 bool uint4 int4".split(" "),
};

/** Words of errors for these places. */
const NAMES_OF: Readonly<Record<string, string>> = {
  texture: "texture",
  "gpu-buffer": "gpu buffer",
  "ml-tensor": "MLTensor",
};

/** Elements with type and shape, as onnxruntime has them. Fields that packages read and write are plain ones. */
export class Tensor {
  /** Element type. */
  readonly type: ElementType;
  /** Shape; packages assign it. */
  dims: readonly number[];
  /** Number of elements. */
  readonly size: number;
  /** Data in JavaScript's memory; packages replace it. */
  cpuData: TensorData | undefined;
  /** Place of the data. */
  dataLocation: DataLocation;
  #memory: object | undefined;
  #download: (() => Promise<TensorData>) | undefined;
  #free: (() => void) | undefined;
  #isDownloading = false;

  /** Has the overloads of `TensorConstructor`. */
  constructor(first: unknown, second?: unknown, third?: unknown) {
    if (isLocated(first)) {
      this.type = first.type;
      this.dims = first.dims;
      this.dataLocation = first.location;
      this.#takeMemory(first);
    } else {
      const named = typeof first === "string";
      const { type, data } = named ? dataOfType(first, second) : dataOfClass(first);
      const dims = named ? third : second;
      if (dims !== undefined && !Array.isArray(dims)) {
        throw new TypeError("A tensor's dims must be a number array");
      }
      this.type = type;
      this.dims = dims ?? [data.length];
      this.cpuData = data;
      this.dataLocation = "cpu";
    }
    this.size = sizeOfDims(this.dims);
    checkLength(this.type, this.size, this.cpuData?.length);
    // Packages copy the fields of a tensor, the data among them.
    Object.defineProperty(this, "data", { enumerable: true, get: () => this.#dataHere() });
  }

  /** Elements in row-major order. Throws `Error` if they are not in JavaScript's memory. */
  declare readonly data: TensorData;

  #takeMemory(given: LocatedData): void {
    const { type, location } = given;
    if (location === "cpu-pinned") {
      const wanted = type === "string" as string ? undefined : arrayClassOf(type);
      if (wanted === undefined) {
        throw new TypeError(`unsupported type "${type}" to create tensor from pinned buffer`);
      }
      if (!(given.data instanceof wanted)) {
        throw new TypeError(`buffer should be of type ${wanted.name}`);
      }
      this.cpuData = given.data;
      return;
    }
    if (!Object.hasOwn(TYPES_AT, location)) {
      throw new Error(`Tensor constructor: unsupported location '${location}'`);
    }
    if (!TYPES_AT[location].includes(type)) {
      throw new TypeError(
        `unsupported type "${type}" to create tensor from ${NAMES_OF[location]}`,
      );
    }
    this.#memory = location === "texture"
      ? given.texture
      : location === "gpu-buffer"
      ? given.gpuBuffer
      : given.mlTensor;
    this.#download = given.download;
    this.#free = given.dispose;
  }

  #dataHere(): TensorData {
    this.#checkValid();
    if (this.cpuData !== undefined) return this.cpuData;
    throw new Error(
      "The data is not on CPU. Use `getData()` to download GPU data to CPU, or use `texture` or `gpuBuffer` property to access the GPU data directly.",
    );
  }

  #checkValid(): void {
    if (this.dataLocation === "none") throw new Error("The tensor is disposed.");
  }

  #memoryAt(location: DataLocation, what: string): object {
    this.#checkValid();
    if (this.dataLocation === location && this.#memory !== undefined) return this.#memory;
    throw new Error(`The data is not stored as a ${what}.`);
  }

  /** Place of the data. */
  get location(): DataLocation {
    return this.dataLocation;
  }
  /** The WebGPU buffer. Throws `Error` if there is none. */
  get gpuBuffer(): GPUBuffer {
    return this.#memoryAt("gpu-buffer", "WebGPU buffer") as GPUBuffer;
  }
  /** The WebGL texture. Throws `Error` if there is none. */
  get texture(): object {
    return this.#memoryAt("texture", "WebGL texture");
  }
  /** The tensor of WebNN. Throws `Error` if there is none. */
  get mlTensor(): object {
    return this.#memoryAt("ml-tensor", "WebNN MLTensor");
  }

  /** Reads the data, which is in JavaScript's memory from then on. */
  async getData(releaseData = false): Promise<TensorData> {
    this.#checkValid();
    if (this.dataLocation === "cpu" || this.dataLocation === "cpu-pinned") return this.#dataHere();
    if (this.#download === undefined) {
      throw new Error("The current tensor is not created with a specified data downloader.");
    }
    this.#checkIdle();
    this.#isDownloading = true;
    try {
      this.cpuData = await this.#download();
    } finally {
      this.#isDownloading = false;
    }
    this.#download = undefined;
    this.dataLocation = "cpu";
    if (releaseData) this.#freeMemory();
    return this.cpuData;
  }

  #checkIdle(): void {
    if (this.#isDownloading) throw new Error("The current tensor is being downloaded.");
  }

  #freeMemory(): void {
    const free = this.#free;
    this.#free = undefined;
    free?.();
  }

  /** Frees the memory. */
  dispose(): void {
    this.#checkIdle();
    this.#freeMemory();
    this.cpuData = this.#memory = this.#download = undefined;
    this.dataLocation = "none";
  }

  /** Returns a tensor of another shape over the same data. */
  reshape(dims: readonly number[]): Tensor {
    this.#checkValid();
    if (this.#download !== undefined || this.#free !== undefined) {
      throw new Error("Cannot reshape a tensor that owns GPU resource.");
    }
    const { type, dataLocation: location } = this, memory = this.#memory;
    if (location === "cpu") return new Tensor(type, this.cpuData, dims);
    return new Tensor({
      ...{ location, type, dims, data: this.cpuData },
      ...{ texture: memory, gpuBuffer: memory, mlTensor: memory },
    });
  }

  /** Returns the tensor, an image, as a `data:` URL. */
  toDataURL(options?: TensorToImageOptions): string {
    return toDataUrl(this, options);
  }
  /** Returns the tensor, an image, as pixels. */
  toImageData(options?: TensorToImageOptions): ImageData {
    return toImageData(this, options);
  }

  /** Makes a tensor of an image. */
  static async fromImage(
    image: ImageData | DrawableImage | string,
    options?: TensorFromImageOptions,
  ): Promise<Tensor> {
    const { data, dims } = await readImage(image, options);
    return new Tensor("float32", data, dims);
  }
  /** Makes a tensor over a WebGPU buffer. */
  static fromGpuBuffer(gpuBuffer: GPUBuffer, options: TensorFromBufferOptions): Tensor {
    wantField(options, "dims", "options of Tensor.fromGpuBuffer");
    const { dataType: type = "float32", ...rest } = options;
    return new Tensor({ ...rest, location: "gpu-buffer", type, gpuBuffer });
  }
  /** Makes a tensor over a WebGL texture. */
  static fromTexture(texture: object, options: TensorFromTextureOptions): Tensor {
    wantField(options, "width", "options of Tensor.fromTexture");
    const { width, height, download, dispose } = options, dims = [1, height, width, 4];
    return new Tensor({ location: "texture", type: "float32", texture, dims, download, dispose });
  }
  /** Makes a tensor over a tensor of WebNN. */
  static fromMLTensor(mlTensor: object, options: TensorFromBufferOptions): Tensor {
    wantField(options, "dims", "options of Tensor.fromMLTensor");
    const { dataType: type = "float32", ...rest } = options;
    return new Tensor({ ...rest, location: "ml-tensor", type, mlTensor });
  }
  /** Makes a tensor over memory of a runtime. */
  static fromPinnedBuffer(type: string, data: TensorData, dims?: readonly number[]): Tensor {
    if (typeof type !== "string") throw new TypeError("A tensor's type must be a string");
    wantField(data, "length", "data of Tensor.fromPinnedBuffer");
    return new Tensor({ location: "cpu-pinned", type, data, dims: dims ?? [data.length] });
  }

  /** True for onnxruntime's own tensors too, which programs hold that alias only one of its packages. */
  static [Symbol.hasInstance](value: unknown): boolean {
    if (typeof value !== "object" || value === null) return false;
    return "dataLocation" in value && "type" in value && "dims" in value && "size" in value;
  }
}
showAs(Tensor, ({ type, dims }) => `Tensor(${type}[${dims}])`);

function wantField(value: unknown, field: string, what: string): void {
  if (typeof value === "object" && value !== null && field in value) return;
  throw new TypeError(`The ${what} must be an object with ${field}`);
}

function isLocated(value: unknown): value is LocatedData {
  return typeof value === "object" && value !== null && "location" in value;
}

interface TypedData {
  readonly type: ElementType;
  readonly data: TensorData;
}

function dataOfType(type: string, given: unknown): TypedData {
  return { type: type as ElementType, data: convert(type, given) };
}

function convert(type: string, given: unknown): TensorData {
  if (type === "string") {
    if (Array.isArray(given)) return given;
    throw new TypeError("A string tensor's data must be a string array.");
  }
  const wanted = arrayClassOf(type);
  if (wanted === undefined) throw new TypeError(`Unsupported tensor type: ${type}.`);
  if (given instanceof wanted) return given as unknown as TensorData;
  if (Array.isArray(given)) return dataOfList(type, given, wanted);
  if (given instanceof Uint8ClampedArray) {
    if (type === "uint8") return Uint8Array.from(given);
    throw new TypeError("A Uint8ClampedArray tensor's data must be type of uint8");
  }
  if (type === "float16" && given instanceof Uint16Array) {
    return asFloat16(given) as unknown as TensorData;
  }
  throw new TypeError(`A ${type} tensor's data must be type of ${wanted}`);
}

function dataOfList(
  type: string,
  list: readonly unknown[],
  wanted: NonNullable<ReturnType<typeof arrayClassOf>>,
): TensorData {
  if (isPacked(type) || type === "float16" && wanted.name === "Uint16Array") {
    throw new TypeError(
      `Creating a ${type} tensor from number array is not supported. Please use ${wanted.name} as data.`,
    );
  }
  const values = wanted as unknown as { from(list: readonly unknown[]): TensorData };
  return values.from(
    type === "int64" || type === "uint64" ? list.map((v) => BigInt(v as number)) : list,
  );
}

function dataOfClass(given: unknown): TypedData {
  if (Array.isArray(given)) {
    if (given.length === 0) {
      throw new TypeError("Tensor type cannot be inferred from an empty array.");
    }
    const kind = typeof given[0];
    if (kind === "string") return { type: "string", data: given };
    if (kind === "boolean") return { type: "bool", data: Uint8Array.from(given) };
    throw new TypeError(`Invalid element type of data array: ${kind}.`);
  }
  if (given instanceof Uint8ClampedArray) return { type: "uint8", data: Uint8Array.from(given) };
  const type = typeOfArray(given);
  if (type !== undefined) return { type, data: given as TensorData };
  // Its class as text, as onnxruntime tells it.
  throw new TypeError(
    `Unsupported type for tensor data: ${String(given?.constructor ?? given)}.`,
  );
}

function sizeOfDims(dims: readonly unknown[]): number {
  return dims.reduce((size: number, dim, i) => {
    if (!Number.isSafeInteger(dim)) {
      throw new TypeError(`dims[${i}] must be an integer, got: ${dim}`);
    }
    if (dim as number >= 0) return size * (dim as number);
    throw new RangeError(`dims[${i}] must be a non-negative integer, got: ${dim}`);
  }, 1);
}

function checkLength(type: string, size: number, length: number | undefined): void {
  if (length === undefined || length === size) return;
  if (isPacked(type) && length === Math.ceil(size / 2)) return;
  throw new Error(`Tensor's size(${size}) does not match data length(${length}).`);
}
