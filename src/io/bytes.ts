/**
 * Little helpers on bytes: arrays over them whatever their alignment, byte order, concatenation, CRC-32.
 */
import { describe } from "../core/convert.ts";
import { type DType, dtypeOfArray, DTYPES, type HostData, type TypedArray } from "../core/dtype.ts";
import { DataLossError } from "../core/errors.ts";
import { NdArray } from "../core/nd_array.ts";
import { type Shape, sizeOf } from "../core/shape.ts";
import { Tensor } from "../core/tensor.ts";

export { concatBytes, viewOf } from "../core/text.ts";

/** Bytes over a plain buffer, as files want them. */
export type Bytes = Uint8Array<ArrayBuffer>;

/** What can be written: a host array, or a tensor, which is read. */
export type Writable = NdArray | Tensor;

/** The value to write. Throws what reading a tensor throws. */
export async function hostArray(value: Writable): Promise<NdArray> {
  if (value instanceof Tensor) return await value.ndarray();
  if (value instanceof NdArray) return value;
  throw new TypeError(`Cannot write ${describe(value)}: wanted a tensor or an NdArray`);
}

/** Throws `TypeError` for what is no array of bytes. */
export function checkBytes(bytes: unknown, what: string): void {
  if (dtypeOfArray(bytes) === "uint8") return;
  throw new TypeError(`Cannot read ${what}: wanted a Uint8Array, received ${describe(bytes)}`);
}

/** An array over a copy of little-endian bytes. Throws `DataLossError` where their number does not fit the shape. */
export function arrayFromBytes(
  dtype: DType,
  shape: Shape,
  bytes: Uint8Array,
  what: string,
): NdArray {
  const { array, bytes: width } = DTYPES[dtype];
  const wanted = sizeOf(shape) * width;
  if (bytes.length !== wanted) {
    throw new DataLossError(
      `Cannot read ${what}: ${dtype}[${shape}] takes ${wanted} bytes, received ${bytes.length}`,
    );
  }
  if (array === undefined) {
    throw new TypeError(`Cannot read ${what}: this runtime has no array for ${dtype}`);
  }
  const copy = bytes.slice();
  // True is 1: kernels compare the bytes.
  if (dtype === "bool") { for (let i = 0; i < copy.length; i++) if (copy[i] > 1) copy[i] = 1; }
  return new NdArray(dtype, [...shape], new array(copy.buffer as ArrayBuffer) as HostData);
}

/** The elements as little-endian bytes, not copied. */
export function bytesOfArray(array: NdArray): Bytes {
  const data = array.data as TypedArray;
  return new Uint8Array(data.buffer as ArrayBuffer, data.byteOffset, data.byteLength);
}

/** Reverses the bytes of each element of `width` bytes, in place. */
export function swapBytes(bytes: Uint8Array, width: number): void {
  for (let i = 0; i + width <= bytes.length; i += width) bytes.subarray(i, i + width).reverse();
}

/** Remainders of a byte, and of one that 1, 2 and 3 zero bytes follow, 256 each: four bytes are looked up at once. */
const CRC_TABLE = new Uint32Array(4 * 256);
for (let n = 0; n < CRC_TABLE.length; n++) {
  let c = n < 256 ? n : CRC_TABLE[n - 256];
  for (let k = 0; k < 8; k++) c = c & 1 ? 0xedb88320 ^ (c >>> 1) : c >>> 1;
  CRC_TABLE[n] = c;
}

/** CRC-32 as zip files have it. */
export function crc32(bytes: Uint8Array): number {
  const whole = bytes.length & ~3;
  let c = -1;
  for (let i = 0; i < whole; i += 4) {
    c ^= bytes[i] | bytes[i + 1] << 8 | bytes[i + 2] << 16 | bytes[i + 3] << 24;
    c = CRC_TABLE[768 + (c & 255)] ^ CRC_TABLE[512 + (c >>> 8 & 255)] ^
      CRC_TABLE[256 + (c >>> 16 & 255)] ^ CRC_TABLE[c >>> 24];
  }
  for (let i = whole; i < bytes.length; i++) c = CRC_TABLE[(c ^ bytes[i]) & 255] ^ (c >>> 8);
  return ~c >>> 0;
}
