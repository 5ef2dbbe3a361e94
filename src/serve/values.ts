/** Conversion between JSON values and arrays, checked against a signature's dtypes and shapes. */
import { type DType, DTYPES, isBigInt } from "../engine/core/dtype.ts";
import { NdArray, setElement } from "../engine/core/nd_array.ts";
import { checkRank, sizeOf } from "../engine/core/shape.ts";
import { encodeString } from "../engine/core/text.ts";
import { HttpError } from "./http_error.ts";
import { isList, type List, LongList, LongText } from "./long_text.ts";
import { NumberGrid } from "./number_grid.ts";
import type { Slices } from "./slices.ts";

/** Returns the shape of nested lists, by their first elements. */
export function nestedShape(value: unknown): number[] {
  const shape: number[] = [];
  if (value instanceof NumberGrid) return [...value.shape];
  for (let v = value; isList(v); v = v.at(0)) {
    shape.push(v.length);
    checkRank(shape.length);
  }
  return shape;
}

/** Elements between two looks at the clock. */
const ELEMENTS = 4096;

/** Bytes that engines take for the bytes of a short string. */
export const STRING_COST = 160;

/** Walks the leaves of nested lists in order. */
class Leaves {
  readonly #lists: List[] = [];
  readonly #at: number[] = [];
  readonly #shape: readonly number[] | null;
  readonly #what: string;
  #value: unknown;
  #isFirst = true;

  /** With a `shape`, lists must have its lengths. */
  constructor(value: unknown, shape: readonly number[] | null, what: string) {
    this.#value = value;
    this.#shape = shape;
    this.#what = what;
  }

