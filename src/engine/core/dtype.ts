/** Element types: names, TensorFlow numbers, storage arrays, groups, promotion. */
import { RangeError, TypeError } from "./throwing/builtin_errors.ts";
import { ResourceExhaustedError } from "./errors.ts";
import {
  BFLOAT16,
  FLOAT16,
  FLOAT32,
  FLOAT64,
  type FloatCode,
  type FloatFormat,
} from "./arrays/float_formats.ts";

/** Name of an element type, as in TensorFlow. */
export type DType =
  | "float32"
  | "float64"
  | "float16"
  | "bfloat16"
  | "int8"
  | "int16"
  | "int32"
  | "int64"
  | "uint8"
  | "uint16"
  | "uint32"
  | "uint64"
  | "bool"
  | "string"
  | "complex64"
  | "complex128"
  | "resource"
  | "variant";

/** A typed array that can hold tensor elements. */
export type TypedArray =
  | Float32Array
  | Float64Array
  | Int8Array
  | Int16Array
  | Int32Array
  | BigInt64Array
  | Uint8Array
  | Uint8ClampedArray
  | Uint16Array
  | Uint32Array
  | BigUint64Array
  | Float16ArrayLike;

/** `Float16Array` where the runtime has it (Deno, browsers; not Node 20). */
export interface Float16ArrayLike extends ArrayLike<number> {
  /** Elements in order. */
  [Symbol.iterator](): IterableIterator<number>;
  /** Value by name. */
  [index: number]: number;
  /** Underlying memory. */
  readonly buffer: ArrayBufferLike;
  /** Length in bytes. */
  readonly byteLength: number;
  /** Offset into the buffer in bytes. */
  readonly byteOffset: number;
  /** Bytes per element. */
  readonly BYTES_PER_ELEMENT: number;
  /** Copies elements in. */
  set(array: ArrayLike<number>, offset?: number): void;
  /** A copy of a range. */
  slice(start?: number, end?: number): Float16ArrayLike;
  /** A view of a range. */
  subarray(start?: number, end?: number): Float16ArrayLike;
  /** Writes one value everywhere. */
  fill(value: number, start?: number, end?: number): Float16ArrayLike;
}

/** The storage of a host array: a typed array, byte strings, or opaque handles. */
export type HostData = TypedArray | Uint8Array[] | unknown[];

export type DTypeKind = "float" | "int" | "uint" | "bool" | "complex" | "string" | "handle";

interface ArrayMaker {
  new (length: number): TypedArray;
  new (values: ArrayLike<number>): TypedArray;
  new (buffer: ArrayBufferLike, byteOffset?: number, length?: number): TypedArray;
}

export interface DTypeInfo {
  readonly name: DType;
  readonly kind: DTypeKind;
  /** Number in TensorFlow's `DataType` enum. */
  readonly tf: number;
  /** TensorFlow's C++ name, used in its messages (`float`, `double`, `half`). */
  readonly tfName: string;
  /** Enum constant in GraphDef JSON, e.g. `DT_FLOAT`. */
  readonly tfEnum: string;
  /** Bytes of one element on the host; 0 where elements are objects. */
  readonly bytes: number;
  /** Array class; undefined where elements are objects or the runtime lacks it. */
  readonly array: ArrayMaker | undefined;
  /** Array slots per element: 2 for complex. */
  readonly slots: number;
  /** Format of floats; null for other kinds. */
  readonly float: FloatFormat | null;
}

const float16Array = (globalThis as { Float16Array?: ArrayMaker }).Float16Array;

function info(
  name: DType,
  kind: DTypeKind,
  tf: number,
  bytes: number,
  array?: unknown,
  { tfName = name, float = null }: { tfName?: string; float?: FloatFormat | null } = {},
): DTypeInfo {
  return {
    name,
    kind,
    tf,
    tfName,
    tfEnum: `DT_${tfName.toUpperCase()}`,
    bytes,
    array: array as ArrayMaker | undefined,
    slots: kind === "complex" ? 2 : 1,
    float,
  };
}

