/** Conversion of JavaScript values to host arrays: dtype and shape inference, range checks. */
import {
  type DType,
  dtypeOfArray,
  DTYPES,
  type HostData,
  isPlain,
  makeData,
  type TypedArray,
} from "./dtype.ts";
import { elementWriter, fillLeaves, type NumberRule } from "./arrays/elements.ts";
import { isForeignArray, readForeignArray } from "./arrays/foreign_array.ts";
import {
  checkLeaves,
  collect,
  mustHold,
  nestedNumbers,
  shapeOfNested,
  takesNumbers,
} from "./arrays/nested.ts";
import { type Shape, shapeText, sizeOf } from "./shape.ts";
import { type ElementValue, NdArray } from "./nd_array.ts";
import { describe, reads } from "./text.ts";
import { TypeError } from "./throwing/builtin_errors.ts";
import { ValueError } from "./errors.ts";

export { describe };

/** A value that can become a tensor. */
export type ArrayLikeValue =
  | number
  | bigint
  | boolean
  | string
  | TypedArray
  | NdArray
  | ArrayLikeObject
  | readonly ArrayLikeValue[];

/** An array of another library, such as numpy-ts; its elements are copied. */
export interface ArrayLikeObject {
  /** Dimensions. */
  readonly shape: readonly number[];
  /** Element type name. */
  readonly dtype: string;
  /** Elements, in row-major order unless the strides say otherwise. */
  readonly data: unknown;
}

export interface ConvertOptions {
  /** Wanted dtype. Default: inferred. */
  readonly dtype?: DType | undefined;
  /** Wanted shape; its size must be the value's, unless the value is one element to repeat. */
  readonly shape?: Shape | undefined;
  /** Which numbers an integer dtype takes. Default `fitting`; `wrapped` where the program is one of TensorFlow.js. */
  readonly numbers?: NumberRule;
}

/**
 * Makes a host array. The data of typed arrays is not copied; for another dtype they are cast. Throws `ValueError`,
 * `TypeError` or `RangeError` for values that do not fit.
 */
export function toNdArray(value: unknown, options: ConvertOptions = {}): NdArray {
  const array = convert(value, options);
  return options.shape === undefined ? array : withShape(array, options.shape);
}

function withShape(array: NdArray, shape: Shape): NdArray {
  const size = sizeOf(shape);
  if (array.size === size) return new NdArray(array.dtype, [...shape], array.data);
  if (array.size !== 1) {
    throw new ValueError(
      `Cannot make a tensor of shape ${
        shapeText(shape)
      } (${size} elements): based on the provided shape, the values have ${array.size}`,
    );
  }
  const out = NdArray.zeros(array.dtype, [...shape]);
  const slots = DTYPES[array.dtype].slots;
  const from = array.data as unknown[], to = out.data as unknown[];
  for (let i = 0; i < to.length; i++) to[i] = from[i % slots];
  return out;
}

/** The rule for values of users: TensorFlow's, or TensorFlow.js's for programs of its own. */
export function numberRule(): NumberRule {
  return reads.asTensorFlowJs ? "wrapped" : "fitting";
}

function convert(value: unknown, { dtype, numbers }: ConvertOptions): NdArray {
  const ofNumbers = dtype ?? "float32";
  const rule = numbers ?? numberRule();
  if (typeof value === "number" && takesNumbers(ofNumbers)) {
    const data = makeData(ofNumbers, 1) as number[];
    data[0] = value;
    if (data[0] === value || !mustHold(ofNumbers, rule)) {
      return new NdArray(ofNumbers, [], data as unknown as HostData);
    }
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    const array = convertArray(value, dtype);
    if (array !== null) return array;
  }
  const shape = shapeOfNested(value, dtype);
  const plain = nestedNumbers(value, shape, ofNumbers, rule);
  if (plain !== null) return new NdArray(ofNumbers, shape, plain);
  const leaves: unknown[] = [];
  checkLeaves(shape);
  collect(value, shape, 0, leaves, dtype);
  const kind = dtype ?? inferDType(leaves);
  return new NdArray(kind, shape, fillLeaves(leaves, kind, rule));
}

