/** Reads and writes values of a GraphDef: attributes, shapes and constants in JSON form. */
import { describe } from "../../engine/core/convert.ts";
import { asDType, type DType, DTYPES, isBigInt } from "../../engine/core/dtype.ts";
import type { AttrDef } from "../../engine/core/signature.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import {
  checkRank,
  isConcrete,
  type PartialShape,
  shapeText,
  sizeOf,
} from "../../engine/core/shape.ts";
import { ValueError } from "../../engine/core/errors.ts";
import type { Budget } from "./check.ts";
import type {
  AttrValueJson,
  BytesJson,
  ShapeJson,
  TensorJson,
} from "../../engine/graph/graph_def_json.ts";

/**
 * Reads an attribute from its JSON form. Throws `ValueError` for an invalid value, and for a type that files do not
 * hold.
 */
export function attrFromJson(def: AttrDef, v: AttrValueJson, budget: Budget): unknown {
  try {
    return readAttr(def, v as Readonly<Record<string, unknown>>, budget);
  } catch (e) {
    if (!(e instanceof ValueError || e instanceof TypeError)) throw e;
    throw new ValueError(`Cannot read attribute "${def.name}" of type ${def.type}: ${e.message}`);
  }
}

function readAttr(
  def: AttrDef,
  v: Readonly<Record<string, unknown>>,
  budget: Budget,
): unknown {
  if (def.type === "tensor") return tensorFromJson(v.tensor, budget);
  const { kind, isList } = kindOf(def);
  if (kind === undefined) throw new ValueError("a GraphDef does not hold that");
  const { field, read, empty } = kind;
  if (!isList) {
    const value = v[field] === undefined ? empty() : read(v[field]);
    if (def.least === undefined || value as number >= def.least) return value;
    throw new ValueError(
      `Value for attr '${def.name}' of ${value} must be at least minimum ${def.least}`,
    );
  }
  const lists = v.list === undefined ? {} : recordOf(v.list);
  return listOf(lists[field]).map(read);
}

/** The AttrValue field of a type, with its reader and writer. */
interface Kind {
  readonly field: keyof AttrValueJson;
  readonly read: (v: unknown) => unknown;
  // deno-lint-ignore no-explicit-any
  readonly write: (v: any) => unknown;
  /** The default for an omitted value. */
  readonly empty: () => unknown;
}

const KINDS: Readonly<Record<string, Kind>> = {
  type: {
    field: "type",
    read: asDType,
    write: (t: DType) => DTYPES[t].tfEnum,
    empty: () => asDType(undefined),
  },
  bool: { field: "b", read: boolOf, write: (v) => v, empty: () => false },
  int: { field: "i", read: intOf, write: String, empty: () => 0 },
  int64: { field: "i", read: int64Of, write: String, empty: () => 0 },
  float: { field: "f", read: floatOf, write: floatToJson, empty: () => 0 },
  string: { field: "s", read: text, write: base64Text, empty: () => "" },
  shape: { field: "shape", read: shapeFromJson, write: shapeToJson, empty: () => [] },
};

/** Returns the kind of an attribute's values, and true for a list of them. */
function kindOf({ type }: AttrDef): { readonly kind: Kind | undefined; readonly isList: boolean } {
  const list = /^list\((.*)\)$/.exec(type);
  return { kind: KINDS[list ? list[1] : type], isList: list !== null };
}

function unlike(v: unknown, wanted: string): never {
  throw new ValueError(`received ${describe(v)}, wanted ${wanted}`);
}
function recordOf(v: unknown): Readonly<Record<string, unknown>> {
  return typeof v === "object" && v !== null && !Array.isArray(v)
    ? v as Record<string, unknown>
    : unlike(v, "an object");
}
function listOf(v: unknown): readonly unknown[] {
  return v === undefined ? [] : Array.isArray(v) ? v : unlike(v, "a list");
}
function boolOf(v: unknown): boolean {
  return typeof v === "boolean" ? v : unlike(v, "true or false");
}
/** Reads a 64-bit integer, a text in JSON. */
function intOf(v: unknown): number {
  const isNumber = typeof v === "number" || typeof v === "bigint";
  const n = isNumber || (typeof v === "string" && /^-?\d+$/.test(v)) ? Number(v) : NaN;
  if (Number.isSafeInteger(n)) return n;
  return unlike(v, Number.isInteger(n) ? "an integer that numbers hold exactly" : "an integer");
}
/** Returns a number if exact, else a bigint. */
function int64Of(v: unknown): number | bigint {
  const isText = typeof v === "string" && /^-?\d+$/.test(v);
  if (!isText && typeof v !== "bigint") return intOf(v);
  const whole = BigInt(v), n = Number(whole);
  if (BigInt.asIntN(64, whole) !== whole) return unlike(v, "an integer of 64 bits");
  return Number.isSafeInteger(n) ? n : whole;
}
function floatOf(v: unknown): number {
  if (typeof v === "number") return v;
  if (v === "NaN") return NaN;
  const n = typeof v === "string" && v.trim() !== "" ? Number(v) : NaN;
  return Number.isNaN(n) ? unlike(v, "a number") : n;
}

