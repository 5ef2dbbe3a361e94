/**
 * Arrays of other libraries: anything with `shape`, `dtype` and `data`, as numpy-ts has it.
 * May import core.
 */
import { type DType, dtypeOfArray, DTYPES, type HostData, isDType } from "../core/dtype.ts";
import { toNdArray } from "../core/convert.ts";
import { NdArray } from "../core/nd_array.ts";
import { sizeOf, stridesOf } from "../core/shape.ts";
import { InternalError } from "../core/errors.ts";

/** What such an array has. */
export interface ForeignArray {
  /** Dimensions. */
  readonly shape: readonly number[];
  /** Name of the element type. */
  readonly dtype: unknown;
  /** Elements. */
  readonly data: unknown;
  /** Steps along each axis, in elements. */
  readonly strides?: unknown;
  /** A copy in row-major order. */
  copy?(): unknown;
}

/** True for an array of another library. */
export function isForeignArray(v: unknown): v is ForeignArray {
  return typeof v === "object" && v !== null && !Array.isArray(v) && !(v instanceof NdArray) &&
    Array.isArray((v as ForeignArray).shape) && (v as ForeignArray).dtype !== undefined;
}

/** The array as one of ours, sharing its elements where they are in row-major order. Throws `InternalError` for what cannot be read. */
export function foreignArray(v: ForeignArray): NdArray {
  const dtype = dtypeOfForeign(v);
  const { shape, data } = isRowMajor(v, dtype) ? v : straightened(v, dtype);
  if (DTYPES[dtype].array) return new NdArray(dtype, [...shape], data as HostData);
  return toNdArray(data, { dtype, shape });
}

function dtypeOfForeign({ dtype, data }: ForeignArray): DType {
  const own = dtypeOfArray(data);
  if (own === undefined && !Array.isArray(data)) {
    throw new InternalError(
      `Unsupported array type: data of dtype ${String(dtype)} is no typed array and no list`,
    );
  }
  if (isDType(dtype) && (own === undefined || DTYPES[dtype].array === DTYPES[own].array)) {
    return dtype;
  }
  if (own === undefined) throw new InternalError(`Unsupported array type: dtype ${String(dtype)}`);
  return own;
}

function isRowMajor({ shape, data, strides }: ForeignArray, dtype: DType): boolean {
  if ((data as ArrayLike<unknown>).length !== sizeOf(shape) * DTYPES[dtype].slots) return false;
  if (!Array.isArray(strides) || strides.length !== shape.length) return true;
  const wanted = stridesOf(shape);
  return strides.every((s, i) => shape[i] <= 1 || s === wanted[i]) || sizeOf(shape) === 0;
}

function straightened(v: ForeignArray, dtype: DType): ForeignArray {
  const copy = typeof v.copy === "function" ? v.copy() : undefined;
  if (isForeignArray(copy) && isRowMajor(copy, dtype)) return copy;
  throw new InternalError(
    `Unsupported array layout: an array of shape [${v.shape}] with ${
      (v.data as ArrayLike<unknown>).length
    } elements is not in row-major order, return a copy that is`,
  );
}
