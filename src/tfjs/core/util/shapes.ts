/** `tf.util`: shapes, their strides, and arrays nested by them. */
import type { BackendValues, DataType, NumericArray } from "../types.ts";
import { assert } from "./checks.ts";
import { flatten, parseAxisParam } from "./arrays.ts";
import { encodeString, isString, isTypedArray } from "./values.ts";
import { Error } from "../../../engine/core/throwing/builtin_errors.ts";

/**
 * Number of elements.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.sizeFromShape([2, 3])); // 6
 * ```
 */
export function sizeFromShape(shape: readonly number[]): number {
  return shape.reduce((size, d) => size * d, 1);
}
/**
 * True for a shape without axes.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.isScalarShape([])); // true
 * ```
 */
export function isScalarShape(shape: readonly number[]): boolean {
  return shape.length === 0;
}
/**
 * Returns two dimensions, nearly equal, that hold `size` elements.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.sizeToSquarishShape(10)); // [4, 3]
 * ```
 */
export function sizeToSquarishShape(size: number): [number, number] {
  const width = Math.ceil(Math.sqrt(size));
  return [width, Math.ceil(size / width)];
}
/**
 * Returns the steps along each axis but the last, in elements.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.computeStrides([2, 3, 4])); // [12, 4]
 * ```
 */
export function computeStrides(shape: readonly number[]): number[] {
  const strides: number[] = [];
  for (let axis = shape.length - 1, step = 1; axis > 0; axis--) {
    strides.unshift(step *= shape[axis]);
  }
  return strides;
}

/**
 * Replaces -1 in a shape by the dimension that `size` implies. Throws where there are two, or none fits.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.inferFromImplicitShape([2, -1], 6)); // [2, 3]
 * ```
 */
export function inferFromImplicitShape(shape: number[], size: number): number[] {
  const free = shape.flatMap((d, i) => d === -1 ? [i] : []);
  if (free.length > 1) {
    throw Error(`Shapes can only have 1 implicit size, received -1 at dims ${free.join(" and ")}`);
  }
  const negative = shape.findIndex((d) => d < -1);
  if (negative >= 0) {
    throw Error(`Shapes can not be < 0, received ${shape[negative]} at dim ${negative}`);
  }
  const known = sizeFromShape(shape.filter((d) => d !== -1));
  if (free.length === 0) {
    if (size > 0 && size !== known) {
      throw Error(`Cannot give ${size} elements the shape [${shape}]`);
    }
    return shape;
  }
  if (known === 0) {
    throw Error(`Cannot tell the free dimension of [${shape}]: there are no elements`);
  }
  if (size % known !== 0) {
    throw Error(
      `The implicit shape can't be a fractional number, received ${size} / ${known}`,
    );
  }
  return shape.map((d) => d === -1 ? size / known : d);
}

/**
 * Removes axes of extent 1, or those named; returns the axes that stay too. Throws where a named one is longer.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.squeezeShape([1, 3, 1]).newShape); // [3]
 * ```
 */
export function squeezeShape(
  shape: readonly number[],
  axis?: number | readonly number[] | null,
): { newShape: number[]; keptDims: number[] } {
  const isAll = axis === undefined || axis === null || Array.isArray(axis) && axis.length === 0;
  const named = isAll ? null : parseAxisParam(axis, shape);
  const keptDims: number[] = [];
  shape.forEach((extent, i) => {
    const isNamed = named === null ? extent === 1 : named.includes(i);
    if (isNamed && extent !== 1) {
      throw new Error(`Can't squeeze axis ${i} since its dim '${extent}' is not 1`);
    }
    if (!isNamed) keptDims.push(i);
  });
  return { newShape: keptDims.map((i) => shape[i]), keptDims };
}

/**
 * Makes a zeroed array for elements of a type. Throws for an unknown one.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.getArrayFromDType("float32", 2)); // Float32Array(2) [0, 0]
 * ```
 */
export function getArrayFromDType(
  dtype: DataType | null | undefined,
  size: number,
): NumericArray | string[] {
  return dtype === "string" ? new Array<string>(size) : getTypedArrayFromDType(dtype, size);
}

/**
 * Makes a zeroed typed array for elements of a type. Throws for an unknown one.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.getTypedArrayFromDType("int32", 2)); // Int32Array(2) [0, 0]
 * ```
 */
export function getTypedArrayFromDType(
  dtype: DataType | null | undefined,
  size: number,
): NumericArray {
  switch (dtype) {
    case "int32":
      return new Int32Array(size);
    case "bool":
      return new Uint8Array(size);
    case null:
    case undefined:
    case "float32":
      return new Float32Array(size);
  }
  throw new Error(`Unknown data type ${dtype}`);
}

/**
 * Makes a typed array of ones.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.makeOnesTypedArray(2, "float32")); // Float32Array(2) [1, 1]
 * ```
 */
export function makeOnesTypedArray(size: number, dtype?: DataType | null): NumericArray {
  return makeZerosTypedArray(size, dtype).fill(1);
}