  /** Moves to the next leaf. Returns false at the end. Throws `HttpError` 400 for ragged lists. */
  next(): boolean {
    if (this.#isFirst) {
      this.#isFirst = false;
      return this.#descend(this.#value);
    }
    while (this.#lists.length > 0) {
      const list = this.#lists.at(-1)!, at = this.#at[this.#at.length - 1]++;
      if (at < list.length) {
        if (this.#descend(list.at(at))) return true;
      } else {
        this.#lists.pop();
        this.#at.pop();
      }
    }
    return false;
  }

  get leaf(): unknown {
    return this.#value;
  }

  /** Goes down to a value's first leaf. Returns false where the value is an empty list, which stays open. */
  #descend(value: unknown): boolean {
    for (let v = value;;) {
      const depth = this.#lists.length, wanted = this.#shape?.[depth];
      if (!isList(v)) {
        if (wanted !== undefined) throw ragged(this.#what);
        this.#value = v;
        return true;
      }
      checkRank(depth + 1);
      if (this.#shape !== null && v.length !== wanted) throw ragged(this.#what);
      this.#lists.push(v);
      this.#at.push(1);
      if (v.length === 0) return this.next();
      v = v.at(0);
    }
  }
}

function ragged(what: string): HttpError {
  return new HttpError(400, `Cannot read ${what}: its lists have different lengths`);
}

/** Values of a tensor in JSON. */
export interface Given {
  /** Nested lists, or with a shape any lists of its values in row-major order. */
  readonly value: unknown;
  readonly shape?: readonly number[];
  readonly dtype: DType;
  /** Name in errors. */
  readonly what: string;
}

/**
 * Converts lists to an array. Rejects with `HttpError` 400 for ragged lists, a wrong number of values, and values of another kind
 * than the dtype.
 */
export async function arrayOf(
  { value, shape: given, dtype, what }: Given,
  slices: Slices,
): Promise<NdArray> {
  const { kind } = DTYPES[dtype];
  if (kind === "complex" || kind === "handle") {
    throw new HttpError(400, `Cannot read ${what}: JSON has no ${dtype}`);
  }
  const shape = given ?? nestedShape(value), size = sizeOf(shape);
  checkRank(shape.length);
  const read = (leaf: unknown, i: number): number | bigint | Uint8Array => {
    const element = kind === "string" ? bytesOf(leaf, what) : READERS[kind](leaf, dtype);
    if (element !== undefined) return element;
    throw new HttpError(
      400,
      `Cannot read ${what}: element ${i} is ${shown(leaf)}, wanted ${dtype}`,
    );
  };
  const checkSize = (count: number): void => {
    if (count === size) return;
    throw new HttpError(
      400,
      `Cannot read ${what}: it has ${count} values, its shape [${shape}] wants ${size}`,
    );
  };
  if (value instanceof NumberGrid) {
    checkSize(value.size);
    const array = NdArray.zeros(dtype, shape);
    for (let i = 0; i < size; i++) {
      setElement(array, i, read(value.at(i), i) as number);
      if ((i + 1) % ELEMENTS === 0) await slices.turn();
    }
    return array;
  }
  const leaves = new Leaves(value, given === undefined ? shape : null, what);
  const values = new LongList<number | bigint | Uint8Array>();
  for (let i = 0; leaves.next(); i++) {
    const { leaf } = leaves;
    const long = kind === "string" ? longText(leaf) : null;
    values.push(long === null ? read(leaf, i) : await bytesOfLong(long, what, slices));
    if ((i + 1) % ELEMENTS !== 0) continue;
    if (kind === "string") slices.took(ELEMENTS * STRING_COST);
    await slices.turn();
  }
  checkSize(values.length);
  if (kind === "string") return new NdArray(dtype, shape, values.toArray() as Uint8Array[]);
  const array = NdArray.zeros(dtype, shape);
  for (let i = 0; i < size; i++) {
    setElement(array, i, values.at(i) as number);
    if ((i + 1) % ELEMENTS === 0) await slices.turn();
  }
  return array;
}

/**
 * Throws `HttpError` 400 for a shape with more rows than a request of so many bytes can mean: a shape with a 0 takes no bytes, and
 * may make outputs of all its rows.
 */
export function checkRows(shape: readonly number[], bytes: number, what: string): void {
  const rows = shape.reduce((n, d) => d === 0 ? n : n * d, 1);
  if (!shape.includes(0) || rows <= bytes) return;
  throw new HttpError(
    400,
    `Cannot read ${what}: its shape [${shape}] has ${rows} rows without values, a request of ${bytes} bytes may have ${bytes}`,
  );
}

/** Most characters of a client's value in a message. */
const MOST_SHOWN = 60;

/** Formats a client's value for messages. */
export function shown(value: unknown): string {
  // A text or a list may take megabytes, of which the message shows the beginning.
  let left = MOST_SHOWN;
  const text = JSON.stringify(value, (_, v) => {
    if (--left < 0) return null;
    if (typeof v === "bigint") return `${v}`;
    if (typeof v === "string") return v.slice(0, MOST_SHOWN);
    return Array.isArray(v) ? v.slice(0, Math.max(1, left)) : v;
  }) ?? `${value}`;
  return text.length > MOST_SHOWN ? `${text.slice(0, MOST_SHOWN - 3)}...` : text;
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
  if (typeof value === "number" && DTYPES[dtype].bytes <= 4) return small(value, dtype);
  const whole = BigInt(value);
  const bits = BigInt(8 * DTYPES[dtype].bytes);
  const wrapped = DTYPES[dtype].kind === "int"
    ? BigInt.asIntN(Number(bits), whole)
    : BigInt.asUintN(Number(bits), whole);
  if (wrapped !== whole) return undefined;
  return isBigInt(dtype) ? whole : Number(whole);
}

/** Returns a whole number that the dtype holds; undefined for another one. */
function small(value: number, dtype: DType): number | undefined {
  const { kind, bytes } = DTYPES[dtype], range = 2 ** (8 * bytes);
  const least = kind === "int" ? -range / 2 : 0;
  // A zero of integers has no sign.
  return value >= least && value < least + range ? value + 0 : undefined;
}

/** A long string, and whether it is in base64. */
type Long = readonly [text: LongText, isBase64: boolean];

function longText(value: unknown): Long | null {
  if (value instanceof LongText) return [value, false];
  const b64 = (value as { readonly b64?: unknown } | null)?.b64;
  return b64 instanceof LongText ? [b64, true] : null;
}

async function bytesOfLong(
  [text, isBase64]: Long,
  what: string,
  slices: Slices,
): Promise<Uint8Array> {
  const bytes = isBase64 ? await text.fromBase64(slices) : await text.bytes(slices);
  if (bytes === null) throw notBase64(what);
  return bytes;
}

const notBase64 = (what: string): HttpError =>
  new HttpError(400, `Cannot read ${what}: its "b64" is not base64`);

function bytesOf(value: unknown, what: string): Uint8Array {
  if (typeof value === "string") return encodeString(value);
  const b64 = (value as { readonly b64?: unknown } | null)?.b64;
  if (typeof b64 === "string") {
    try {
      return Uint8Array.from(atob(b64), (c) => c.charCodeAt(0));
    } catch {
      throw notBase64(what);
    }
  }
  throw new HttpError(
    400,
    `Cannot read ${what}: wanted a string or { "b64": … }, received ${shown(value)}`,
  );
}
