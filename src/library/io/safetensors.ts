/** Safetensors files: a JSON header and raw little-endian arrays. */
import { wantObject } from "../../engine/core/arguments.ts";
import { type DType, DTYPES } from "../../engine/core/dtype.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { DataLossError, UnimplementedError } from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { QuantizedTensor } from "../../engine/ops/quantised/quantized_tensor.ts";
import { isConcrete, isShape, type Shape, sizeOf } from "../../engine/core/shape.ts";
import {
  arrayOverBytes,
  type Bytes,
  bytesOfArray,
  checkBytes,
  checkHostable,
  concatBytes,
  hostArray,
  unreadable,
  viewOf,
  type Writable,
} from "./bytes.ts";
import { lookingLike } from "./kinds/file_kinds.ts";
import { quantizedEntries } from "./quantized.ts";

const NAMES: Partial<Record<DType, string>> = {
  float64: "F64",
  float32: "F32",
  float16: "F16",
  bfloat16: "BF16",
  int64: "I64",
  int32: "I32",
  int16: "I16",
  int8: "I8",
  uint64: "U64",
  uint32: "U32",
  uint16: "U16",
  uint8: "U8",
  bool: "BOOL",
};
const DTYPE_OF: ReadonlyMap<string, DType> = new Map(
  Object.entries(NAMES).map(([d, n]) => [n, d as DType]),
);
const METADATA = "__metadata__";
/** Bytes of the header's length, with which a file begins. */
export const LENGTH_BYTES = 8;
/** Longest header the format allows. */
const MAX_HEADER = 100_000_000;

/** Contents of a safetensors file. */
export interface Safetensors {
  readonly tensors: Record<string, NdArray>;
  readonly metadata: Record<string, string>;
}

/**
 * Reads a safetensors file. Throws `DataLossError` for invalid bytes or parts that do not fit, `UnimplementedError` for
 * an element type that Weft lacks.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const bytes = await tf.io.writeSafetensors({ w: tf.tensor([1, 2]) }, { step: "7" });
 * const { tensors, metadata } = tf.io.readSafetensors(bytes);
 * console.log([tensors.w.toArray(), metadata.step]); // [[1, 2], "7"]
 * ```
 */
export function readSafetensors(bytes: Uint8Array): Safetensors {
  checkBytes(bytes, "safetensors file");
  const { entries, metadata } = readLayout(
    bytes.subarray(0, headerEnd(bytes, bytes.length)),
    bytes.length,
  );
  const tensors = Object.fromEntries(
    entries.map((entry) => [entry.name, arrayOf(entry, bytes.slice(entry.from, entry.to))]),
  );
  return { tensors, metadata };
}

/** The tensors and metadata of a file. */
export interface Layout {
  readonly entries: readonly Entry[];
  readonly metadata: Readonly<Record<string, string>>;
}

/** Returns where the header of a file of `size` bytes ends, by its first bytes. Throws `DataLossError`. */
export function headerEnd(start: Uint8Array, size: number): number {
  if (size < LENGTH_BYTES) {
    throw bad(`it has ${size} bytes, the header's length alone takes ${LENGTH_BYTES}`);
  }
  const length = Number(viewOf(start).getBigUint64(0, true));
  if (length > MAX_HEADER) {
    const why = `its header would take ${length} bytes, at most ${MAX_HEADER} are allowed`;
    throw bad(why + lookingLike(start));
  }
  if (LENGTH_BYTES + length > size) {
    // One that is cut off looks as it should.
    const kind = lookingLike(start), other = kind.includes("safetensors") ? "" : kind;
    throw bad(`its header takes ${length} bytes, ${size - LENGTH_BYTES} are there${other}`);
  }
  return LENGTH_BYTES + length;
}

/**
 * Reads a header, from the first byte of a file of `size` bytes on. Throws `DataLossError` where it or its spans do not fit,
 * `UnimplementedError` for an element type that Weft lacks.
 */
