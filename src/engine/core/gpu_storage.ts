/** Storage of dtypes in GPU buffers, and the WGSL that loads, computes and stores their elements. */
import type { DType } from "./dtype.ts";
import { TypeError } from "./throwing/builtin_errors.ts";

/** Type of a kernel's arithmetic. */
export type AccType = "f32" | "i32" | "u32";

/** Type of complex numbers, in memory and in registers: their parts. */
const PAIR = "vec2<f32>";

interface Storage {
  readonly type: AccType | "f16" | typeof PAIR;
  /** Type of arithmetic and sums. */
  readonly acc: AccType;
  readonly bytes: 2 | 4 | 8;
}

const STORAGES: Partial<Record<DType, Storage>> = {
  float32: { type: "f32", acc: "f32", bytes: 4 },
  // Half the bytes, but the arithmetic of float32: sums keep their precision, and each result rounds once.
  float16: { type: "f16", acc: "f32", bytes: 2 },
  int32: { type: "i32", acc: "i32", bytes: 4 },
  uint32: { type: "u32", acc: "u32", bytes: 4 },
  bool: { type: "u32", acc: "u32", bytes: 4 },
  // Kernels that sum know them as twice as many float32.
  complex64: { type: PAIR, acc: "f32", bytes: 8 },
};

/** Dtypes a GPU buffer can hold. */
export const GPU_DTYPES: readonly DType[] = Object.keys(STORAGES) as DType[];

function storageOf(dtype: DType): Storage {
  const storage = STORAGES[dtype];
  if (storage === undefined) throw new TypeError(`Cannot put ${dtype} on the GPU`);
  return storage;
}

/** Returns the WGSL type of an element in a storage buffer. `bool` is stored as u32. */
export function wgslType(dtype: DType): string {
  return storageOf(dtype).type;
}

export function gpuBytes(dtype: DType): number {
  return storageOf(dtype).bytes;
}

/** Returns the type of arithmetic and sums: f32 for float16. */
export function accType(dtype: DType): AccType {
  return storageOf(dtype).acc;
}

/** True where elements are f16, with arithmetic in f32. */
export function isHalf(dtype: DType): boolean {
  return storageOf(dtype).type === "f16";
}

/** Returns the WGSL type of elements for a kernel that only moves them: every 4-byte dtype is `u32`. */
export function wordType(dtype: DType): "u32" | "f16" | "vec2<u32>" {
  const { bytes } = storageOf(dtype);
  return bytes === 2 ? "f16" : bytes === 8 ? "vec2<u32>" : "u32";
}

/** Returns the text of a vector type; of the scalar where `width` is 1. */
export function vec(type: string, width: number): string {
  return width === 1 ? type : `vec${width}<${type}>`;
}

/** Returns the text of a loaded element, or of `width` neighbours, in the type of arithmetic. */
export function loadText(dtype: DType, text: string, width: number = 1): string {
  const { type, acc } = storageOf(dtype);
  return type === acc || type === PAIR ? text : `${vec(acc, width)}(${text})`;
}

/** Returns the text of a computed value, or of `width` neighbours, in the stored type. */
export function storeText(dtype: DType, text: string, width: number = 1): string {
  const { type, acc } = storageOf(dtype);
  return type === acc || type === PAIR ? text : `${vec(type, width)}(${text})`;
}

/**
 * Storage type of eight neighbours in one load, for elements of 32 bits where the profile has `words64`: four words of
 * 64 bits, the even elements in their low halves and the odd ones in their high halves.
 */
export const EIGHT = "vec4<u64>";

/** Returns the texts of the even and of the odd four of eight elements, as vectors of `type`. */
export function splitEight(type: string, text: string): readonly [string, string] {
  const halves = [`vec4<u32>(${text})`, `vec4<u32>(${text} >> vec4<u32>(32u))`] as const;
  return type === "u32"
    ? halves
    : [`bitcast<vec4<${type}>>(${halves[0]})`, `bitcast<vec4<${type}>>(${halves[1]})`];
}

/** Returns the text of eight elements, given their even and odd four as vectors of `type`. */
export function joinEight(type: string, even: string, odd: string): string {
  const word = (four: string): string =>
    `vec4<u64>(${type === "u32" ? four : `bitcast<vec4<u32>>(${four})`})`;
  return `${word(even)} | (${word(odd)} << vec4<u32>(32u))`;
}
