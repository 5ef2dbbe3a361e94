/** NumPy's npy files, read and written. */
import { type DType, DTYPES, withinMemory } from "../../engine/core/dtype.ts";
import { TypeError } from "../../engine/core/throwing/builtin_errors.ts";
import { UnimplementedError } from "../../engine/core/errors.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
import { isShape, sizeOf, stridesOf } from "../../engine/core/shape.ts";
import {
  arrayFromBytes,
  type Bytes,
  bytesOfArray,
  checkBytes,
  concatBytes,
  hostArray,
  swapBytes,
  unreadable,
  viewOf,
  type Writable,
} from "./bytes.ts";
import { lookingLike } from "./kinds/file_kinds.ts";

const MAGIC = [0x93, 0x4e, 0x55, 0x4d, 0x50, 0x59];
const ALIGNMENT = 64;

/** NumPy's type codes. */
const CODES: Partial<Record<DType, string>> = {
  bool: "b1",
  int8: "i1",
  int16: "i2",
  int32: "i4",
  int64: "i8",
  uint8: "u1",
  uint16: "u2",
  uint32: "u4",
  uint64: "u8",
  float16: "f2",
  float32: "f4",
  float64: "f8",
  complex64: "c8",
  complex128: "c16",
};
const DTYPE_OF: ReadonlyMap<string, DType> = new Map(
  Object.entries(CODES).map(([d, c]) => [c, d as DType]),
);

/**
 * Reads an npy file: any version, C or Fortran order, either byte order; `S` and `U` strings become dtype `string`.
 * Throws `DataLossError` for bytes that are no npy file or are cut short, `UnimplementedError` for object and record
 * arrays.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const bytes = await tf.io.writeNpy(tf.tensor([[1, 2], [3, 4]]));
 * console.log(tf.io.readNpy(bytes).toArray()); // [[1, 2], [3, 4]]
 * ```
 */
export function readNpy(bytes: Uint8Array, name = "npy file"): NdArray {
  checkBytes(bytes, name);
  if (bytes.length < 10 || MAGIC.some((b, i) => bytes[i] !== b)) {
    throw unreadable(name, `it does not begin as an npy file does${lookingLike(bytes)}`);
  }
  const view = viewOf(bytes);
  const version = bytes[6];
  if (version < 1 || version > 3) {
    throw new UnimplementedError(`Cannot read ${name}: npy version ${version} is not known`);
  }
  const start = version === 1 ? 10 : 12;
  if (bytes.length < start) {
    throw unreadable(name, "it ends inside the header");
  }
  const length = version === 1 ? view.getUint16(8, true) : view.getUint32(8, true);
  if (start + length > bytes.length) {
    throw unreadable(name, `the header takes ${length} bytes, ${bytes.length - start} are there`);
  }
  const text = new TextDecoder(version === 3 ? "utf-8" : "latin1").decode(
    bytes.subarray(start, start + length),
  );
  const { descr, fortran_order: isFortran, shape } = readHeader(text, name);
  const body = bytes.subarray(start + length);
  if (!isFortran) return readBody(descr, shape, body, name);
  return transposed(readBody(descr, [...shape].reverse(), body, name));
}

/**
 * Writes an npy file, version 1.0 or where the header is long 2.0, that NumPy loads without pickle.
 * Rejects with `TypeError` for dtypes that NumPy lacks.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const bytes = await tf.io.writeNpy(tf.tensor([1, 2, 3], [3], "int32"));
 * console.log(new TextDecoder("latin1").decode(bytes.subarray(1, 6))); // NUMPY
 * ```
 */
export async function writeNpy(value: Writable): Promise<Bytes> {
  return npyBytes(await hostArray(value));
}

/** {@linkcode writeNpy} of a host array. */
export function npyBytes(array: NdArray): Bytes {
  const { code, body } = array.dtype === "string" ? stringBody(array) : {
    code: typeCode(array.dtype),
    body: bytesOfArray(array),
  };
  const dims = array.shape.length === 1 ? `${array.shape[0]},` : array.shape.join(", ");
  const header = `{'descr': '${code}', 'fortran_order': False, 'shape': (${dims}), }`;
  // Version 1: no tensor has so many dimensions that its header would not fit.
  const total = Math.ceil((10 + header.length + 1) / ALIGNMENT) * ALIGNMENT;
  const head = new Uint8Array(total).fill(0x20);
  head.set([...MAGIC, 1, 0]);
  viewOf(head).setUint16(8, total - 10, true);
  head.set(new TextEncoder().encode(header), 10);
  head[total - 1] = 0x0a;
  return concatBytes([head, body]);
}

function typeCode(dtype: DType): string {
  const code = CODES[dtype];
  if (code === undefined) {
    throw new TypeError(`Cannot write ${dtype} as npy: NumPy has no such dtype, cast it first`);
  }
  return `${DTYPES[dtype].bytes === 1 ? "|" : "<"}${code}`;
}

function stringBody(array: NdArray): { code: string; body: Bytes } {
  const items = array.data as Uint8Array[];
  const width = items.reduce((most, s) => Math.max(most, s.length), 1);
  const size = items.length * width;
  const body = withinMemory(size, () => new Uint8Array(size));
  items.forEach((s, i) => {
    if (s.at(-1) === 0) {
      throw new TypeError(
        "Cannot write a string that ends in a zero byte as npy: NumPy would drop the byte",
      );
    }
    body.set(s, i * width);
  });
  return { code: `|S${width}`, body };
}

