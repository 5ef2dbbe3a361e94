/**
 * Values of a GraphDef: attributes, shapes and constants in JSON form, read and written.
 * May import core and graph files.
 */
import { asDType, type DType, DTYPES, isBigInt } from "../core/dtype.ts";
import type { AttrDef } from "../core/op.ts";
import { NdArray } from "../core/nd_array.ts";
import { type PartialShape, sizeOf } from "../core/shape.ts";
import { ValueError } from "../core/errors.ts";
import type { AttrValueJson, BytesJson, ShapeJson, TensorJson } from "./graph_def.ts";

/** An attribute from its JSON form. Throws `ValueError` for a type that files do not hold. */
export function attrFromJson(def: AttrDef, v: AttrValueJson): unknown {
  switch (def.type) {
    case "type":
      return asDType(v.type);
    case "bool":
      return v.b ?? false;
    case "int":
      return Number(v.i ?? 0);
    case "float":
      return Number(v.f ?? 0);
    case "string":
      return text(v.s ?? "");
    case "shape":
      return shapeFromJson(v.shape ?? {});
    case "tensor":
      return tensorFromJson(v.tensor!);
    case "list(type)":
      return (v.list?.type ?? []).map(asDType);
    case "list(int)":
      return (v.list?.i ?? []).map(Number);
    case "list(float)":
      return (v.list?.f ?? []).map(Number);
    case "list(bool)":
      return v.list?.b ?? [];
    case "list(string)":
      return (v.list?.s ?? []).map(text);
    case "list(shape)":
      return (v.list?.shape ?? []).map(shapeFromJson);
  }
  throw new ValueError(`Cannot read attribute "${def.name}" of type ${def.type} from a GraphDef`);
}

/** A shape from its JSON form. */
export function shapeFromJson(s: ShapeJson): PartialShape {
  if (s.unknownRank) return null;
  return (s.dim ?? []).map((d) => (Number(d.size) < 0 ? null : Number(d.size)));
}

function tensorFromJson(t: TensorJson): NdArray {
  const dtype = asDType(t.dtype);
  const shape = shapeFromJson(t.tensorShape ?? {}) as number[];
  if (dtype === "string") {
    const values = (t.stringVal ?? []).map(bytes), last = values.at(-1) ?? new Uint8Array();
    const all = Array.from({ length: sizeOf(shape) }, (_, i) => values[i] ?? last);
    return new NdArray(dtype, shape, all);
  }
  const info = DTYPES[dtype];
  if (t.tensorContent === undefined) return listedValues(t, dtype, shape);
  const raw = aligned(bytes(t.tensorContent), info.bytes);
  return new NdArray(
    dtype,
    shape,
    new info.array!(raw.buffer as ArrayBuffer, raw.byteOffset, sizeOf(shape) * info.slots),
  );
}

/** Values in a field of their own type: the last one stands for all that follow, none at all for zeros. */
function listedValues(t: TensorJson, dtype: DType, shape: readonly number[]): NdArray {
  const out = NdArray.zeros(dtype, shape);
  const field = VALUE_FIELDS[dtype];
  const values = field === undefined
    ? undefined
    : (t as unknown as Record<string, unknown>)[field] as
      | readonly (number | string | boolean)[]
      | undefined;
  if (!values || values.length === 0) return out;
  const { slots } = DTYPES[dtype];
  const data = out.data as { [i: number]: number | bigint };
  const half = field === "halfVal" ? new Uint16Array((out.data as Uint16Array).buffer) : null;
  const read = (v: number | string | boolean): number | bigint =>
    isBigInt(dtype) ? BigInt(v) : Number(v);
  for (let i = 0; i < out.size * slots; i++) {
    const v = read(values[i < values.length ? i : values.length - slots + i % slots]);
    // Halves come as their bits.
    if (half) half[i] = Number(v);
    else data[i] = v;
  }
  return out;
}

