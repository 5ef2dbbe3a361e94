/** Datatypes, dataspaces and values of HDF5 as h5py writes them. */
import type { DType } from "../../engine/core/dtype.ts";
import { UnimplementedError } from "../../engine/core/errors.ts";
import { unreadable, viewOf } from "../../library/io/bytes.ts";

/** The name of the format in errors. */
export const HDF5 = "HDF5 file";
/** An address that leads nowhere. */
const NOWHERE = 0xffff_ffff_ffff_ffffn;

/** The error of a damaged file. */
export const damaged = (why: string): Error => unreadable(HDF5, why);
/** The error of a feature that Keras does not write. */
export const unsupported = (feature: string): Error =>
  new UnimplementedError(`Cannot read ${HDF5}: ${feature} is not supported`);

/** A cursor over little-endian bytes that never leaves them. */
export class Cursor {
  readonly bytes: Uint8Array;
  readonly #view: DataView;
  at: number;

  /** Begins at `at` and ends at `end` of the file, which both lie in it. */
  constructor(file: Uint8Array, at: number, end: number = file.length) {
    if (at > end || end > file.length) throw damaged(`byte ${end} is beyond its end`);
    this.bytes = file.subarray(0, end);
    this.#view = viewOf(this.bytes);
    this.at = at;
  }

  /** Bytes left. */
  get left(): number {
    return this.bytes.length - this.at;
  }

  #step(width: number): number {
    const from = this.at;
    if (width > this.left) throw damaged(`byte ${from + width} is beyond its end`);
    this.at += width;
    return from;
  }
  /** Reads an unsigned integer of 1, 2 or 4 bytes. */
  uint(width: 1 | 2 | 4): number {
    const from = this.#step(width);
    if (width === 1) return this.#view.getUint8(from);
    return width === 2 ? this.#view.getUint16(from, true) : this.#view.getUint32(from, true);
  }
  /** Reads a length of 8 bytes. */
  length(): number {
    const value = this.#view.getBigUint64(this.#step(8), true);
    if (value > BigInt(Number.MAX_SAFE_INTEGER)) throw damaged(`length ${value} is not possible`);
    return Number(value);
  }
  /** Reads an address, of 8 bytes; null where it leads nowhere. */
  address(): number | null {
    const value = this.#view.getBigUint64(this.#step(8), true);
    if (value === NOWHERE) return null;
    if (value > BigInt(this.bytes.buffer.byteLength)) {
      throw damaged(`address ${value} is not in it`);
    }
    return Number(value);
  }
  /** Reads bytes. */
  take(count: number): Uint8Array {
    const from = this.#step(count);
    return this.bytes.subarray(from, from + count);
  }
  /** Reads four letters. Throws where they are others. */
  want(signature: string): void {
    const found = text(this.take(4));
    if (found !== signature) throw damaged(`"${signature}" is wanted at byte ${this.at - 4}`);
  }
  /** Skips to a multiple of 8 bytes after `from`. */
  align(from: number): void {
    this.at = from + 8 * Math.ceil((this.at - from) / 8);
  }
}

/** A text up to its first zero. */
export function text(bytes: Uint8Array): string {
  const end = bytes.indexOf(0);
  return new TextDecoder().decode(end < 0 ? bytes : bytes.subarray(0, end));
}

/** Type of elements: numbers, texts of fixed size, or texts and sequences in a global heap. */
export interface ElementType {
  /** Bytes of an element. */
  readonly size: number;
  /** Dtype of numbers; null for others. */
  readonly dtype: DType | null;
  /** Meaning of what is no number. */
  readonly kind: "number" | "text" | "heap text" | "opaque";
}

const FLOATS: Readonly<Record<number, DType>> = { 2: "float16", 4: "float32", 8: "float64" };
const INTS: Readonly<Record<number, DType>> = { 1: "int8", 2: "int16", 4: "int32", 8: "int64" };
const UINTS: Readonly<Record<number, DType>> = {
  1: "uint8",
  2: "uint16",
  4: "uint32",
  8: "uint64",
};

/** Reads a datatype message. */
export function readType(cursor: Cursor): ElementType {
  const kind = cursor.uint(1) & 15, bits = cursor.uint(1);
  cursor.take(2);
  const size = cursor.uint(4);
  if (size === 0) throw damaged("a datatype has no bytes");
  const number = (dtype: DType | undefined): ElementType => {
    if (bits & 1) throw unsupported("big-endian data");
    if (dtype === undefined) throw unsupported(`a number of ${size} bytes`);
    return { size, dtype, kind: "number" };
  };
  if (kind === 0) return number((bits & 8 ? INTS : UINTS)[size]);
  if (kind === 1) return number(FLOATS[size]);
  if (kind === 3) return { size, dtype: null, kind: "text" };
  if (kind === 5) return { size, dtype: null, kind: "opaque" };
  if (kind === 8) return { size, dtype: size === 1 ? "bool" : INTS[size] ?? null, kind: "number" };
  if (kind === 9 && (bits & 15) === 1) return { size, dtype: null, kind: "heap text" };
  throw unsupported(`datatype class ${kind}`);
}

/** Reads a dataspace message: a shape. */
export function readShape(cursor: Cursor): number[] {
  const version = cursor.uint(1), rank = cursor.uint(1);
  cursor.take(version === 1 ? 6 : 2);
  if (version !== 1 && version !== 2) throw damaged(`dataspace version ${version} is not known`);
  const shape = Array.from({ length: rank }, () => cursor.length());
  const size = shape.reduce((a, b) => a * b, 1);
  if (size > Number.MAX_SAFE_INTEGER) throw damaged(`shape [${shape}] is not possible`);
  return shape;
}

/** Reads texts of a global heap. */
function heapText(file: Uint8Array, cursor: Cursor): string {
  const size = cursor.uint(4), address = cursor.address(), index = cursor.uint(4);
  if (address === null || size === 0) return "";
  const heap = new Cursor(file, address);
  heap.want("GCOL");
  heap.take(4);
  const end = address + heap.length();
  const objects = new Cursor(file, heap.at, Math.min(end, file.length));
  while (objects.left >= 16) {
    const found = objects.uint(2);
    objects.take(6);
    const length = objects.length(), from = objects.at;
    if (found === index) return text(objects.take(Math.min(length, size)));
    if (found === 0) break;
    objects.take(length);
    objects.align(from);
  }
  throw damaged(`a text in the heap at byte ${address} is missing`);
}

/** Reads texts; null where elements are no texts. */
export function readTexts(
  file: Uint8Array,
  { size, kind }: ElementType,
  bytes: Uint8Array,
): string[] | null {
  if (kind !== "text" && kind !== "heap text") return null;
  const texts: string[] = [];
  if (kind === "heap text" && size !== 16) {
    throw damaged(`a reference of ${size} bytes is wanted 16`);
  }
  for (let at = 0; at + size <= bytes.length; at += size) {
    const element = bytes.subarray(at, at + size);
    texts.push(kind === "text" ? text(element) : heapText(file, new Cursor(element, 0)));
  }
  return texts;
}
