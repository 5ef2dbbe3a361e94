/** Conversion between JSON values and arrays, checked against a signature's dtypes and shapes. */
import { type DType, DTYPES, isBigInt } from "../engine/core/dtype.ts";
import { NdArray, setElement } from "../engine/core/nd_array.ts";
import { checkRank, sizeOf } from "../engine/core/shape.ts";
import { encodeString } from "../engine/core/text.ts";
import { HttpError } from "./http_error.ts";

/** Integers that a double may round, and numbers that JSON lacks and TensorFlow's servers read and write. */
const SPECIAL = /(?<=[[,:\s])(-?Infinity|NaN|-?[1-9]\d{15,})(?=[\],}\s])/;

/** Prefix of a special number's string in the text to parse; no value of a client looks so. */
const MARK = "\u0000weft number ";

/**
 * Parses a JSON text in which `NaN`, `Infinity` and `-Infinity` may stand; integers that a double would round become
 * `bigint`. Throws `HttpError` 400.
 */
export function parseJson(text: string): unknown {
  const isSpecial = SPECIAL.test(text);
  try {
    if (isSpecial) return JSON.parse(markSpecial(text), readSpecial);
  } catch {
    // The error must name a place in the text as it was sent.
  }
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new HttpError(400, `Cannot read the request's JSON: ${(cause as Error).message}`);
  }
}

function readSpecial(_key: string, value: unknown): unknown {
  if (typeof value !== "string" || !value.startsWith(MARK)) return value;
  const text = value.slice(MARK.length), number = Number(text);
  return /\d/.test(text) && !Number.isSafeInteger(number) ? BigInt(text) : number;
}

/** Replaces special numbers by strings, outside of strings only. */
function markSpecial(text: string): string {
  const strings = /"(?:[^"\\]|\\.)*"/g;
  const everywhere = new RegExp(SPECIAL, "g");
  const mark = JSON.stringify(MARK).slice(0, -1);
  let out = "", from = 0;
  for (const { 0: quoted, index } of text.matchAll(strings)) {
    // One character of the rest is kept, since the pattern looks at the character after a number.
    out += (text.slice(from, index) + '"').replace(everywhere, `${mark}$1"`).slice(0, -1) + quoted;
    from = index + quoted.length;
  }
  return out + text.slice(from).replace(everywhere, `${mark}$1"`);
}

/** Returns the shape of nested lists, by their first elements. */
export function nestedShape(value: unknown): number[] {
  const shape: number[] = [];
  for (let v = value; Array.isArray(v); v = v[0]) {
    shape.push(v.length);
    checkRank(shape.length);
  }
  return shape;
}

/**
 * Converts nested lists to an array. Throws `HttpError` 400 for ragged lists and for values of another kind than
 * `dtype`.
 */
export function arrayOf(value: unknown, dtype: DType, what: string): NdArray {
  const shape = nestedShape(value);
  const leaves: unknown[] = [];
  collect(value, shape, 0, leaves, what);
  return fromLeaves(leaves, shape, dtype, what);
}

function collect(
  value: unknown,
  shape: readonly number[],
  depth: number,
  leaves: unknown[],
  what: string,
): void {
  if (depth === shape.length) {
    if (Array.isArray(value)) throw ragged(what);
    leaves.push(value);
    return;
  }
  if (!Array.isArray(value) || value.length !== shape[depth]) throw ragged(what);
  for (const v of value) collect(v, shape, depth + 1, leaves, what);
}

function ragged(what: string): HttpError {
  return new HttpError(400, `Cannot read ${what}: its lists have different lengths`);
}

/**
 * Converts values in row-major order, nested or not, to an array. Throws `HttpError` 400 for a wrong number of them.
 */
export function arrayOfShape(
  value: unknown,
  shape: readonly number[],
  dtype: DType,
  what: string,
): NdArray {
  const leaves: unknown[] = [];
  flattenInto(value, leaves, 0);
  return fromLeaves(leaves, shape, dtype, what);
}

function flattenInto(value: unknown, leaves: unknown[], depth: number): void {
  checkRank(depth);
  if (Array.isArray(value)) { for (const v of value) flattenInto(v, leaves, depth + 1); }
  else leaves.push(value);
}

