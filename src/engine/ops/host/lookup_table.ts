/** The contents of lookup tables. */
import type { DType } from "../../core/dtype.ts";
import { FailedPreconditionError, InvalidArgumentError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import type { Tensor } from "../../core/tensor.ts";
import { type Table, TableHandle } from "./lookup.ts";

/** Keys as they are compared: numbers and bigints by value, strings by their bytes. */
type Key = string | number | bigint;

/**
 * A table that is filled once, or a mutable one, initially empty. Follows TensorFlow `HashTable` and
 * `MutableHashTable`.
 */
export class LookupTable implements Table {
  readonly name: string;
  readonly dtypes: readonly [DType, DType];
  readonly ofGraph: boolean;
  readonly #isMutable: boolean;
  /** The handle that ops take. */
  readonly handle: Tensor = new TableHandle(this);
  #places: ReadonlyMap<Key, number> | null = null;
  #keys: ArrayLike<unknown> = [];
  #values: ArrayLike<unknown> = [];

  /** `ofGraph`: it belongs to a graph, and each session has its own. */
  constructor(
    name: string,
    dtypes: readonly [DType, DType],
    { isMutable = false, ofGraph = false }: { isMutable?: boolean; ofGraph?: boolean } = {},
  ) {
    this.name = name;
    this.dtypes = dtypes;
    this.ofGraph = ofGraph;
    this.#isMutable = isMutable;
    if (isMutable) this.#places = new Map();
  }

  /** Makes an empty one for a session. */
  fork(): this {
    return new LookupTable(this.name, this.dtypes, { isMutable: this.#isMutable }) as this;
  }
  /** Does nothing: it has no device memory. */
  dispose(): void {}

  get size(): number {
    return this.#places?.size ?? 0;
  }

  /** Fills it. Throws `InvalidArgumentError` for a key with two values; repeating the same fill is allowed. */
  fill(keys: NdArray, values: NdArray): void {
    this.#check(keys.dtype, values.dtype);
    if (keys.size !== values.size) {
      throw new InvalidArgumentError(
        `Cannot fill table "${this.name}": ${keys.size} keys and ${values.size} values`,
      );
    }
    const places = new Map<Key, number>();
    const data = values.data as ArrayLike<unknown>;
    keysOf(keys).forEach((key, i) => {
      const before = places.get(key);
      if (before !== undefined && !this.#isMutable && !sameValue(data[before], data[i])) {
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
    const now = this.entries(), gone = new Set(keysOf(keys));
    const left = keysOf(now.keys).flatMap((key, i) => gone.has(key) ? [] : [i]);
    const pick = (from: NdArray): NdArray =>
      arrayOf(from.dtype, [left.length], left.map((i) => (from.data as ArrayLike<unknown>)[i]));
    this.fill(pick(now.keys), pick(now.values));
  }

  entries(): { keys: NdArray; values: NdArray } {
    const places = [...this.#places?.values() ?? []];
    const pick = (from: ArrayLike<unknown>, dtype: DType): NdArray =>
      arrayOf(dtype, [places.length], places.map((place) => from[place]));
    return { keys: pick(this.#keys, this.dtypes[0]), values: pick(this.#values, this.dtypes[1]) };
  }

  /** Returns the values of keys, `missing` for unknown ones. Throws `FailedPreconditionError` before it was filled. */
  find(keys: NdArray, missing: NdArray): NdArray {
    this.#check(keys.dtype, missing.dtype);
    const places = this.#places;
    if (places === null) {
      throw new FailedPreconditionError(`Table "${this.name}" is not initialised`);
    }
    const otherwise = (missing.data as ArrayLike<unknown>)[0];
    const found = keysOf(keys).map((key) => {
      const place = places.get(key);
      return place === undefined ? otherwise : this.#values[place];
    });
    return arrayOf(this.dtypes[1], keys.shape, found);
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

function joined(a: NdArray, b: NdArray): NdArray {
  const all = [a, b].flatMap(({ data }) => Array.from(data as ArrayLike<unknown>));
  return arrayOf(a.dtype, [all.length], all);
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