export function readLayout(head: Uint8Array, size: number): Layout {
  const header = readHeader(new TextDecoder().decode(head.subarray(LENGTH_BYTES)));
  const entries: Entry[] = [];
  let metadata: Record<string, string> = {};
  for (const [name, value] of Object.entries(header)) {
    if (name === METADATA) metadata = readMetadata(value);
    else entries.push(readEntry(name, value));
  }
  checkSpans(entries, size - head.length);
  return {
    entries: entries.map((e) => ({ ...e, from: head.length + e.from, to: head.length + e.to })),
    metadata,
  };
}

/** Makes the array of an entry over its bytes, which it takes over where they are aligned. */
export function arrayOf({ name, dtype, shape }: Entry, bytes: Bytes): NdArray {
  return arrayOverBytes(dtype, shape, bytes, `tensor "${name}" of the safetensors file`);
}

/** Throws `DataLossError` unless the tensors fill the body one after the other: many could else read the same bytes. */
function checkSpans(entries: readonly Entry[], length: number): void {
  let at = 0;
  for (const { name, from, to } of [...entries].sort((a, b) => a.from - b.from || a.to - b.to)) {
    if (to > length) throw bad(`tensor "${name}" ends at byte ${to}, ${length} are there`);
    if (from !== at) {
      throw bad(
        `tensor "${name}" begins at byte ${from}, wanted ${at}: there must be no gaps and no overlaps`,
      );
    }
    at = to;
  }
  if (at !== length) throw bad(`${length - at} bytes follow the last tensor`);
}

/**
 * Writes a safetensors file; the widest elements come first, so that every array is aligned. A quantised matrix is written as its
 * parts, from which {@linkcode quantizedFrom} makes it again.
 * Rejects with `TypeError` for dtypes that the format lacks (complex, string) and for the name `__metadata__`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const bytes = await tf.io.writeSafetensors({ x: tf.zeros([2]), mask: tf.tensor([true, false]) });
 * console.log(tf.io.readSafetensors(bytes).tensors.mask.toArray()); // [true, false]
 * ```
 */
export async function writeSafetensors(
  tensors: Readonly<Record<string, Writable | QuantizedTensor>>,
  metadata: Readonly<Record<string, string>> = {},
): Promise<Bytes> {
  wantObject(tensors, "tensors", "writeSafetensors", "an object of tensors");
  wantObject(metadata, "metadata", "writeSafetensors", "an object of texts");
  const chunks: Bytes[] = [];
  for await (const chunk of safetensorsChunks(tensors, metadata)) chunks.push(chunk);
  return concatBytes(chunks);
}

/** Gives the bytes of a file in turn, each tensor's when it is asked for. Throws as {@linkcode writeSafetensors}, before the first. */
export async function* safetensorsChunks(
  tensors: Readonly<Record<string, Writable | QuantizedTensor>>,
  metadata: Readonly<Record<string, string>> = {},
): AsyncGenerator<Bytes> {
  const texts = { ...metadata };
  const parts = Object.entries(tensors).flatMap(
    ([name, value]): readonly (readonly [string, Writable])[] => {
      if (!(value instanceof QuantizedTensor)) return [[name, value]];
      const own = quantizedEntries(name, value);
      texts[own.metadata[0]] = own.metadata[1];
      return own.tensors;
    },
  );
  const given: [string, Writable][] = [];
  for (const [name, value] of parts) {
    checkWritable(name, value);
    given.push([name, isConcrete(value.shape) ? value : await hostArray(value)]);
  }
  given.sort(([n, a], [m, b]) => DTYPES[b.dtype].bytes - DTYPES[a.dtype].bytes || (n < m ? -1 : 1));
  yield headerOf(given, texts);
  for (const [, value] of given) yield bytesOfArray(await hostArray(value));
}

