/** Safetensors files: a JSON header and raw little-endian arrays. */
import { wantObject } from "../../engine/core/arguments.ts";
import { type DType, DTYPES } from "../../engine/core/dtype.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { DataLossError, UnimplementedError } from "../../engine/core/errors.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { QuantizedTensor } from "../../engine/ops/quantised/quantized_tensor.ts";
import { isShape, type Shape, sizeOf } from "../../engine/core/shape.ts";
import {
  arrayFromBytes,
  type Bytes,
  bytesOfArray,
  checkBytes,
  concatBytes,
  hostArray,
  unreadable,
  viewOf,
  type Writable,
} from "./bytes.ts";
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
 * import { assertEquals } from "@std/assert";
 * const bytes = await tf.io.writeSafetensors({ w: tf.tensor([1, 2]) }, { step: "7" });
 * const { tensors, metadata } = tf.io.readSafetensors(bytes);
 * assertEquals([tensors.w.toArray(), metadata.step], [[1, 2], "7"]);
 * ```
 */
export function readSafetensors(bytes: Uint8Array): Safetensors {
  checkBytes(bytes, "safetensors file");
  if (bytes.length < 8) {
    throw bad(`it has ${bytes.length} bytes, the header's length alone takes 8`);
  }
  const length = Number(viewOf(bytes).getBigUint64(0, true));
  if (length > MAX_HEADER) {
    throw bad(`its header would take ${length} bytes, at most ${MAX_HEADER} are allowed`);
  }
  if (8 + length > bytes.length) {
    throw bad(`its header takes ${length} bytes, ${bytes.length - 8} are there`);
  }
  const header = readHeader(new TextDecoder().decode(bytes.subarray(8, 8 + length)));
  const body = bytes.subarray(8 + length);
  const entries: Entry[] = [];
  let metadata: Record<string, string> = {};
  for (const [name, value] of Object.entries(header)) {
    if (name === METADATA) metadata = readMetadata(value);
    else entries.push(readEntry(name, value));
  }
  checkSpans(entries, body.length);
  const tensors = Object.fromEntries(entries.map(({ name, dtype, shape, from, to }) => {
    const what = `tensor "${name}" of the safetensors file`;
    return [name, arrayFromBytes(dtype, shape, body.subarray(from, to), what)];
  }));
  return { tensors, metadata };
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
 * import { assertEquals } from "@std/assert";
 * const bytes = await tf.io.writeSafetensors({ x: tf.zeros([2]), mask: tf.tensor([true, false]) });
 * assertEquals(tf.io.readSafetensors(bytes).tensors.mask.toArray(), [true, false]);
 * ```
 */
export async function writeSafetensors(
  tensors: Readonly<Record<string, Writable | QuantizedTensor>>,
  metadata: Readonly<Record<string, string>> = {},
): Promise<Bytes> {
  wantObject(tensors, "tensors", "writeSafetensors", "an object of tensors");
  wantObject(metadata, "metadata", "writeSafetensors", "an object of texts");
  const arrays: [string, NdArray][] = [], texts = { ...metadata };
  const given = Object.entries(tensors).flatMap(
    ([name, value]): readonly (readonly [string, Writable])[] => {
      if (!(value instanceof QuantizedTensor)) return [[name, value]];
      const own = quantizedEntries(name, value);
      texts[own.metadata[0]] = own.metadata[1];
      return own.tensors;
    },
  );
  for (const [name, value] of given) {
    const array = await hostArray(value);
    if (name === METADATA) {
      throw new TypeError(
        `Cannot write a tensor named "${METADATA}": safetensors keeps that name for itself`,
      );
    }
    if (NAMES[array.dtype] === undefined) {
      throw new TypeError(
        `Cannot write tensor "${name}" as safetensors: the format has no ${array.dtype}`,
      );
    }
    arrays.push([name, array]);
  }
  arrays.sort(([n, a], [m, b]) =>
    DTYPES[b.dtype].bytes - DTYPES[a.dtype].bytes || (n < m ? -1 : 1)
  );
  const entries: [string, unknown][] = [];
  if (Object.keys(texts).length > 0) entries.push([METADATA, texts]);
  let at = 0;
  for (const [name, array] of arrays) {
    const end = at + bytesOfArray(array).length;
    const { dtype, shape } = array;
    entries.push([name, { dtype: NAMES[dtype], shape, data_offsets: [at, end] }]);
    at = end;
  }
  let text = JSON.stringify(Object.fromEntries(entries));
  let encoded = new TextEncoder().encode(text);
  if (encoded.length % 8 !== 0) {
    text += " ".repeat(8 - encoded.length % 8);
    encoded = new TextEncoder().encode(text);
  }
  const length = new Uint8Array(8);
  viewOf(length).setBigUint64(0, BigInt(encoded.length), true);
  return concatBytes([length, encoded, ...arrays.map(([, a]) => bytesOfArray(a))]);
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

/** A tensor's entry in the header. */
interface Entry {
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