/** Facts about every dtype, numeric ones in the order of promotion: operands take the later one's dtype. */
export const DTYPES: Readonly<Record<DType, DTypeInfo>> = {
  bool: info("bool", "bool", 10, 1, Uint8Array),
  uint8: info("uint8", "uint", 4, 1, Uint8Array),
  int8: info("int8", "int", 6, 1, Int8Array),
  uint16: info("uint16", "uint", 17, 2, Uint16Array),
  int16: info("int16", "int", 5, 2, Int16Array),
  int32: info("int32", "int", 3, 4, Int32Array),
  uint32: info("uint32", "uint", 22, 4, Uint32Array),
  int64: info("int64", "int", 9, 8, BigInt64Array),
  uint64: info("uint64", "uint", 23, 8, BigUint64Array),
  bfloat16: info("bfloat16", "float", 14, 2, Uint16Array, { float: BFLOAT16 }),
  float16: info("float16", "float", 19, 2, float16Array, { tfName: "half", float: FLOAT16 }),
  float32: info("float32", "float", 1, 4, Float32Array, { tfName: "float", float: FLOAT32 }),
  float64: info("float64", "float", 2, 8, Float64Array, { tfName: "double", float: FLOAT64 }),
  complex64: info("complex64", "complex", 8, 8, Float32Array),
  complex128: info("complex128", "complex", 18, 16, Float64Array),
  string: info("string", "string", 7, 0),
  resource: info("resource", "handle", 20, 0),
  variant: info("variant", "handle", 21, 0),
};

/** The least and the greatest value of integers. */
export const INTEGER_ENDS: Partial<
  Record<DType, readonly [number, number] | readonly [bigint, bigint]>
> = {
  int8: [-128, 127],
  uint8: [0, 255],
  int16: [-32768, 32767],
  uint16: [0, 65535],
  int32: [-2147483648, 2147483647],
  uint32: [0, 4294967295],
  int64: [-(2n ** 63n), 2n ** 63n - 1n],
  uint64: [0n, 2n ** 64n - 1n],
};

/** True for a finite number within the range of a real dtype. */
export function isInRange(dtype: DType, value: number): boolean {
  const greatest = DTYPES[dtype].float?.greatest ?? Number.MAX_VALUE;
  const [least, most] = INTEGER_ENDS[dtype] ?? [-greatest, greatest];
  return value >= least && value <= most;
}

const byName = new Map<string, DType>(Object.keys(DTYPES).map((k) => [k, k as DType]));
for (const d of Object.values(DTYPES)) {
  if (!byName.has(d.tfName)) byName.set(d.tfName, d.name);
  byName.set(d.tfEnum, d.name);
}
// Quantized tensors are whole numbers here.
for (const d of ["int8", "uint8", "int32", "int16", "uint16"] as const) {
  byName.set(`DT_Q${DTYPES[d].tfEnum.slice(3)}`, d);
}

/** Parses a dtype: a name, TensorFlow's C++ name or enum constant. Throws `TypeError` for anything else. */
export function asDType(value: unknown): DType {
  const d = typeof value === "string" ? byName.get(value) : undefined;
  if (d === undefined) {
    throw new TypeError(
      `Cannot convert the argument \`type_value\`: ${show(value)} to a TensorFlow DType: wanted ${
        Object.keys(DTYPES).map((name) => `"${name}"`).join(", ")
      }`,
    );
  }
  return d;
}

export function isDType(value: unknown): value is DType {
  return typeof value === "string" && byName.has(value);
}

function show(value: unknown): string {
  let parts = 0;
  const counted = (_: string, part: unknown): unknown => {
    if (++parts > MOST_SHOWN) throw new RangeError("Too long");
    return part;
  };
  try {
    return typeof value === "function"
      ? value.name || "function"
      : JSON.stringify(value, counted) ?? String(value);
  } catch {
    // Too long or nested too deep to be formatted, or a class of its own.
    return Object.prototype.toString.call(value);
  }
}

/** Most parts of a value that a message shows. */
const MOST_SHOWN = 100;

/** True for floating and complex dtypes, through which gradients flow. */
export function isTrainable(dtype: DType): boolean {
  const k = DTYPES[dtype].kind;
  return k === "float" || k === "complex" || dtype === "resource" || dtype === "variant";
}

/** True for float16, bfloat16, float32, float64. */
export function isFloating(dtype: DType): boolean {
  return DTYPES[dtype].kind === "float";
}

/** True for signed and unsigned integers (not bool). */
export function isInteger(dtype: DType): boolean {
  const k = DTYPES[dtype].kind;
  return k === "int" || k === "uint";
}

/** True for the dtypes whose host elements are `bigint`. */
export function isBigInt(dtype: DType): boolean {
  return dtype === "int64" || dtype === "uint64";
}

/** Returns the bytes of `size` elements on the host. */
export function bytesOf(dtype: DType, size: number): number {
  return DTYPES[dtype].bytes * size;
}

/**
 * Makes a zeroed host array for `size` elements. Throws `TypeError` where the runtime has no array for the dtype, and
 * `ResourceExhaustedError` where there is no memory for it.
 */