/** Converts typed arrays, host arrays and those of other libraries; null for any other value. */
function convertArray(value: object, dtype: DType | undefined): NdArray | null {
  if (value instanceof NdArray) {
    return dtype === undefined || dtype === value.dtype ? value : castArray(value, dtype);
  }
  const own = dtypeOfArray(value);
  if (own !== undefined) {
    if (dtype === "string" && own === "uint8") {
      return new NdArray("string", [], [value as Uint8Array]);
    }
    const data = value as TypedArray;
    if (dtype !== undefined && DTYPES[dtype].kind === "complex" && /^float(32|64)$/.test(own)) {
      const array = DTYPES[dtype].array!;
      const pairs = array === DTYPES[own].array ? data : new array(data as Float32Array);
      return new NdArray(dtype, [data.length / 2], pairs);
    }
    const plain = data instanceof Uint8ClampedArray
      ? new Uint8Array(data.buffer, data.byteOffset, data.length)
      : data;
    if (dtype === "bool" && own === "uint8") return new NdArray("bool", [plain.length], plain);
    const array = new NdArray(own, [plain.length], plain);
    return dtype === undefined || dtype === own ? array : castArray(array, dtype);
  }
  if (isForeignArray(value)) {
    const { data, ...spec } = readForeignArray(value);
    // The library may reuse the memory of an unreferenced array.
    const inner = ArrayBuffer.isView(data)
      ? new NdArray(spec.dtype, spec.shape, data as TypedArray).copy()
      : toNdArray(data, spec);
    return dtype === undefined || dtype === inner.dtype ? inner : castArray(inner, dtype);
  }
  return null;
}

function inferDType(leaves: readonly unknown[]): DType {
  if (leaves.length === 0) return "float32";
  const v = leaves[0];
  switch (typeof v) {
    case "number":
      return leaves.some((l) => typeof l === "bigint") ? "int64" : "float32";
    case "bigint":
      return "int64";
    case "boolean":
      return leaves.some((l) => typeof l === "number") ? "float32" : "bool";
    case "string":
      return "string";
  }
  if (v instanceof Uint8Array) return "string";
  if (typeof v === "object" && v !== null && "isSymbolic" in v) {
    throw new TypeError("Cannot convert a list of tensors to a tensor: tf.stack() makes one of it");
  }
  throw new TypeError(
    `Cannot convert ${
      describe(v)
    } to a tensor: wanted numbers, booleans, bigints, strings or bytes${
      typeof v === "object" && v !== null && "dataId" in v
        ? "; fromTfjs() of @weft/weft/tfjs takes tensors of TensorFlow.js"
        : ""
    }`,
  );
}

/** True where assigning the elements of one array to another converts them as {@linkcode castArray} does. */
export function isAssignable(from: DType, to: DType): boolean {
  return from === to || (isPlain(from) && isPlain(to) && to !== "bool");
}

/** Converts each element as TensorFlow's Cast does: floats to integers truncate, bool is `!= 0`. */
export function castArray(array: NdArray, dtype: DType): NdArray {
  if (array.dtype === dtype) return array;
  const from = DTYPES[array.dtype], to = DTYPES[dtype];
  if (
    from.kind === "string" || to.kind === "string" || from.kind === "handle" || to.kind === "handle"
  ) {
    throw new TypeError(`Cannot cast ${array.dtype} to ${dtype}`);
  }
  if (isAssignable(array.dtype, dtype)) {
    return new NdArray(dtype, array.shape, new (to.array!)(array.data as Float32Array));
  }
  const out = NdArray.zeros(dtype, array.shape);
  const dst = out.data as unknown as (number | bigint)[];
  if (isPlain(array.dtype) && isPlain(dtype)) {
    const data = array.data as Float32Array;
    for (let i = 0; i < data.length; i++) dst[i] = data[i] === 0 ? 0 : 1;
    return out;
  }
  const put = elementWriter(dtype, "wrapped");
  for (let i = 0, n = array.size; i < n; i++) {
    const v = array.at(i);
    if (to.kind === "complex") {
      const pair = Array.isArray(v) ? v : [Number(v), 0];
      dst[2 * i] = pair[0];
      dst[2 * i + 1] = pair[1];
      continue;
    }
    let s: ElementValue = Array.isArray(v) ? v[0] : v;
    if (to.kind === "bool" && typeof s === "bigint") s = s !== 0n;
    dst[i] = put(s) as number | bigint;
  }
  return out;
}
