/**
 * From JavaScript values to host arrays: dtype and shape inference, range checks.
 */
import {
  type DType,
  dtypeOfArray,
  DTYPES,
  type HostData,
  isBigInt,
  isInteger,
  makeData,
  MOST_OBJECTS,
  type TypedArray,
} from "./dtype.ts";
import { isForeignArray, readForeignArray } from "./foreign_array.ts";
import { checkNesting } from "./nest.ts";
import { type Shape, shapeText, sizeOf } from "./shape.ts";
import { type ElementValue, NdArray, numberToBfloat16 } from "./nd_array.ts";
import { encodeString } from "./text.ts";
import { ResourceExhaustedError, ValueError } from "./errors.ts";

/** Anything that can become a tensor but is not one yet. */
export type ArrayLikeValue =
  | number
  | bigint
  | boolean
  | string
  | TypedArray
  | NdArray
  | ArrayLikeObject
  | readonly ArrayLikeValue[];

/** Something shaped like an array of another library, such as numpy-ts; its elements are copied. */
export interface ArrayLikeObject {
  /** Dimensions. */
  readonly shape: readonly number[];
  /** Element type name. */
  readonly dtype: string;
  /** Elements, in row-major order unless the strides say otherwise. */
  readonly data: unknown;
}

/** How to convert. */
export interface ConvertOptions {
  /** Wanted dtype; inferred where it is not given. */
  readonly dtype?: DType | undefined;
  /** Wanted shape; its size must be the value's, unless the value is one element to repeat. */
  readonly shape?: Shape | undefined;
  /** True: a number that the dtype cannot hold exactly is a `TypeError`. False: it wraps or truncates. */
  readonly strict?: boolean;
}

/** Makes a host array. The data of typed arrays is not copied. Throws `ValueError`, `TypeError` or `RangeError` for what does not fit. */
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

function convert(value: unknown, { dtype, strict = false }: ConvertOptions): NdArray {
  const ofNumbers = dtype ?? "float32";
  if (typeof value === "number" && takesNumbers(ofNumbers, strict)) {
    const data = makeData(ofNumbers, 1) as number[];
    data[0] = value;
    return new NdArray(ofNumbers, [], data as unknown as HostData);
  }
  if (typeof value === "object" && value !== null && !Array.isArray(value)) {
    const array = convertArray(value, dtype);
    if (array !== null) return array;
  }
  const shape = shapeOfNested(value, dtype);
  const numbers = nestedNumbers(value, shape, ofNumbers, strict);
  if (numbers !== null) return new NdArray(ofNumbers, shape, numbers);
  const leaves: unknown[] = [];
  checkLeaves(shape);
  collect(value, shape, 0, leaves, dtype);
  const kind = dtype ?? inferDType(leaves);
  return new NdArray(kind, shape, fillLeaves(leaves, kind, strict));
}

/** Converts typed arrays, host arrays and those of other libraries; null for what is none of them. */
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
    const slots = dtype === undefined ? 1 : DTYPES[dtype].slots;
    if (slots === 2 && (own === "float32" || own === "float64")) {
      const pairs = own === (dtype === "complex64" ? "float32" : "float64")
        ? data
        : (dtype === "complex64"
          ? new Float32Array(data as Float64Array)
          : new Float64Array(data as Float32Array));
      return new NdArray(dtype!, [data.length / 2], pairs);
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
    // Its library may reuse the memory once nobody holds the array any more.
    const inner = ArrayBuffer.isView(data)
      ? new NdArray(spec.dtype, spec.shape, data as TypedArray).copy()
      : toNdArray(data, spec);
    return dtype === undefined || dtype === inner.dtype ? inner : castArray(inner, dtype);
  }
  return null;
}

/** Lengths of the first list, of its first list, and so on. */
function shapeOfNested(value: unknown, dtype: DType | undefined): number[] {
  const shape: number[] = [];
  for (let v = value; Array.isArray(v) || ArrayBuffer.isView(v); v = (v as unknown[])[0]) {
    if (dtype === "string" && v instanceof Uint8Array) break;
    if (isBytesList(v)) {
      shape.push(v.length);
      break;
    }
    if (dtypeIsComplexLeaf(v, dtype)) break;
    shape.push((v as unknown[]).length);
    if ((v as unknown[]).length === 0) break;
    checkNesting(shape.length);
  }
  return shape;
}

/** True where an array of the dtype takes any number as it is. */
function takesNumbers(dtype: DType, strict: boolean): boolean {
  const { kind } = DTYPES[dtype];
  return isPlain(dtype) && kind !== "bool" && (kind === "float" || !strict);
}

