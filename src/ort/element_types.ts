/** Element types of onnxruntime's tensors, with the classes of their data. */
import type { DType, HostData, TypedArray } from "../engine/core/dtype.ts";
import type { ElementType, TensorData } from "./tensor_types.ts";

type ArrayClass = new (buffer: ArrayBufferLike, from?: number, length?: number) => TypedArray;

const float16 = (globalThis as { Float16Array?: unknown }).Float16Array;

/** Classes of the data by element type; a string's is a plain array. Two elements of four bits share a byte. */
const CLASSES: ReadonlyMap<string, ArrayClass> = new Map(
  Object.entries({
    float32: Float32Array,
    float64: Float64Array,
    float16: float16 ?? Uint16Array,
    int8: Int8Array,
    uint8: Uint8Array,
    int16: Int16Array,
    uint16: Uint16Array,
    int32: Int32Array,
    uint32: Uint32Array,
    int64: BigInt64Array,
    uint64: BigUint64Array,
    bool: Uint8Array,
    int4: Uint8Array,
    uint4: Uint8Array,
  }).map(([type, made]) => [type, made as ArrayClass]),
);

/** Element types by the class of the data, where nothing else tells the type. */
const TYPES: ReadonlyMap<unknown, ElementType> = new Map(
  [...CLASSES].filter(([type]) => !["bool", "int4", "uint4"].includes(type))
    .filter(([type, made]) => type !== "float16" || made !== Uint16Array as unknown)
    .map(([type, made]) => [made, type as ElementType]),
);

/** Returns the class of a type's data; undefined for strings and unknown types. */
export function arrayClassOf(type: string): ArrayClass | undefined {
  return CLASSES.get(type);
}

/** Returns the type of data of a class; undefined if the class holds none. */
export function typeOfArray(data: unknown): ElementType | undefined {
  return TYPES.get(data?.constructor);
}

/** True for types whose elements share bytes. */
export function isPacked(type: string): boolean {
  return type === "int4" || type === "uint4";
}

/** Returns the dtype that holds elements of a type. */
export function dtypeOfType(type: ElementType): DType {
  return type === "int4" ? "int8" : type === "uint4" ? "uint8" : type;
}

/** Returns the data of a tensor in the form that Weft computes with. */
export function hostDataOf(type: ElementType, data: TensorData, size: number): HostData {
  if (type === "string") {
    const encoder = new TextEncoder();
    return (data as readonly string[]).map((text) => encoder.encode(text));
  }
  if (isPacked(type)) return unpack(data as Uint8Array, type === "int4", size);
  // Node before version 24 has no Float16Array, programs for all runtimes pass bits.
  if (type === "float16" && data instanceof Uint16Array) return asFloat16(data);
  return data as unknown as TypedArray;
}

/** Returns elements that Weft computed in the form of a tensor's data. */
export function tensorDataOf(data: HostData): TensorData {
  if (!Array.isArray(data)) return data as TensorData;
  const decoder = new TextDecoder();
  return data.map((bytes) => decoder.decode(bytes as Uint8Array));
}

/** Returns bits as elements of float16 if the runtime has such arrays. */
export function asFloat16(bits: Uint16Array): TypedArray {
  const made = CLASSES.get("float16")!;
  return new made(bits.buffer, bits.byteOffset, bits.length);
}

/** Unpacks elements of four bits, the first of two in the low half. */
function unpack(packed: Uint8Array, isSigned: boolean, size: number): Int8Array | Uint8Array {
  if (packed.length === size && size > 1) return isSigned ? Int8Array.from(packed) : packed;
  const out = isSigned ? new Int8Array(size) : new Uint8Array(size);
  for (let i = 0; i < size; i++) {
    const half = packed[i >> 1] >> (i % 2 * 4) & 15;
    out[i] = isSigned && half > 7 ? half - 16 : half;
  }
  return out;
}
