/** Helpers on bytes: arrays over them at any alignment, byte order. */
import { describe } from "../../engine/core/convert.ts";
import {
  type DType,
  dtypeOfArray,
  DTYPES,
  type HostData,
  type TypedArray,
} from "../../engine/core/dtype.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { DataLossError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { type Shape, sizeOf } from "../../engine/core/shape.ts";
import { Tensor } from "../../engine/core/tensor.ts";
import { brief } from "../../engine/core/text.ts";

export { concatBytes, viewOf } from "../../engine/core/text.ts";

/** Bytes over a plain buffer, as files want them. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** A value that can be written: a host array, or a tensor, which is read. */
export type Writable = NdArray | Tensor;

/** Reads the value to write. Throws as {@linkcode checkHostable}. */
export async function hostArray(value: Writable): Promise<NdArray> {
  checkHostable(value);
  return value instanceof Tensor ? await value.ndarray() : value;
}

/** Throws `TypeError` unless `value` can be written. */
export function checkHostable(value: Writable): void {
  if (value instanceof Tensor || value instanceof NdArray) return;
  throw new TypeError(`Cannot write ${describe(value)}: wanted a tensor or an NdArray`);
}

/** Throws `TypeError` unless `bytes` are an array of bytes. */
export function checkBytes(bytes: unknown, what: string): void {
  if (dtypeOfArray(bytes) === "uint8") return;
  throw new TypeError(
    `Cannot read ${brief(what)}: wanted a Uint8Array, received ${describe(bytes)}`,
  );
}

/** Makes the error of unreadable bytes. */
export function unreadable(what: string, why: string): DataLossError {
  return new DataLossError(`Cannot read ${what}: ${why}`);
}

/**
 * Makes an array over a copy of little-endian bytes. Throws `DataLossError` where their number does not fit the shape.
 */
export function arrayFromBytes(
  dtype: DType,
  shape: Shape,
  bytes: Uint8Array,
  what: string,
): NdArray {
  return arrayOverBytes(dtype, shape, bytes.slice(), what);
}

/** Makes an array over little-endian bytes, which it takes over where they are aligned. Throws as {@linkcode arrayFromBytes}. */
export function arrayOverBytes(
  dtype: DType,
  shape: Shape,
  bytes: Bytes,
  what: string,
): NdArray {
  const { array, bytes: width } = DTYPES[dtype];
  const wanted = sizeOf(shape) * width;
  if (bytes.length !== wanted) {
    throw unreadable(what, `${dtype}[${shape}] takes ${wanted} bytes, received ${bytes.length}`);
  }
  if (array === undefined) {
    throw new TypeError(`Cannot read ${what}: this runtime has no array for ${dtype}`);
  }
  // A number of a pair takes half of an element's width.
  const step = DTYPES[dtype].kind === "complex" ? width / 2 : width;
  const own = bytes.byteOffset % step === 0 ? bytes : bytes.slice();
  // True must be 1: kernels compare the bytes.
  if (dtype === "bool") { for (let i = 0; i < own.length; i++) if (own[i] > 1) own[i] = 1; }
  const data = new array(own.buffer, own.byteOffset, own.length / step);
  return new NdArray(dtype, [...shape], data as HostData);
}

/** Returns the elements as little-endian bytes, not copied. */
export function bytesOfArray(array: NdArray): Bytes {
  const data = array.data as TypedArray;
  return new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
}

/** Reverses the bytes of each element of `width` bytes, in place. */
export function swapBytes(bytes: Uint8Array, width: number): void {
  for (let i = 0; i + width <= bytes.length; i += width) bytes.subarray(i, i + width).reverse();
}

/** Bytes that many readers hold together, bounded. */
export class ByteBudget {
  readonly #most: number;
  readonly #refusal: (most: number) => Error;
  #held = 0;

  /** `refusal` makes the error for bytes beyond `most`. */
  constructor(most: number, refusal: (most: number) => Error) {
    this.#most = most;
    this.#refusal = refusal;
  }

  /** Takes room for bytes. Throws the refusal where there is none. */
  take(bytes: number): void {
    if (this.#held + bytes > this.#most) throw this.#refusal(this.#most);
    this.#held += bytes;
  }

  /** Gives room back. */
  release(bytes: number): void {
    this.#held -= bytes;
  }
}