/** Elements of lists that hold numbers and nothing else, at full speed; null where they hold something else or are ragged. */
function nestedNumbers(
  value: unknown,
  shape: Shape,
  dtype: DType,
  strict: boolean,
): HostData | null {
  let first = value;
  for (let axis = 0; axis < shape.length; axis++) first = (first as unknown[])[0];
  if (typeof first !== "number" || !takesNumbers(dtype, strict)) return null;
  const size = sizeOf(shape), data = makeData(dtype, size);
  return copyNumbers(value, shape, 0, data as number[], 0, size) ? data : null;
}

function copyNumbers(
  list: unknown,
  shape: Shape,
  axis: number,
  to: number[],
  at: number,
  size: number,
): boolean {
  const n = shape[axis];
  if (!Array.isArray(list) || list.length !== n) return false;
  if (axis === shape.length - 1) {
    for (let i = 0; i < n; i++) {
      const x = list[i];
      if (typeof x !== "number") return false;
      to[at + i] = x;
    }
    return true;
  }
  const below = n > 0 ? size / n : 0;
  for (let i = 0; i < n; i++) {
    if (!copyNumbers(list[i], shape, axis + 1, to, at + i * below, below)) return false;
  }
  return true;
}

function isBytesList(v: unknown): v is Uint8Array[] {
  return Array.isArray(v) && v.length > 0 && v[0] instanceof Uint8Array &&
    v.some((e) => e instanceof Uint8Array) &&
    new Set(v.map((e) => (e as Uint8Array).length)).size > 1;
}

function dtypeIsComplexLeaf(v: unknown, dtype: DType | undefined): boolean {
  return dtype !== undefined && DTYPES[dtype].kind === "complex" && Array.isArray(v) &&
    v.length === 2 &&
    typeof v[0] === "number" && typeof v[1] === "number";
}

function collect(
  value: unknown,
  shape: readonly number[],
  axis: number,
  out: unknown[],
  dtype?: DType,
): void {
  if (axis === shape.length) {
    if (Array.isArray(value) && !dtypeIsComplexLeaf(value, dtype)) {
      throw new ValueError(
        `Cannot convert a ragged nested array: element at depth ${axis} is an array of ${value.length}, wanted a value`,
      );
    }
    // Holes cost an array nothing and a list of leaves much.
    if (value === undefined) throw new TypeError("Cannot convert undefined to a tensor");
    out.push(value);
    return;
  }
  const list = value as ArrayLike<unknown>;
  if (!(Array.isArray(value) || ArrayBuffer.isView(value)) || list.length !== shape[axis]) {
    throw new ValueError(
      `Cannot convert a ragged nested array: an element at depth ${axis} has ${
        Array.isArray(value) || ArrayBuffer.isView(value) ? `length ${list.length}` : "no length"
      }, wanted ${shape[axis]} entries as its siblings have`,
    );
  }
  for (let i = 0; i < list.length; i++) collect(list[i], shape, axis + 1, out, dtype);
}

/** A list that is in another again and again is many values and little memory, until they are taken out. */
function checkLeaves(shape: Shape): void {
  // Where there is nothing, there are still the lists that hold it.
  const nothing = shape.indexOf(0), count = sizeOf(nothing < 0 ? shape : shape.slice(0, nothing));
  if (shape.length < 2 || count <= MOST_OBJECTS) return;
  throw new ResourceExhaustedError(
    `Cannot convert a nested array of shape ${
      shapeText(shape)
    }: it would have ${count} values, at most ${MOST_OBJECTS} are possible`,
  );
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
  throw new TypeError(
    `Cannot convert ${
      describe(v)
    } to a tensor: wanted numbers, booleans, bigints, strings or bytes`,
  );
}

/** Short text of a JavaScript value for messages. */
export function describe(value: unknown): string {
  if (value === null || value === undefined) return String(value);
  if (typeof value === "function") return `function ${value.name || "(anonymous)"}`;
  if (typeof value === "object") {
    const name = (value as { constructor?: { name?: string } }).constructor?.name ?? "object";
    return Array.isArray(value) ? `an array of ${value.length}` : `a value of type ${name}`;
  }
  return typeof value === "string"
    ? JSON.stringify(value)
    : `${String(value)} of type ${typeof value}`;
}