function fromLeaves(
  leaves: readonly unknown[],
  shape: readonly number[],
  dtype: DType,
  what: string,
): NdArray {
  if (leaves.length !== sizeOf(shape)) {
    throw new HttpError(
      400,
      `Cannot read ${what}: it has ${leaves.length} values, its shape [${shape}] wants ${
        sizeOf(shape)
      }`,
    );
  }
  const { kind } = DTYPES[dtype];
  if (kind === "complex" || kind === "handle") {
    throw new HttpError(400, `Cannot read ${what}: JSON has no ${dtype}`);
  }
  if (kind === "string") return new NdArray(dtype, shape, leaves.map((v) => bytesOf(v, what)));
  const read: Reader = READERS[kind];
  const array = NdArray.zeros(dtype, shape);
  for (const [i, leaf] of leaves.entries()) {
    const value = read(leaf, dtype);
    if (value === undefined) {
      throw new HttpError(
        400,
        `Cannot read ${what}: element ${i} is ${shown(leaf)}, wanted ${dtype}`,
      );
    }
    setElement(array, i, value);
  }
  return array;
}

/** Formats a client's value for messages. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value, (_, v) => typeof v === "bigint" ? `${v}` : v) ?? `${value}`;
  return text.length > 60 ? `${text.slice(0, 57)}...` : text;
}

/** Converts a value to an element; undefined for a value of another kind. */
type Reader = (value: unknown, dtype: DType) => number | bigint | undefined;

const READERS: Readonly<Record<"float" | "int" | "uint" | "bool", Reader>> = {
  float: (v) => typeof v === "number" ? v : typeof v === "bigint" ? Number(v) : undefined,
  int: readInteger,
  uint: readInteger,
  bool: (v) => v === true || v === 1 ? 1 : v === false || v === 0 ? 0 : undefined,
};

function readInteger(value: unknown, dtype: DType): number | bigint | undefined {
  if (typeof value !== "number" && typeof value !== "bigint") return undefined;
  if (typeof value === "number" && !Number.isInteger(value)) return undefined;
  const whole = BigInt(value);
  const bits = BigInt(8 * DTYPES[dtype].bytes);
  const wrapped = DTYPES[dtype].kind === "int"
    ? BigInt.asIntN(Number(bits), whole)
    : BigInt.asUintN(Number(bits), whole);
  if (wrapped !== whole) return undefined;
  return isBigInt(dtype) ? whole : Number(whole);
}

function bytesOf(value: unknown, what: string): Uint8Array {
  if (typeof value === "string") return encodeString(value);
  const b64 = (value as { readonly b64?: unknown } | null)?.b64;
  if (typeof b64 === "string") {
    try {
      return Uint8Array.from(atob(b64), (c) => c.charCodeAt(0));
    } catch {
      throw new HttpError(400, `Cannot read ${what}: its "b64" is not base64`);
    }
  }
  throw new HttpError(
    400,
    `Cannot read ${what}: wanted a string or { "b64": … }, received ${shown(value)}`,
  );
}

const utf8 = new TextDecoder("utf-8", { fatal: true });

function stringText(bytes: Uint8Array): string {
  try {
    return JSON.stringify(utf8.decode(bytes));
  } catch {
    let binary = "";
    for (const b of bytes) binary += String.fromCharCode(b);
    return JSON.stringify({ b64: btoa(binary) });
  }
}

/** Formats an element: integers whole, `NaN` and infinities by name, strings that are no text in base64. */
function elementText(array: NdArray, i: number): string {
  const value = array.at(i);
  if (value instanceof Uint8Array) return stringText(value);
  return Array.isArray(value) ? `[${value[0]},${value[1]}]` : `${value}`;
}

/** Formats the elements of an array as a flat JSON list. */
export function flatText(array: NdArray): string {
  const texts = Array.from({ length: array.size }, (_, i) => elementText(array, i));
  return `[${texts.join(",")}]`;
}

/** Formats an array, or its part from the element at `from` on, as nested JSON lists. */
export function nestedText(
  array: NdArray,
  shape: readonly number[] = array.shape,
  from = 0,
): string {
  if (shape.length === 0) return elementText(array, from);
  const [length, ...rest] = shape;
  const step = sizeOf(rest);
  const texts = Array.from({ length }, (_, i) => nestedText(array, rest, from + i * step));
  return `[${texts.join(",")}]`;
}
