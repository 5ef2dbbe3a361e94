/** Tensors as bytes: the binary extension of the Open Inference Protocol, little-endian and without padding. */
import { type DType, DTYPES, type HostData } from "../engine/core/dtype.ts";
import { NdArray } from "../engine/core/nd_array.ts";
import { sizeOf } from "../engine/core/shape.ts";
import { HttpError } from "./http_error.ts";
import type { Slices } from "./slices.ts";
import { shown, STRING_COST } from "./values.ts";

/** Strings between two looks at the clock. */
const STRINGS = 4096;

/** The protocol's names of dtypes. */
export const DATATYPES: Readonly<Partial<Record<DType, string>>> = {
  bool: "BOOL",
  uint8: "UINT8",
  uint16: "UINT16",
  uint32: "UINT32",
  uint64: "UINT64",
  int8: "INT8",
  int16: "INT16",
  int32: "INT32",
  int64: "INT64",
  float16: "FP16",
  bfloat16: "BF16",
  float32: "FP32",
  float64: "FP64",
  string: "BYTES",
};

/** A tensor's bytes, and what they mean. */
export interface Wire {
  readonly bytes: Uint8Array<ArrayBuffer>;
  readonly shape: readonly number[];
  readonly dtype: DType;
  /** Name in errors. */
  readonly what: string;
}

/** Decodes a tensor's bytes. Rejects with `HttpError` 400 where their number does not fit. */
export async function arrayFromWire(wire: Wire, slices: Slices): Promise<NdArray> {
  const { bytes, shape, dtype, what } = wire, size = sizeOf(shape);
  if (dtype === "string") return new NdArray(dtype, shape, await stringsFromWire(wire, slices));
  const wanted = size * DTYPES[dtype].bytes;
  if (bytes.length !== wanted) {
    throw new HttpError(
      400,
      `Cannot read ${what}: it has ${bytes.length} bytes, ${dtype} of shape [${shape}] wants ${wanted}`,
    );
  }
  // Bytes lie at any offset of the request, and a typed array needs an aligned one.
  const data = new DTYPES[dtype].array!(bytes.slice().buffer);
  return new NdArray(dtype, shape, data as HostData);
}

/** Reads strings, each after its length in four bytes. */
async function stringsFromWire(
  { bytes, shape, what }: Wire,
  slices: Slices,
): Promise<Uint8Array[]> {
  const size = sizeOf(shape);
  const view = new DataView(bytes.buffer, bytes.byteOffset, bytes.length);
  const out: Uint8Array[] = [];
  let at = 0;
  while (at + 4 <= bytes.length && out.length < size) {
    const length = view.getUint32(at, true);
    at += 4;
    if (at + length > bytes.length) break;
    out.push(bytes.slice(at, at += length));
    if (out.length % STRINGS !== 0) continue;
    slices.took(STRINGS * STRING_COST);
    await slices.turn();
  }
  if (out.length === size && at === bytes.length) return out;
  throw new HttpError(
    400,
    `Cannot read ${what}: its ${bytes.length} bytes are not ${size} strings with their lengths`,
  );
}

export function arrayToWire({ dtype, data }: NdArray): Uint8Array<ArrayBuffer> {
  if (dtype !== "string") {
    const { buffer, byteOffset, byteLength } = data as Uint8Array;
    return new Uint8Array(buffer as ArrayBuffer, byteOffset, byteLength);
  }
  const strings = data as Uint8Array[];
  const out = new Uint8Array(strings.reduce((n, s) => n + 4 + s.length, 0));
  const view = new DataView(out.buffer);
  let at = 0;
  for (const s of strings) {
    view.setUint32(at, s.length, true);
    out.set(s, at + 4);
    at += 4 + s.length;
  }
  return out;
}

/** Returns the dtype of a protocol's name. Throws `HttpError` 400 for an unknown one. */
export function dtypeOf(name: unknown, what: string): DType {
  const found = Object.entries(DATATYPES).find(([, n]) => n === name);
  if (found !== undefined) return found[0] as DType;
  throw new HttpError(
    400,
    `Cannot read ${what}: wanted a datatype of ${Object.values(DATATYPES).join(", ")}, received ${
      shown(name)
    }`,
  );
}