/**
 * Makes a typed array of zeros.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.makeZerosTypedArray(2, "int32")); // Int32Array(2) [0, 0]
 * ```
 */
export function makeZerosTypedArray(size: number, dtype?: DataType | null): NumericArray {
  return getTypedArrayFromDType(dtype === "complex64" ? "float32" : dtype, size);
}

/** Makes nested zeros of a shape. */
export function makeZerosNestedTypedArray(shape: number[], dtype?: DataType | null): unknown {
  return toNestedArray(shape, makeZerosTypedArray(sizeFromShape(shape), dtype));
}

/**
 * Nests elements by a shape; complex ones are two numbers each. Throws where they do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.toNestedArray([2, 2], Float32Array.of(1, 2, 3, 4))); // [[1, 2], [3, 4]]
 * ```
 */
export function toNestedArray(
  shape: readonly number[],
  a: ArrayLike<number>,
  isComplex = false,
): unknown {
  const parts = isComplex ? 2 : 1;
  if (shape.length === 0) return a[0];
  const size = sizeFromShape(shape) * parts;
  if (size === 0) return [];
  if (size !== a.length) {
    throw new Error(`Cannot nest ${a.length} elements by the shape [${shape}]`);
  }
  const nest = (axis: number, from: number): unknown[] => {
    const inner = sizeFromShape(shape.slice(axis + 1)) * parts;
    const isLast = axis === shape.length - 1;
    return isLast
      ? Array.from({ length: shape[axis] * parts }, (_, i) => a[from + i])
      : Array.from({ length: shape[axis] }, (_, i) => nest(axis + 1, from + i * inner));
  };
  return nest(0, 0);
}

/**
 * Converts elements to a typed array. Throws for texts and invalid elements.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.toTypedArray([[1], [2]], "float32")); // Float32Array(2) [1, 2]
 * ```
 */
export function toTypedArray(a: unknown, dtype: DataType): NumericArray {
  if (dtype === "string") throw new Error("Cannot make a typed array of texts");
  const isFitting = (dtype === "float32" || dtype === "complex64") && a instanceof Float32Array ||
    dtype === "int32" && a instanceof Int32Array || dtype === "bool" && a instanceof Uint8Array;
  if (isFitting) return a as NumericArray;
  const values = Array.isArray(a) ? flatten(a as number[]) : a as ArrayLike<number>;
  const out = makeZerosTypedArray(values.length, dtype);
  for (let i = 0; i < out.length; i++) {
    out[i] = dtype === "bool" ? Number(Math.round(values[i]) !== 0) : values[i];
  }
  return out;
}

/** Makes one element in a backend's form. */
export function createScalarValue(value: unknown, dtype: DataType): BackendValues {
  if (dtype === "string") return [isString(value) ? encodeString(value) : value as Uint8Array];
  return toTypedArray([value as number], dtype);
}

/** Views bytes as a backend's elements. Throws for an unknown element type. */
export function convertBackendValuesAndArrayBuffer(
  data: BackendValues | ArrayBuffer,
  dtype: DataType,
): BackendValues {
  if (Array.isArray(data)) return data;
  const bytes = data instanceof ArrayBuffer
    ? data
    : data.buffer.slice(data.byteOffset, data.byteOffset + data.byteLength) as ArrayBuffer;
  switch (dtype) {
    case "float32":
    case "complex64":
      return new Float32Array(bytes);
    case "int32":
      return new Int32Array(bytes);
    case "bool":
      return Uint8Array.from(isTypedArray(data) ? data : new Int32Array(bytes), (v) => v ? 1 : 0);
  }
  throw new Error(`Unknown dtype ${dtype}`);
}

/** Throws where a number is infinite or NaN. */
export function checkConversionForErrors(vals: ArrayLike<number>, dtype: DataType): void {
  const wrong = Array.from(vals).find((v) => !Number.isFinite(v));
  assert(wrong === undefined, () => `Cannot make a tensor of ${dtype}: it holds ${wrong}`);
}

/**
 * True where some values of the old element type have none in the new one.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.hasEncodingLoss("float32", "int32")); // true
 * ```
 */
export function hasEncodingLoss(oldType: DataType, newType: DataType): boolean {
  const order: DataType[] = ["bool", "int32", "float32", "complex64"];
  return order.indexOf(newType) < order.indexOf(oldType) && newType !== oldType;
}

/**
 * Number of bytes of an element. Throws for texts and unknown types.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.bytesPerElement("float32")); // 4
 * ```
 */
export function bytesPerElement(dtype: DataType): number {
  const bytes: Partial<Record<DataType, number>> = { float32: 4, int32: 4, complex64: 8, bool: 1 };
  const found = bytes[dtype];
  if (found === undefined) throw new Error(`Unknown dtype ${dtype}`);
  return found;
}

/**
 * Number of bytes of all texts.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft/tfjs-core";
 * console.log(tf.util.bytesFromStringArray([tf.util.encodeString("hi")])); // 2
 * ```
 */
export function bytesFromStringArray(arr: readonly Uint8Array[] | null): number {
  return (arr ?? []).reduce((n, text) => n + text.length, 0);
}
