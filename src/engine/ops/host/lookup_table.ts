/** The contents of lookup tables. */
import { type DType, DTYPES } from "../../core/dtype.ts";
import { FailedPreconditionError, InvalidArgumentError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { sameShape, shapeText, sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { type Table, TableHandle } from "./lookup.ts";

/** Keys as they are compared: numbers and bigints by value, strings by their bytes. */
type Key = string | number | bigint;

/** The kind of a table. */
export interface LookupTableOptions {
  readonly isMutable?: boolean;
  /** It belongs to a graph, and each session has its own. */
  readonly ofGraph?: boolean;
  /** Shape of each value; a scalar by default. */
  readonly valueShape?: readonly number[];
  /** Keys that it refuses: the empty and the deleted key of a dense table. */
  readonly reserved?: readonly NdArray[];
}

/** Names of the reserved keys in messages. */
const RESERVED = ["empty_key", "deleted_key"];

/**
 * A table that is filled once, or a mutable one, initially empty. Follows TensorFlow `HashTable`, `MutableHashTable`,
 * `MutableHashTableOfTensors` and `MutableDenseHashTable`.
 */
export class LookupTable implements Table {
  readonly name: string;
  readonly dtypes: readonly [DType, DType];
  readonly ofGraph: boolean;
  readonly #options: LookupTableOptions;
  readonly #valueShape: readonly number[];
  /** Length of a value's data. */
  readonly #width: number;
  readonly #reserved: readonly Key[];
  /** The handle that ops take. */
  readonly handle: Tensor = new TableHandle(this);
  #places: ReadonlyMap<Key, number> | null = null;
  #keys: ArrayLike<unknown> = [];
  #values: ArrayLike<unknown> = [];

  constructor(name: string, dtypes: readonly [DType, DType], options: LookupTableOptions = {}) {
    const { isMutable = false, ofGraph = false, valueShape = [], reserved = [] } = options;
    this.name = name;
    this.dtypes = dtypes;
    this.ofGraph = ofGraph;
    this.#options = options;
    this.#valueShape = valueShape;
    this.#width = sizeOf(valueShape) * DTYPES[dtypes[1]].slots;
    this.#reserved = reserved.flatMap(keysOf);
    if (new Set(this.#reserved).size < this.#reserved.length) {
      throw new InvalidArgumentError("Empty and deleted keys cannot be equal");
    }
    if (isMutable) this.#places = new Map();
  }

  /** Makes an empty one for a session. */
  fork(): this {
    return new LookupTable(this.name, this.dtypes, { ...this.#options, ofGraph: false }) as this;
  }
  /** Does nothing: it has no device memory. */
  dispose(): void {}

  get size(): number {
    return this.#places?.size ?? 0;
  }

  /** Fills it. Throws `InvalidArgumentError` for a key with two values; repeating the same fill is allowed. */
  fill(keys: NdArray, values: NdArray): void {
    this.#check(keys.dtype, values.dtype);
    if (keys.size * sizeOf(this.#valueShape) !== values.size) {
      const each = this.#valueShape.length === 0 ? "" : ` of shape ${shapeText(this.#valueShape)}`;
      throw new InvalidArgumentError(
        `Cannot fill table "${this.name}": ${keys.size} keys and ${values.size} values${each}`,
      );
    }
    const places = new Map<Key, number>();
    const data = values.data as ArrayLike<unknown>;
    this.#keysOf(keys).forEach((key, i) => {
      const before = places.get(key);
      if (before !== undefined && !this.#options.isMutable && !sameValue(data[before], data[i])) {
        throw new InvalidArgumentError(
          `HashTable has different value for same key. Key ${String(key)} of table "${this.name}"`,
        );
      }
      places.set(key, i);
    });
    this.#places = places;
    this.#keys = copied(keys);
    this.#values = copied(values);
  }

  /** Adds keys, or replaces their values. */
  insert(keys: NdArray, values: NdArray): void {
    const now = this.entries();
    this.fill(joined(now.keys, keys), joined(now.values, values));
  }

  /** Takes keys out; others are left alone. */
  remove(keys: NdArray): void {
    const now = this.entries(), gone = new Set(this.#keysOf(keys));
    const left = keysOf(now.keys).flatMap((key, i) => gone.has(key) ? [] : [i]);
    const { keys: all, values } = now;
    this.fill(picked(all, left, 1), picked(values, left, this.#width));
  }

  entries(): { keys: NdArray; values: NdArray } {
    const places = [...this.#places?.values() ?? []], n = places.length;
    return {
      keys: arrayOf(this.dtypes[0], [n], places.map((place) => this.#keys[place])),
      values: arrayOf(
        this.dtypes[1],
        [n, ...this.#valueShape],
        places.flatMap((place) => this.#valueAt(place)),
      ),
    };
  }

  /** Returns the values of keys, `missing` for unknown ones. Throws `FailedPreconditionError` before it was filled. */
  find(keys: NdArray, missing: NdArray): NdArray {
    this.#check(keys.dtype, missing.dtype);
    const places = this.#places;
    if (places === null) {
      throw new FailedPreconditionError(`Table "${this.name}" is not initialised`);
    }
    if (!sameShape(missing.shape, this.#valueShape)) {
      throw new InvalidArgumentError(
        `Expected shape ${shapeText(this.#valueShape)} for default value, got ${
          shapeText(missing.shape)
        }`,
      );
    }
    const otherwise = Array.from(missing.data as ArrayLike<unknown>);
    const found = this.#keysOf(keys).flatMap((key) => {
      const place = places.get(key);
      return place === undefined ? otherwise : this.#valueAt(place);
    });
    return arrayOf(this.dtypes[1], [...keys.shape, ...this.#valueShape], found);
  }

  #valueAt(place: number): unknown[] {
    const width = this.#width;
    return Array.from({ length: width }, (_, i) => this.#values[place * width + i]);
  }

  /** Returns keys. Throws `InvalidArgumentError` for a reserved one. */
  #keysOf(keys: NdArray): Key[] {
    const all = keysOf(keys), used = new Set(all);
    const bad = this.#reserved.findIndex((key) => used.has(key));
    if (bad < 0) return all;
    throw new InvalidArgumentError(
      `Using the ${RESERVED[bad]} as a table key is not allowed: table "${this.name}"`,
    );
  }

  #check(key: DType, value: DType): void {
    if (key === this.dtypes[0] && value === this.dtypes[1]) return;
    throw new InvalidArgumentError(
      `Cannot use table "${this.name}" of ${this.dtypes.join(" → ")} with ${key} → ${value}`,
    );
  }
}

function copied({ data }: NdArray): ArrayLike<unknown> {
  return Array.isArray(data) ? [...data] : (data as Float32Array).slice();
}

function arrayOf(dtype: DType, shape: readonly number[], values: readonly unknown[]): NdArray {
  if (dtype === "string") return new NdArray(dtype, shape, values as Uint8Array[]);
  const out = NdArray.zeros(dtype, shape), target = out.data as { [i: number]: unknown };
  values.forEach((v, i) => target[i] = v);
  return out;
}

/** Returns these rows, of so many elements of data each. */
function picked({ dtype, shape, data }: NdArray, rows: readonly number[], width: number): NdArray {
  const from = data as ArrayLike<unknown>;
  const all = rows.flatMap((i) => Array.from({ length: width }, (_, k) => from[i * width + k]));
  return arrayOf(dtype, [rows.length, ...shape.slice(1)], all);
}

function joined(a: NdArray, b: NdArray): NdArray {
  const all = [a, b].flatMap(({ data }) => Array.from(data as ArrayLike<unknown>));
  return arrayOf(a.dtype, [all.length / DTYPES[a.dtype].slots], all);
}

function keysOf(keys: NdArray): Key[] {
  if (keys.dtype !== "string") return Array.from(keys.data as ArrayLike<number | bigint>);
  return (keys.data as Uint8Array[]).map((bytes) => {
    let text = "";
    for (const b of bytes) text += String.fromCharCode(b);
    return text;
  });
}

function sameValue(a: unknown, b: unknown): boolean {
  if (!(a instanceof Uint8Array) || !(b instanceof Uint8Array)) return Object.is(a, b);
  return a.length === b.length && a.every((x, i) => x === b[i]);
}