function fillLeaves(leaves: readonly unknown[], dtype: DType, strict: boolean): HostData {
  const data = makeData(dtype, leaves.length) as unknown[];
  const isComplex = DTYPES[dtype].kind === "complex";
  const put = elementWriter(isComplex ? "float64" : dtype, strict);
  const range = strict ? undefined : RANGE[dtype];
  for (let i = 0; i < leaves.length; i++) {
    const leaf = leaves[i];
    // A bigint is meant to be exact.
    if (typeof leaf === "bigint" && range !== undefined && (leaf < range[0] || leaf > range[1])) {
      throw new ValueError(`Cannot convert ${leaf} to ${dtype}: it is out of range`);
    }
    if (isComplex) {
      const [re, im] = Array.isArray(leaf) ? leaf : [leaf, 0];
      data[2 * i] = put(re);
      data[2 * i + 1] = put(im);
    } else data[i] = put(leaf);
  }
  return data as HostData;
}

/** The least and the greatest that integers hold. */
const RANGE: Partial<Record<DType, readonly [number | bigint, number | bigint]>> = {
  int8: [-128, 127],
  uint8: [0, 255],
  int16: [-32768, 32767],
  uint16: [0, 65535],
  int32: [-2147483648, 2147483647],
  uint32: [0, 4294967295],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
};

function elementWriter(dtype: DType, strict: boolean): (leaf: unknown) => unknown {
  const kind = DTYPES[dtype].kind;
  const fail = (leaf: unknown): never => {
    const isArray = typeof (leaf as { item?: unknown } | null | undefined)?.item === "function";
    throw new TypeError(
      `Cannot convert ${describe(leaf)} to ${dtype}${
        isArray ? ": of arrays in a list take item(), or join them by tf.stack()" : ""
      }`,
    );
  };
  if (kind === "handle") return (leaf) => leaf;
  if (kind === "string") {
    return (leaf) =>
      typeof leaf === "string" || leaf instanceof Uint8Array ? encodeString(leaf) : fail(leaf);
  }
  if (kind === "bool") {
    // NaN is not zero.
    return (leaf) =>
      typeof leaf === "boolean" || typeof leaf === "number"
        ? (leaf === false || leaf === 0 ? 0 : 1)
        : fail(leaf);
  }
  if (isBigInt(dtype)) {
    const [lo, hi] = RANGE[dtype]!;
    return (leaf) => {
      if (typeof leaf === "boolean") return leaf ? 1n : 0n;
      if (typeof leaf === "number") {
        if (!Number.isInteger(leaf)) return strict ? fail(leaf) : BigInt(Math.trunc(leaf) || 0);
        return check(BigInt(leaf));
      }
      return typeof leaf === "bigint" ? check(leaf) : fail(leaf);
      function check(v: bigint): bigint {
        return strict && (v < lo || v > hi) ? fail(leaf) : v;
      }
    };
  }
  const range = RANGE[dtype];
  return (leaf) => {
    if (typeof leaf === "boolean") return leaf ? 1 : 0;
    // A float may not hold it.
    const n = typeof leaf === "bigint" && (range || !strict) ? Number(leaf) : leaf;
    if (typeof n !== "number") return fail(leaf);
    if (range === undefined) return dtype === "bfloat16" ? numberToBfloat16(n) : n;
    if (strict && (!Number.isInteger(n) || n < range[0] || n > range[1])) return fail(leaf);
    return n;
  };
}

/** True where the array of the dtype holds the elements as JavaScript numbers, and rounds, truncates or wraps what it is given. */
function isPlain(dtype: DType): boolean {
  const { kind } = DTYPES[dtype];
  return (kind === "float" || kind === "int" || kind === "uint" || kind === "bool") &&
    dtype !== "bfloat16" && !isBigInt(dtype);
}

/** True where assigning the elements of one array to another converts them as {@linkcode castArray} does. */
export function isAssignable(from: DType, to: DType): boolean {
  return from === to || (isPlain(from) && isPlain(to) && to !== "bool");
}

/** Converts each element as TensorFlow's Cast does: floats to integers truncate, anything to bool asks `!= 0`. */
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
  const put = elementWriter(dtype, false);
  const int = isInteger(dtype);
  for (let i = 0, n = array.size; i < n; i++) {
    const v = array.at(i);
    if (to.kind === "complex") {
      const pair = Array.isArray(v) ? v : [Number(v), 0];
      dst[2 * i] = pair[0];
      dst[2 * i + 1] = pair[1];
      continue;
    }
    let s: ElementValue = Array.isArray(v) ? v[0] : v;
    if (int && typeof s === "number" && !isBigInt(dtype)) s = Math.trunc(s);
    if (to.kind === "bool" && typeof s === "bigint") s = s !== 0n;
    dst[i] = put(s) as number | bigint;
  }
  return out;
}
