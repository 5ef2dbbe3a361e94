/** Tensors in ONNX's files: views of the file's bytes if possible, elements of typed fields, packed small integers. */
import {
  type DType,
  DTYPES,
  type HostData,
  makeData,
  type TypedArray,
} from "../../engine/core/dtype.ts";
import { DataLossError } from "../../engine/core/errors.ts";
import { NdArray, sealArray } from "../../engine/core/nd_array.ts";
import type { LaterBytes } from "./byte_flow.ts";
import type { Tensor } from "../proto/onnx_pb.ts";
import { dtypeOfNumber, PACKED, typeName } from "./types.ts";

/** Room for elements that are lent. */
export class Room {
  #bytes = new Uint8Array();

  /** Returns memory for so many bytes. */
  of(length: number): Uint8Array {
    if (this.#bytes.length < length) this.#bytes = new Uint8Array(length);
    return this.#bytes.subarray(0, length);
  }

  /** Copies bytes to the beginning of the room. */
  hold(bytes: Uint8Array): Uint8Array {
    const here = this.of(bytes.length);
    here.set(bytes);
    return here;
  }
}

export class TensorData {
  /** Name of the element type, as `int4`. */
  readonly type: string;
  /** The dtype that holds the elements. */
  readonly dtype: DType;
  readonly shape: readonly number[];
  #packed: Uint8Array | null = null;
  #array: NdArray | null = null;
  #later: LaterBytes | null = null;

  /** Made over an array, over packed bytes, or over bytes that are read later. */
  constructor(
    type: string,
    shape: readonly number[],
    content: NdArray | Uint8Array | LaterBytes,
  ) {
    this.type = type;
    this.shape = shape;
    if (content instanceof NdArray) this.#array = content;
    else if (content instanceof Uint8Array) this.#packed = content;
    else this.#later = content;
    this.dtype = content instanceof NdArray ? content.dtype : PACKED[type]?.dtype ?? type as DType;
  }

  /** The bytes of elements of less than a byte: the first in the low bits. */
  get packed(): Uint8Array | null {
    return this.#packed;
  }

  /** True where its elements have been read, and are kept. */
  get isHeld(): boolean {
    return this.#array !== null || this.#packed !== null;
  }

  /** The elements, which are held; packed ones are unpacked on first use. */
  get array(): NdArray {
    return this.#array ??= new NdArray(
      this.dtype,
      this.shape,
      unpack(this.#packed!, this.type, sizeOfDims(this.shape)),
    );
  }

  /** Reads the elements and keeps them. */
  async hold(): Promise<void> {
    const later = this.#later;
    if (later === null) return;
    this.#later = null;
    let own: ArrayBufferLike | null = null;
    const bytes = await readAll(later, (length) => {
      const room = new Uint8Array(length);
      own = room.buffer;
      return room;
    });
    if (Object.hasOwn(PACKED, this.type)) this.#packed = bytes;
    else {
      const array = arrayOfBytes(bytes, this.dtype, this.shape);
      this.#array = bytes.buffer === own ? sealArray(array) : array;
    }
  }