function readBody(
  descr: unknown,
  shape: readonly number[],
  body: Uint8Array,
  name: string,
): NdArray {
  const parts = typeof descr === "string" ? /^([<>|=])([a-zA-Z])(\d+)$/.exec(descr) : null;
  const dtype = parts ? DTYPE_OF.get(parts[2] + parts[3]) : undefined;
  if (parts && dtype) {
    const width = DTYPES[dtype].bytes / DTYPES[dtype].slots;
    if (parts[1] !== ">") return arrayFromBytes(dtype, shape, body, name);
    const swapped = body.slice();
    swapBytes(swapped, width);
    return arrayFromBytes(dtype, shape, swapped, name);
  }
  if (parts && (parts[2] === "S" || parts[2] === "U")) {
    return readStrings(parts[2], parts[1] === ">", Number(parts[3]), shape, body, name);
  }
  throw new UnimplementedError(
    `Cannot read ${name}: NumPy dtype ${
      typeof descr === "string" ? JSON.stringify(descr) : "of fields"
    } is not supported; objects and records have no tensor form`,
  );
}

function readStrings(
  kind: "S" | "U",
  isBig: boolean,
  length: number,
  shape: readonly number[],
  body: Uint8Array,
  name: string,
): NdArray {
  const width = kind === "S" ? length : 4 * length, size = sizeOf(shape);
  if (body.length !== size * width) {
    throw unreadable(
      name,
      `${size} strings of ${width} bytes were announced, received ${body.length} bytes`,
    );
  }
  // NumPy writes no such arrays, which would be any number of strings for no bytes.
  if (width === 0 && size > 0) {
    throw unreadable(name, `${size} strings of 0 bytes were announced`);
  }
  const view = viewOf(body), encoder = new TextEncoder();
  const items = Array.from({ length: size }, (_, i) => {
    let end = length;
    if (kind === "S") {
      while (end > 0 && body[i * width + end - 1] === 0) end--;
      return body.slice(i * width, i * width + end);
    }
    const point = (k: number): number => view.getUint32(i * width + 4 * k, !isBig);
    while (end > 0 && point(end - 1) === 0) end--;
    let text = "";
    for (let k = 0; k < end; k++) {
      const p = point(k);
      if (p > 0x10ffff || (p >= 0xd800 && p < 0xe000)) {
        throw unreadable(name, `string ${i} has the code point 0x${p.toString(16)}, which is none`);
      }
      text += String.fromCodePoint(p);
    }
    return encoder.encode(text);
  });
  return new NdArray("string", [...shape], items);
}

/** Reverses the axes of an array. */
function transposed(a: NdArray): NdArray {
  const shape = [...a.shape].reverse();
  const out = NdArray.zeros(a.dtype, shape);
  const from = stridesOf(a.shape).reverse(), slots = DTYPES[a.dtype].slots;
  const index = new Array<number>(shape.length).fill(0);
  const src = a.data as unknown[], dst = out.data as unknown[];
  for (let i = 0; i < a.size; i++) {
    const at = index.reduce((n, x, d) => n + x * from[d], 0);
    for (let c = 0; c < slots; c++) dst[i * slots + c] = src[at * slots + c];
    for (let d = shape.length - 1; d >= 0 && ++index[d] === shape[d]; d--) index[d] = 0;
  }
  return out;
}

interface Header {
  readonly descr: unknown;
  readonly fortran_order: boolean;
  readonly shape: number[];
}

/** Reads the header: a Python dict of strings, booleans and tuples. */
function readHeader(text: string, name: string): Header {
  const bad = (why: string): never => {
    throw unreadable(name, `the header ${why}: ${JSON.stringify(text.trim().slice(0, 200))}`);
  };
  let dict: unknown;
  try {
    dict = pythonLiteral(text);
  } catch {
    return bad("is no Python literal");
  }
  const { descr, fortran_order, shape } = (dict ?? {}) as Record<string, unknown>;
  if (descr === undefined || typeof fortran_order !== "boolean" || !Array.isArray(shape)) {
    return bad("lacks descr, fortran_order or shape");
  }
  if (!isShape(shape)) return bad("has a shape that is none");
  return { descr, fortran_order, shape: [...shape] };
}

/** Parses a Python literal of strings, booleans, whole numbers, tuples, lists and dicts, after rewriting it as JSON. */
function pythonLiteral(text: string): unknown {
  const token = /'([^'\\]*)'|"([^"\\]*)"|\b(True|False)\b|(\d+)L?|,\s*([)\]}])|[([)\]{},:\s]|(.)/gs;
  const json = text.replace(token, (found, single, double, truth, digits, end, other) => {
    if (other !== undefined) throw new SyntaxError(`${other} in a literal`);
    if (truth !== undefined) return truth.toLowerCase();
    if (digits !== undefined) return String(Number(digits));
    const string = single ?? double;
    if (string !== undefined) return JSON.stringify(string);
    return (end ?? found).replace("(", "[").replace(")", "]");
  });
  return JSON.parse(json);
}