export function makeData(dtype: DType, size: number): HostData {
  const d = DTYPES[dtype];
  const array = d.array;
  if (array) {
    return size < MANY
      ? new array(size * d.slots)
      : withinMemory(bytesOf(dtype, size), () => new array(size * d.slots));
  }
  if (d.kind === "string" || d.kind === "handle") {
    const each = d.kind === "string" ? EMPTY_BYTES : null;
    return withinMemory(8 * size, () => {
      if (size > MOST_OBJECTS) throw new RangeError("Too many elements");
      return new Array<unknown>(size).fill(each) as HostData;
    });
  }
  throw new TypeError(`Cannot make a ${dtype} array: this runtime has no Float16Array`);
}
/** Returns the result of `make`. Throws `ResourceExhaustedError` where the engine cannot allocate so many bytes. */
export function withinMemory<T>(bytes: number, make: () => T): T {
  try {
    return make();
  } catch (cause) {
    if (!(cause instanceof RangeError)) throw cause;
    throw new ResourceExhaustedError(
      `OOM when allocating an array of ${bytes} bytes: ${cause.message}`,
      { cause },
    );
  }
}
/** Elements above which memory may be short. */
const MANY = 1 << 20;
/** Most elements of an array of objects: engines end the process above that. */
export const MOST_OBJECTS: number = 1 << 26;
const EMPTY_BYTES = new Uint8Array(0);

const FLOATING: readonly DType[] = ["float32", "float64", "float16", "bfloat16"];
const COMPLEX: readonly DType[] = ["complex64", "complex128"];
const INTEGER: readonly DType[] = [
  ...["int32", "int64", "int8", "int16"] as const,
  ...["uint8", "uint16", "uint32", "uint64"] as const,
];

/** Groups that op signatures name, e.g. `T: floating`. */
export const DTYPE_GROUPS: Readonly<Record<string, readonly DType[]>> = {
  type: Object.keys(DTYPES) as DType[],
  floating: FLOATING,
  complex: COMPLEX,
  integer: INTEGER,
  real: [...FLOATING, ...INTEGER],
  numeric: [...FLOATING, ...INTEGER, ...COMPLEX],
  additive: [...FLOATING, ...INTEGER, ...COMPLEX, "bool", "string"],
  index: ["int32", "int64"],
};

/** Numbers, the narrowest first. */
const RANK = Object.values(DTYPES).filter((d) => d.bytes > 0).map((d) => d.name);

/** The wider one of two dtypes, bool < int < float < complex, as in TensorFlow.js; null where neither holds the other. */
export function widerDType(a: DType, b: DType): DType | null {
  if (a === b) return a;
  const i = RANK.indexOf(a), j = RANK.indexOf(b);
  return i < 0 || j < 0 ? null : RANK[Math.max(i, j)];
}

/** {@linkcode widerDType}. Throws `TypeError` where there is none. */
export function promote(a: DType, b: DType): DType {
  const wider = widerDType(a, b);
  if (wider === null) throw new TypeError(`Cannot upcast ${a} with ${b}`);
  return wider;
}

/** Dtypes by the classes of their typed arrays. */
const byClass = new Map<string, DType>([["Uint8ClampedArray", "uint8"]]);
for (const name of [...FLOATING, ...INTEGER]) {
  const array = `${name[0].toUpperCase()}${name.slice(1)}Array`;
  byClass.set(isBigInt(name) ? `Big${array}` : array, name);
}

/** Returns the dtype of a typed array's elements, undefined for other values. `Uint8ClampedArray` counts as uint8. */
export function dtypeOfArray(value: unknown): DType | undefined {
  return ArrayBuffer.isView(value)
    ? byClass.get((value as Uint8Array)[Symbol.toStringTag])
    : undefined;
}

/** True where elements are JavaScript numbers, which the array rounds, truncates or wraps by itself. */
export function isPlain(dtype: DType): boolean {
  const { kind } = DTYPES[dtype];
  return (kind === "float" || kind === "int" || kind === "uint" || kind === "bool") &&
    codeOf(dtype) === null && !isBigInt(dtype);
}

/** Returns the code of the array's elements; null where they are numbers, texts or handles. */
export function codeOf(dtype: DType): FloatCode | null {
  return DTYPES[dtype].float?.code ?? null;
}

const SHORT = new Set(FLOATING.filter((dtype) => DTYPES[dtype].bytes < 4));

/** True for floats of less than 32 bits, whose arithmetic is float32, rounded when stored. */
export function isShort(dtype: DType): boolean {
  return SHORT.has(dtype);
}

/** Returns the dtype that kernels compute in: float32 for float16. */
export function accDType(dtype: DType): DType {
  return dtype === "float16" ? "float32" : dtype;
}