  /** Gives the elements to `use`, which keeps none. Those that are not held are read, once. */
  async lend<T>(room: Room, use: (array: NdArray) => T): Promise<T> {
    const later = this.#later;
    if (later === null) return use(this.array);
    this.#later = null;
    const bytes = await readAll(later, (length) => room.of(length));
    const step = DTYPES[this.dtype].bytes / DTYPES[this.dtype].slots;
    const aligned = bytes.byteOffset % step === 0 ? bytes : room.hold(bytes);
    const result = use(new NdArray(this.dtype, this.shape, viewOfBytes(aligned, this.dtype)));
    later.free?.(bytes);
    return result;
  }
}

async function readAll(
  later: LaterBytes,
  room?: (length: number) => Uint8Array,
): Promise<Uint8Array> {
  const bytes = await later.read(room);
  if (bytes.length === later.length) return bytes;
  throw new DataLossError(`Received ${bytes.length} bytes of a tensor, wanted ${later.length}`);
}

/** The place of a tensor's elements in another file. */
export interface ExternalPlace {
  /** The file, relative to the model's folder. */
  readonly location: string;
  /** Position of its bytes. */
  readonly offset: number;
  /** Number of bytes; null for the shape's. */
  readonly length: number | null;
}

/** Maximum elements of a tensor, and of one without elements in the file. */
const MOST_ELEMENTS = 2 ** 40;

function sizeOfDims(shape: readonly number[]): number {
  return shape.reduce((n, d) => n * d, 1);
}

/** Returns the shape of a file's tensor. Throws `DataLossError` for invalid extents. */
export function shapeOfTensor(tensor: Tensor): number[] {
  const shape = tensor.dims.map(Number);
  if (shape.some((d) => !Number.isSafeInteger(d) || d < 0) || sizeOfDims(shape) > MOST_ELEMENTS) {
    throw new DataLossError(
      `Cannot read the tensor "${tensor.name}": [${tensor.dims.slice(0, 16)}] is no shape`,
    );
  }
  return shape;
}

/** Returns the number of bytes of a tensor's elements. */
export function bytesOfTensor(tensor: Tensor): number {
  const type = typeName(tensor.dataType), size = sizeOfDims(shapeOfTensor(tensor));
  return Object.hasOwn(PACKED, type)
    ? Math.ceil(size * PACKED[type].bits / 8)
    : size * DTYPES[dtypeOfNumber(tensor.dataType)].bytes;
}

/**
 * Returns the external place of a tensor's elements; null if the file itself has them. Throws `DataLossError` for an
 * invalid place.
 */
export function externalPlace(tensor: Tensor): ExternalPlace | null {
  if (tensor.dataLocation !== 1) return null;
  const entries = new Map(tensor.externalData.map(({ key, value }) => [key, value]));
  const number = (key: string): number | null => {
    const text = entries.get(key);
    if (text === undefined) return null;
    const value = /^\d{1,16}$/.test(text) ? Number(text) : NaN;
    if (Number.isSafeInteger(value)) return value;
    throw new DataLossError(
      `Cannot read the tensor "${tensor.name}": the ${key} of its external data is "${
        text.slice(0, 40)
      }"`,
    );
  };
  const location = entries.get("location") ?? "";
  if (location === "") {
    throw new DataLossError(
      `Cannot read the tensor "${tensor.name}": its external data has no location`,
    );
  }
  return { location, offset: number("offset") ?? 0, length: number("length") };
}

/**
 * Reads a tensor, without a copy if the file's elements have the form of memory. `bytes` are those of another file, or that are read
 * later. Throws `DataLossError` for more or fewer elements than the shape has, `UnimplementedError` for an unsupported type.
 */
export function readTensor(
  tensor: Tensor,
  bytes: Uint8Array | LaterBytes | null = null,
): TensorData {
  const type = typeName(tensor.dataType), dtype = dtypeOfNumber(tensor.dataType);
  const shape = shapeOfTensor(tensor), size = sizeOfDims(shape);
  const raw = bytes ?? (tensor.rawData.length > 0 ? tensor.rawData : null);
  if (raw !== null && dtype !== "string") {
    const wanted = bytesOfTensor(tensor);
    if (raw.length !== wanted) throw wrongCount(tensor, `${raw.length} bytes`, `${wanted}`);
    if (!(raw instanceof Uint8Array)) return new TensorData(type, shape, raw);
    const content = Object.hasOwn(PACKED, type) ? raw : arrayOfBytes(raw, dtype, shape);
    return new TensorData(type, shape, content);
  }
  const data = typedElements(tensor, type, dtype, size);
  return new TensorData(
    type,
    shape,
    data instanceof Uint8Array && Object.hasOwn(PACKED, type)
      ? data
      : new NdArray(dtype, shape, data),
  );
}

function arrayOfBytes(raw: Uint8Array, dtype: DType, shape: readonly number[]): NdArray {
  const data = viewOfBytes(raw, dtype), array = new NdArray(dtype, shape, data);
  // A copy is this reader's alone; the file's bytes may be the caller's.
  return data.buffer === raw.buffer ? array : sealArray(array);
}

function wrongCount(tensor: Tensor, received: string, wanted: string): DataLossError {
  return new DataLossError(
    `Cannot read the tensor "${tensor.name}" of shape [${tensor.dims}]: it has ${received}, wanted ${wanted}`,
  );
}

/** Returns the bytes as elements: a view if they are aligned, else a copy. */
function viewOfBytes(bytes: Uint8Array, dtype: DType): TypedArray {
  const { array, bytes: width } = DTYPES[dtype], slots = DTYPES[dtype].slots;
  const step = width / slots;
  const aligned = bytes.byteOffset % step === 0 ? bytes : bytes.slice();
  return new array!(aligned.buffer, aligned.byteOffset, aligned.length / step);
}

/** Returns the elements of the typed field of the type. */
function typedElements(tensor: Tensor, type: string, dtype: DType, size: number): HostData {
  const field = fieldOf(tensor, dtype), { bits } = PACKED[type] ?? { bits: 8 };
  const { slots } = DTYPES[dtype];
  const wanted = bits === 8 ? size * slots : Math.ceil(size * bits / 8);
  if (field.length !== wanted) {
    throw wrongCount(tensor, `${field.length} elements`, `${wanted}`);
  }
  if (dtype === "string") return field as Uint8Array[];
  if (bits !== 8) return Uint8Array.from(field as number[]);
  if (dtype === "float16") {
    return viewOfBytes(new Uint8Array(Uint16Array.from(field as number[]).buffer), dtype);
  }
  const data = makeData(dtype, size) as TypedArray;
  for (let i = 0; i < field.length; i++) {
    data[i] = (dtype === "uint32" ? Number(field[i]) : field[i]) as number;
  }
  return data;
}

function fieldOf(tensor: Tensor, dtype: DType): ArrayLike<number | bigint | Uint8Array> {
  switch (dtype) {
    case "float32":
    case "complex64":
      return tensor.floatData;
    case "float64":
    case "complex128":
      return tensor.doubleData;
    case "int64":
      return tensor.int64Data;
    case "uint64":
    case "uint32":
      return tensor.uint64Data;
    case "string":
      return tensor.stringData;
    default:
      return tensor.int32Data;
  }
}

/** Unpacks elements of a few bits, the first in the low ones, to bytes. */
function unpack(packed: Uint8Array, type: string, size: number): Uint8Array | Int8Array {
  const { bits, dtype } = PACKED[type], each = 8 / bits, shift = 8 - bits;
  const out = dtype === "int8" ? new Int8Array(size) : new Uint8Array(size);
  for (let i = 0; i < size; i++) {
    const high = packed[Math.floor(i / each)] << (shift - (i % each) * bits) & 0xff;
    // The highest bit of a signed element is the sign: an arithmetic shift keeps it.
    out[i] = dtype === "int8" ? (high << 24 >> 24) >> shift : high >> shift;
  }
  return out;
}
