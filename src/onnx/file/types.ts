/** Element types and value types of ONNX, as files number and nest them. */
import type { DType } from "../../engine/core/dtype.ts";
import { DataLossError, UnimplementedError } from "../../engine/core/errors.ts";
import type { PartialShape } from "../../engine/core/shape.ts";
import type { TypeInfo } from "../proto/onnx_pb.ts";

/** ONNX's name of an element type by its number; empty for unknown numbers. */
const NAMES: readonly string[] = [
  "",
  "float32",
  "uint8",
  "int8",
  "uint16",
  "int16",
  "int32",
  "int64",
  "string",
  "bool",
  "float16",
  "float64",
  "uint32",
  "uint64",
  "complex64",
  "complex128",
  "bfloat16",
  "float8e4m3fn",
  "float8e4m3fnuz",
  "float8e5m2",
  "float8e5m2fnuz",
  "uint4",
  "int4",
  "float4e2m1",
  "float8e8m0",
  "uint2",
  "int2",
];

/** Types of less than a byte: bits of an element, and the dtype of its unpacked form. */
export const PACKED: Readonly<Record<string, { readonly bits: number; readonly dtype: DType }>> = {
  uint4: { bits: 4, dtype: "uint8" },
  int4: { bits: 4, dtype: "int8" },
  uint2: { bits: 2, dtype: "uint8" },
  int2: { bits: 2, dtype: "int8" },
};

/** Returns ONNX's name of an element type. Throws `DataLossError` for an unknown number. */
export function typeName(number: number): string {
  const name = NAMES[number];
  if (name) return name;
  throw new DataLossError(`Cannot read an element type: ONNX has none of number ${number}`);
}

/** Returns the dtype of an element type. Throws `UnimplementedError` if there is none, `DataLossError` for no type. */
export function dtypeOfNumber(number: number): DType {
  const name = typeName(number);
  if (Object.hasOwn(PACKED, name)) return PACKED[name].dtype;
  if (!/^float[48]e/.test(name)) return name as DType;
  throw new UnimplementedError(`Cannot hold elements of type ${name}: there is no such dtype`);
}

/** Returns the number of a dtype in ONNX's files. */
export function numberOfDType(dtype: DType): number {
  return NAMES.indexOf(dtype);
}

/** The type of a value: a tensor, a list of values, or an optional value. */
export type ValueType =
  | { readonly kind: "tensor"; readonly dtype: DType; readonly shape: readonly Extent[] | null }
  | { readonly kind: "sequence" | "optional"; readonly of: ValueType | null }
  | { readonly kind: "map" };

/** An extent: a number, its name in the file, or null for neither. */
export type Extent = number | string | null;

/** Returns the shape; extents with names are unknown unless their numbers are given. */
export function shapeOfExtents(
  extents: readonly Extent[] | null,
  dimensions: Readonly<Record<string, number>> = {},
): PartialShape {
  return extents?.map((d) =>
    typeof d !== "string" ? d : Object.hasOwn(dimensions, d) ? dimensions[d] : null
  ) ?? null;
}

/** Reads a type; null if the file does not tell it. Throws `DataLossError` for negative extents. */
export function readType(info: TypeInfo | undefined): ValueType | null {
  const value = info?.value;
  switch (value?.case) {
    case "tensorType":
    case "sparseTensorType": {
      const { elemType, shape } = value.value;
      if (elemType === 0) return null;
      return {
        kind: "tensor",
        dtype: dtypeOfNumber(elemType),
        shape: shape?.dim.map((d) => readExtent(d.value)) ?? null,
      };
    }
    case "sequenceType":
      return { kind: "sequence", of: readType(value.value.elemType) };
    case "optionalType":
      return { kind: "optional", of: readType(value.value.elemType) };
    case "mapType":
      return { kind: "map" };
    default:
      return null;
  }
}

function readExtent(
  value: { readonly case: string | undefined; readonly value?: bigint | string | undefined },
): Extent {
  if (value.case === "dimParam") return value.value === "" ? null : value.value as string;
  if (value.case !== "dimValue") return null;
  const extent = Number(value.value);
  // Some exporters write -1 or 0 for unknown extents.
  return extent < 0 || !Number.isSafeInteger(extent) ? null : extent;
}