/** Reads a shape from its JSON form. Throws `ValueError` for an invalid one. */
export function shapeFromJson(v: unknown): PartialShape {
  const { unknownRank, dim } = recordOf(v);
  if (unknownRank !== undefined && boolOf(unknownRank)) return null;
  const dims = listOf(dim);
  checkRank(dims.length);
  return dims.map((d) => {
    // Files omit zeros.
    const size = intOf(recordOf(d).size ?? 0);
    if (size < -1) throw new ValueError(`the dimension ${size} is negative`);
    return size === -1 ? null : size;
  });
}

function tensorFromJson(v: unknown, budget: Budget): NdArray {
  const t = recordOf(v);
  const dtype = asDType(t.dtype), { kind, array, slots, bytes: width } = DTYPES[dtype];
  const shape = shapeFromJson(t.tensorShape ?? {});
  if (!isConcrete(shape)) throw new ValueError("a constant must have a known shape");
  const size = sizeOf(shape);
  if (kind === "string") {
    const strings = t.tensorContent === undefined
      ? listOf(t.stringVal).map(bytes)
      : packedStrings(bytes(t.tensorContent), size);
    const last = strings.at(-1) ?? new Uint8Array();
    checkListed(strings.length, size, budget);
    const all = Array.from({ length: size }, (_, i) => strings[i] ?? last);
    return new NdArray(dtype, shape, all);
  }
  if (kind === "handle" || array === undefined) {
    throw new ValueError(`a constant of ${dtype} cannot be read here`);
  }
  if (t.tensorContent === undefined) {
    const listed = listOf(t[VALUE_FIELDS[dtype]!]);
    checkListed(listed.length / slots, size, budget);
    return listedValues(listed, dtype, shape);
  }
  const raw = aligned(bytes(t.tensorContent), width);
  if (raw.length !== size * width) {
    throw new ValueError(
      `${dtype}${shapeText(shape)} takes ${size * width} bytes, received ${raw.length}`,
    );
  }
  // True is 1: kernels compare the bytes.
  const whole = kind === "bool" ? raw.map((b) => b === 0 ? 0 : 1) : raw;
  const at = whole.byteOffset;
  return new NdArray(dtype, shape, new array(whole.buffer as ArrayBuffer, at, size * slots));
}

/** Splits packed strings into views: the bytes begin with all lengths as varints. */
function packedStrings(raw: Uint8Array, count: number): Uint8Array[] {
  if (count > raw.length) throw new ValueError(`${raw.length} bytes cannot hold ${count} strings`);
  let at = 0;
  const lengths = Array.from({ length: count }, () => {
    for (let n = 0, scale = 1;; scale *= 128) {
      const byte = raw[at++] ?? 0;
      n += (byte & 127) * scale;
      if (byte < 128 || at > raw.length) return n;
    }
  });
  const strings = lengths.map((n) => raw.subarray(at, at += n));
  if (at === raw.length) return strings;
  throw new ValueError(`${count} strings take ${at} bytes, received ${raw.length}`);
}

/** Throws `ValueError` for more elements than fit, or for too many repetitions of the last. */
function checkListed(listed: number, wanted: number, budget: Budget): void {
  if (listed > wanted || !Number.isInteger(listed)) {
    throw new ValueError(`${wanted} elements were announced, received ${listed}`);
  }
  budget.repeated(wanted - listed);
}

/** Reads values from a typed field: the last one repeats, and an empty field means zeros. */
function listedValues(
  values: readonly unknown[],
  dtype: DType,
  shape: readonly number[],
): NdArray {
  const out = NdArray.zeros(dtype, shape);
  const { slots } = DTYPES[dtype], n = out.size * slots;
  if (values.length === 0) return out;
  const data = out.data as { [i: number]: number | bigint };
  const half = VALUE_FIELDS[dtype] === "halfVal"
    ? new Uint16Array((out.data as Uint16Array).buffer)
    : null;
  const read = (v: unknown): number | bigint => {
    if (dtype === "bool") return boolOf(v) ? 1 : 0;
    if (isBigInt(dtype)) return bigintOf(v);
    return DTYPES[dtype].kind === "int" || DTYPES[dtype].kind === "uint" ? intOf(v) : floatOf(v);
  };
  const listed = values.map(read);
  for (let i = 0; i < n; i++) {
    const v = listed[i < listed.length ? i : listed.length - slots + i % slots];
    // Halves come as their bits.
    if (half) half[i] = Number(v);
    else data[i] = v;
  }
  return out;
}