/** Throws `TypeError` for a tensor that the format cannot hold. */
function checkWritable(name: string, value: Writable): void {
  checkHostable(value);
  if (name === METADATA) {
    throw new TypeError(
      `Cannot write a tensor named "${METADATA}": safetensors keeps that name for itself`,
    );
  }
  if (NAMES[value.dtype] === undefined) {
    throw new TypeError(
      `Cannot write tensor "${name}" as safetensors: the format has no ${value.dtype}`,
    );
  }
}

/** Makes the header, padded so that the widest elements are aligned. */
function headerOf(
  given: readonly (readonly [string, Writable])[],
  texts: Readonly<Record<string, string>>,
): Bytes {
  const entries: [string, unknown][] = [];
  if (Object.keys(texts).length > 0) entries.push([METADATA, texts]);
  let at = 0;
  for (const [name, { dtype, shape }] of given) {
    const end = at + sizeOf(shape) * DTYPES[dtype].bytes;
    entries.push([name, { dtype: NAMES[dtype], shape, data_offsets: [at, end] }]);
    at = end;
  }
  const text = new TextEncoder().encode(JSON.stringify(Object.fromEntries(entries)));
  const padded = Math.ceil(text.length / 8) * 8;
  const header = new Uint8Array(LENGTH_BYTES + padded).fill(0x20);
  viewOf(header).setBigUint64(0, BigInt(padded), true);
  header.set(text, LENGTH_BYTES);
  return header;
}

function bad(why: string): DataLossError {
  return unreadable("safetensors file", why);
}

function readHeader(text: string): Record<string, unknown> {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (e) {
    throw new DataLossError("Cannot read safetensors file: its header is no JSON", { cause: e });
  }
  if (typeof value !== "object" || value === null || Array.isArray(value)) {
    throw bad("its header is no JSON object");
  }
  return value as Record<string, unknown>;
}

/** Formats a header's value for messages: it may be nested too deeply for JSON. */
function jsonText(value: unknown): string {
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const members = Object.entries(value).slice(0, 8).map(([key, member]) =>
    `${JSON.stringify(key)}:${
      typeof member === "object" && member !== null && !Array.isArray(member)
        ? "{…}"
        : Array.isArray(member)
        ? `[${member.slice(0, 8).map((m) => typeof m === "object" ? "…" : JSON.stringify(m))}]`
        : JSON.stringify(member)
    }`
  );
  return `{${members}}`;
}

function readMetadata(value: unknown): Record<string, string> {
  const isText = typeof value === "object" && value !== null && !Array.isArray(value) &&
    Object.values(value).every((v) => typeof v === "string");
  if (!isText) throw bad("its metadata is no object of texts");
  return value as Record<string, string>;
}

/** A tensor of a file, and its first byte and the one after its last. */
export interface Entry {
  readonly name: string;
  readonly dtype: DType;
  readonly shape: Shape;
  readonly from: number;
  readonly to: number;
}

function readEntry(name: string, value: unknown): Entry {
  const { dtype: code, shape, data_offsets: offsets } = (value ?? {}) as Record<string, unknown>;
  const fits = typeof code === "string" && Array.isArray(shape) && isShape(shape) &&
    Array.isArray(offsets) && offsets.length === 2 && isShape(offsets) && offsets[0] <= offsets[1];
  if (!fits) {
    throw bad(
      `tensor "${name}" is described as ${jsonText(value)}, wanted dtype, shape and data_offsets`,
    );
  }
  const dtype = DTYPE_OF.get(code);
  if (dtype === undefined) {
    throw new UnimplementedError(
      `Cannot read tensor "${name}" of the safetensors file: element type ${code} is not known, wanted one of ${
        [...DTYPE_OF.keys()].join(", ")
      }`,
    );
  }
  const [from, to] = offsets as [number, number];
  const wanted = sizeOf(shape) * DTYPES[dtype].bytes;
  if (to - from !== wanted) {
    throw bad(`tensor "${name}" of ${code}[${shape}] spans ${to - from} bytes, wanted ${wanted}`);
  }
  return { name, dtype, shape, from, to };
}
