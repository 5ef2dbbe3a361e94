/** Arrays of other libraries: any object with `shape`, `dtype` and `data`, as in numpy-ts. */
import { type DType, dtypeOfArray, DTYPES, isDType } from "../dtype.ts";
import { NdArray } from "../nd_array.ts";
import { sizeOf, stridesOf } from "../shape.ts";
import { TypeError } from "../throwing/builtin_errors.ts";

/** The used properties of such an array. */
export interface ForeignArray {
  readonly shape: readonly number[];
  readonly dtype: unknown;
  readonly data: unknown;
  /** Steps along each axis, in elements. */
  readonly strides?: unknown;
  /** Copies the array in row-major order. */
  copy?(): unknown;
}

/** True for an array of another library. */
export function isForeignArray(v: unknown): v is ForeignArray {
  return typeof v === "object" && v !== null && !Array.isArray(v) && !(v instanceof NdArray) &&
    Array.isArray((v as ForeignArray).shape) && (v as ForeignArray).dtype !== undefined &&
    (v as ForeignArray).data !== undefined && typeof (v as ForeignArray).data !== "function";
}

/** The elements of a foreign array in row-major order, with Weft's name of their type. */
export interface RowMajor {
  readonly dtype: DType;
  readonly shape: readonly number[];
  /** Elements: the array's own, where they had this order. */
  readonly data: ArrayLike<unknown>;
}

/** Reads a foreign array. Throws `TypeError` for an element type or a layout that cannot be read. */
export function readForeignArray(v: ForeignArray): RowMajor {
  const dtype = dtypeOfForeign(v);
  const { shape, data } = isRowMajor(v, dtype) ? v : straightened(v, dtype);
  return { dtype, shape: [...shape], data: data as ArrayLike<unknown> };
}

/** Returns Weft's name of the element type. Throws `TypeError` where there is none. */
export function dtypeOfForeign({ dtype, data }: ForeignArray): DType {
  const own = dtypeOfArray(data);
  if (own === undefined && !Array.isArray(data)) {
    throw new TypeError(
      `Unsupported array type: data of dtype ${String(dtype)} is no typed array and no list`,
    );
  }
  if (isDType(dtype) && (own === undefined || DTYPES[dtype].array === DTYPES[own].array)) {
    return dtype;
  }
  if (own === undefined) throw new TypeError(`Unsupported array type: dtype ${String(dtype)}`);
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
  throw new TypeError(
    `Unsupported array layout: an array of shape [${v.shape}] with ${
      (v.data as ArrayLike<unknown>).length
    } elements is not in row-major order, return a copy that is`,
  );
}