function bigintOf(v: unknown): bigint {
  if (typeof v === "bigint") return v;
  return typeof v === "string" && /^-?\d+$/.test(v) ? BigInt(v) : BigInt(intOf(v));
}

/** The TensorProto field of elements that are not packed into bytes. */
const VALUE_FIELDS: Partial<Record<DType, string>> = {
  float32: "floatVal",
  float64: "doubleVal",
  float16: "halfVal",
  bfloat16: "halfVal",
  int8: "intVal",
  int16: "intVal",
  int32: "intVal",
  uint8: "intVal",
  uint16: "intVal",
  int64: "int64Val",
  uint32: "uint32Val",
  uint64: "uint64Val",
  bool: "boolVal",
  complex64: "scomplexVal",
  complex128: "dcomplexVal",
};

/**
 * Returns the bytes of a field; in a binary file they are views into it, which must not be written. Throws `ValueError`
 * for invalid base64.
 */
export function bytes(value: unknown): Uint8Array {
  if (value instanceof Uint8Array) return value;
  if (typeof value !== "string") return unlike(value, "base64");
  try {
    return fromBase64(value);
  } catch {
    return unlike(value, "base64");
  }
}

interface Base64Decoder {
  fromBase64?(text: string): Uint8Array;
}

function fromBase64(text: string): Uint8Array {
  const platform = (Uint8Array as unknown as Base64Decoder).fromBase64;
  if (platform) return platform.call(Uint8Array, text);
  const binary = atob(text), out = new Uint8Array(binary.length);
  for (let i = 0; i < binary.length; i++) out[i] = binary.charCodeAt(i);
  return out;
}

/** Returns the same bytes, aligned for an array of elements of `width` bytes. */
function aligned(raw: Uint8Array, width: number): Uint8Array {
  return raw.byteOffset % width === 0 ? raw : new Uint8Array(raw);
}

/** Decodes UTF-8; null for invalid bytes. */
export function wellFormedText(value: BytesJson): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes(value));
  } catch {
    return null;
  }
}

/** Decodes UTF-8. Throws `ValueError` for invalid bytes. */
export function text(value: unknown): string {
  return new TextDecoder().decode(bytes(value));
}

/** Writes an attribute in JSON form. */
export function attrToJson(def: AttrDef, value: unknown): AttrValueJson {
  if (def.type === "tensor") return { tensor: tensorToJson(value as NdArray) };
  const { kind, isList } = kindOf(def);
  if (kind !== undefined) {
    const { field, write } = kind;
    return isList
      ? { list: { [field]: (value as unknown[]).map(write) } }
      : { [field]: write(value) };
  }
  throw new ValueError(`Cannot write attribute "${def.name}" of type ${def.type} to a GraphDef`);
}

function floatToJson(v: number): number | "NaN" | "Infinity" | "-Infinity" {
  return Number.isFinite(v) ? v : String(v) as "NaN" | "Infinity" | "-Infinity";
}

/** Writes a shape in JSON form. */
export function shapeToJson(shape: PartialShape): ShapeJson {
  return shape === null
    ? { unknownRank: true }
    : { dim: shape.map((d) => ({ size: String(d ?? -1) })) };
}

/** Writes a constant with its array's own bytes, for readers of files: nothing is copied. */
export function constantToJson(a: NdArray): TensorJson {
  return tensorToJson(a, (bytes) => bytes);
}

/** Writes a constant in JSON form. */
export function tensorToJson(
  a: NdArray,
  write: (bytes: Uint8Array) => BytesJson = base64,
): TensorJson {
  const base = { dtype: DTYPES[a.dtype].tfEnum, tensorShape: shapeToJson(a.shape) };
  if (a.dtype === "string") return { ...base, stringVal: (a.data as Uint8Array[]).map(write) };
  const { buffer, byteOffset, byteLength } = a.data as Float32Array;
  return { ...base, tensorContent: write(new Uint8Array(buffer, byteOffset, byteLength)) };
}

/** Encodes bytes as base64, the JSON form of protocol buffers. */
export function base64(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x8000) {
    text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  }
  return btoa(text);
}

/** Encodes a text as base64 bytes. */
export function base64Text(text: string): string {
  return base64(new TextEncoder().encode(text));
}