/** Where a TensorProto keeps elements that are not packed into bytes. */
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

/** Bytes of a file: those of a binary one are views into it, which nobody writes to. */
export function bytes(value: BytesJson): Uint8Array {
  return typeof value === "string" ? fromBase64(value) : value;
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

/** The same bytes where an array of elements of `width` bytes can lie over them. */
function aligned(raw: Uint8Array, width: number): Uint8Array {
  return raw.byteOffset % width === 0 ? raw : new Uint8Array(raw);
}

/** The text in bytes; null where they are no UTF-8. */
export function wellFormedText(value: BytesJson): string | null {
  try {
    return new TextDecoder("utf-8", { fatal: true }).decode(bytes(value));
  } catch {
    return null;
  }
}

/** The text in bytes. */
export function text(value: BytesJson): string {
  return new TextDecoder().decode(bytes(value));
}

/** An attribute in JSON form. */
export function attrToJson(def: AttrDef, value: unknown): AttrValueJson {
  switch (def.type) {
    case "type":
      return { type: DTYPES[value as DType].tfEnum };
    case "bool":
      return { b: value as boolean };
    case "int":
      return { i: String(value) };
    case "float":
      return { f: floatToJson(value as number) };
    case "string":
      return { s: base64Text(value as string) };
    case "shape":
      return { shape: shapeToJson(value as PartialShape) };
    case "tensor":
      return { tensor: tensorToJson(value as NdArray) };
    case "list(type)":
      return { list: { type: (value as DType[]).map((t) => DTYPES[t].tfEnum) } };
    case "list(int)":
      return { list: { i: (value as number[]).map(String) } };
    case "list(float)":
      return { list: { f: value as number[] } };
    case "list(bool)":
      return { list: { b: value as boolean[] } };
    case "list(string)":
      return { list: { s: (value as string[]).map(base64Text) } };
    case "list(shape)":
      return { list: { shape: (value as PartialShape[]).map(shapeToJson) } };
  }
  throw new ValueError(`Cannot write attribute "${def.name}" of type ${def.type} to a GraphDef`);
}

function floatToJson(v: number): number | "NaN" | "Infinity" | "-Infinity" {
  return Number.isFinite(v) ? v : String(v) as "NaN" | "Infinity" | "-Infinity";
}

/** A shape in JSON form. */
export function shapeToJson(shape: PartialShape): ShapeJson {
  return shape === null
    ? { unknownRank: true }
    : { dim: shape.map((d) => ({ size: String(d ?? -1) })) };
}

/** A constant in JSON form. */
export function tensorToJson(a: NdArray): TensorJson {
  const base = { dtype: DTYPES[a.dtype].tfEnum, tensorShape: shapeToJson(a.shape) };
  if (a.dtype === "string") return { ...base, stringVal: (a.data as Uint8Array[]).map(base64) };
  const d = a.data as Float32Array;
  return { ...base, tensorContent: base64(new Uint8Array(d.buffer, d.byteOffset, d.byteLength)) };
}

/** A constant whose bytes are its array's own: nothing is copied, for readers of files. */
export function constantToJson(a: NdArray): TensorJson {
  const base = { dtype: DTYPES[a.dtype].tfEnum, tensorShape: shapeToJson(a.shape) };
  if (a.dtype === "string") return { ...base, stringVal: a.data as Uint8Array[] };
  const { buffer, byteOffset, byteLength } = a.data as Float32Array;
  return { ...base, tensorContent: new Uint8Array(buffer, byteOffset, byteLength) };
}

function base64(bytes: Uint8Array): string {
  let text = "";
  for (let i = 0; i < bytes.length; i += 0x8000) {
    text += String.fromCharCode(...bytes.subarray(i, i + 0x8000));
  }
  return btoa(text);
}

/** A text as base64 bytes. */
export function base64Text(text: string): string {
  return base64(new TextEncoder().encode(text));
}
