/** The contents of lookup tables. */
import { type DType, DTYPES, type HostData, makeData } from "../../core/dtype.ts";
import { FailedPreconditionError, InvalidArgumentError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { sameShape, shapeText, sizeOf } from "../../core/shape.ts";
import type { Tensor } from "../../core/tensor.ts";
import { type KeyIndex, keyIndexOf } from "./key_index.ts";
import { type Table, TableHandle } from "./lookup.ts";

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
  readonly #reserved: KeyIndex;
  /** The handle that ops take. */
  readonly handle: Tensor = new TableHandle(this);
  #index: KeyIndex | null = null;
  /** The values by the numbers of their keys; there may be room for more. */
  #values: HostData;

  constructor(name: string, dtypes: readonly [DType, DType], options: LookupTableOptions = {}) {
    const { isMutable = false, ofGraph = false, valueShape = [], reserved = [] } = options;
    this.name = name;
    this.dtypes = dtypes;
    this.ofGraph = ofGraph;
    this.#options = options;
    this.#valueShape = valueShape;
    this.#width = sizeOf(valueShape) * DTYPES[dtypes[1]].slots;
    this.#reserved = keyIndexOf(dtypes[0]);
    for (const { data } of reserved) this.#reserved.add(data, 0);
    if (this.#reserved.size < reserved.length) {
      throw new InvalidArgumentError("Empty and deleted keys cannot be equal");
    }
    this.#values = this.#room(0);
    if (isMutable) this.#index = keyIndexOf(dtypes[0]);
  }

  /** Makes an empty one for a session. */
  fork(): this {
    return new LookupTable(this.name, this.dtypes, { ...this.#options, ofGraph: false }) as this;
  }
  /** Does nothing: it has no device memory. */
  dispose(): void {}

  get size(): number {
    return this.#index?.size ?? 0;
  }

  /** Fills it. Throws `InvalidArgumentError` for a key with two values; repeating the same fill is allowed. */
  fill(keys: NdArray, values: NdArray): void {
    this.#checkPairs(keys, values);
    const index = keyIndexOf(this.dtypes[0]), own = this.#room(keys.size), width = this.#width;
    const { isMutable = false } = this.#options;
    for (let i = 0; i < keys.size; i++) {
      const { size } = index, place = index.add(keys.data, i);
      if (place < size && !isMutable && !sameValue(own[place], values.data[i])) {
        throw new InvalidArgumentError(
          `HashTable has different value for same key. Key ${
            keyText(keys, i)
          } of table "${this.name}"`,
        );
      }
      copyValue(own, place, values.data, i, width);
    }
    this.#index = index;
    this.#values = own;
  }

  /** Adds keys, or replaces their values. */
  insert(keys: NdArray, values: NdArray): void {
    const index = this.#index, width = this.#width;
    if (index === null || !this.#options.isMutable) {
      const now = this.entries();
      return this.fill(joined(now.keys, keys), joined(now.values, values));
    }
    this.#checkPairs(keys, values);
    const most = (index.size + keys.size) * width;
    if (!Array.isArray(this.#values) && this.#values.length < most) {
      // Twice as much, so that keys that come one by one are not copied for each.
      const more = this.#room(2 * (index.size + keys.size)) as Float32Array;
      more.set(this.#values as Float32Array);
      this.#values = more;
    }
    for (let i = 0; i < keys.size; i++) {
      copyValue(this.#values, index.add(keys.data, i), values.data, i, width);
    }
  }

  /** Takes keys out; others are left alone. */
  remove(keys: NdArray): void {
    this.#checkKeys(keys);
    const { keys: all, values } = this.entries(), gone = new Set(this.#find(keys));
    const index = keyIndexOf(this.dtypes[0]), own = this.#room(all.size), width = this.#width;
    for (let i = 0; i < all.size; i++) {
      if (!gone.has(i)) copyValue(own, index.add(all.data, i), values.data, i, width);
    }
    this.#index = index;
    this.#values = own;
  }

  entries(): { keys: NdArray; values: NdArray } {
    const n = this.size, index = this.#index ?? keyIndexOf(this.dtypes[0]);
    return {
      keys: new NdArray(this.dtypes[0], [n], index.keys()),
      values: new NdArray(
        this.dtypes[1],
        [n, ...this.#valueShape],
        this.#values.slice(0, n * this.#width) as HostData,
      ),
    };
  }

  /** Returns the values of keys, `missing` for unknown ones. Throws `FailedPreconditionError` before it was filled. */
  find(keys: NdArray, missing: NdArray): NdArray {
    this.#check(keys.dtype, missing.dtype);
    if (this.#index === null) {
      throw new FailedPreconditionError(`Table "${this.name}" is not initialised`);
    }
    if (!sameShape(missing.shape, this.#valueShape)) {
      throw new InvalidArgumentError(
        `Expected shape ${shapeText(this.#valueShape)} for default value, got ${
          shapeText(missing.shape)
        }`,
      );
    }
    this.#checkKeys(keys);
    const places = this.#find(keys), out = this.#room(keys.size);
    gather(this.#values, places, missing.data, out, this.#width);
    return new NdArray(this.dtypes[1], [...keys.shape, ...this.#valueShape], out);
  }

  #find(keys: NdArray): Int32Array {
    return this.#index?.find(keys.data, keys.size) ?? new Int32Array(keys.size).fill(-1);
  }

  /** Makes room for so many values. */
  #room(count: number): HostData {
    return this.dtypes[1] === "string"
      ? []
      : makeData(this.dtypes[1], count * sizeOf(this.#valueShape));
  }

  /** Throws `InvalidArgumentError` for a reserved key. */
  #checkKeys(keys: NdArray): void {
    if (this.#reserved.size === 0) return;
    const bad = this.#reserved.find(keys.data, keys.size).filter((place) => place >= 0);
    if (bad.length === 0) return;
    throw new InvalidArgumentError(
      `Using the ${RESERVED[Math.min(...bad)]} as a table key is not allowed: table "${this.name}"`,
    );
  }

  /** Throws `InvalidArgumentError` for keys and values that do not fit each other or the table. */
  #checkPairs(keys: NdArray, values: NdArray): void {
    this.#check(keys.dtype, values.dtype);
    if (keys.size * sizeOf(this.#valueShape) !== values.size) {
      const each = this.#valueShape.length === 0 ? "" : ` of shape ${shapeText(this.#valueShape)}`;
      throw new InvalidArgumentError(
        `Cannot fill table "${this.name}": ${keys.size} keys and ${values.size} values${each}`,
      );
    }
    this.#checkKeys(keys);
  }

  #check(key: DType, value: DType): void {
    if (key === this.dtypes[0] && value === this.dtypes[1]) return;
    throw new InvalidArgumentError(
      `Cannot use table "${this.name}" of ${this.dtypes.join(" → ")} with ${key} → ${value}`,
    );
  }
}

/** Copies value `i` of some, of so many elements, to a place. */
function copyValue(to: HostData, place: number, from: HostData, i: number, width: number): void {
  const target = to as { [i: number]: unknown };
  for (let k = 0; k < width; k++) target[place * width + k] = from[i * width + k];
}

/** Views numbers as integers of their size, those of 64 bits as two. */
function bitsOf(data: HostData): Int32Array {
  const { buffer, byteOffset, byteLength, BYTES_PER_ELEMENT } = data as Float32Array<ArrayBuffer>;
  const Bits = BYTES_PER_ELEMENT === 1
    ? Uint8Array
    : BYTES_PER_ELEMENT === 2
    ? Uint16Array
    : Int32Array;
  return new Bits(buffer, byteOffset, byteLength / Bits.BYTES_PER_ELEMENT) as Int32Array;
}

/** Gathers values, `missing` for the place -1. */
function gather(
  from: HostData,
  places: Int32Array,
  missing: HostData,
  out: HostData,
  width: number,
): void {
  if (Array.isArray(out)) {
    places.forEach((place, i) =>
      place < 0 ? copyValue(out, i, missing, 0, width) : copyValue(out, i, from, place, width)
    );
    return;
  }
  const [values, otherwise, to] = [from, missing, out].map(bitsOf);
  const each = otherwise.length;
  for (let i = 0, at = 0; i < places.length; i++) {
    const place = places[i];
    if (place < 0) { for (let k = 0; k < each; k++) to[at++] = otherwise[k]; }
    else for (let k = place * each, end = k + each; k < end; k++) to[at++] = values[k];
  }
}

/** A key in a message. */
function keyText({ dtype, data }: NdArray, i: number): string {
  return dtype === "string" ? String.fromCharCode(...(data[i] as Uint8Array)) : String(data[i]);
}

function joined(a: NdArray, b: NdArray): NdArray {
  const { dtype } = a, count = a.size + b.size;
  if (dtype === "string") {
    return new NdArray(dtype, [count], [...a.data as Uint8Array[], ...b.data as Uint8Array[]]);
  }
  const data = makeData(dtype, count) as Float32Array;
  data.set(a.data as Float32Array);
  data.set(b.data as Float32Array, a.data.length);
  return new NdArray(dtype, [count], data);
}

function sameValue(a: unknown, b: unknown): boolean {
  if (!(a instanceof Uint8Array) || !(b instanceof Uint8Array)) return Object.is(a, b);
  return a.length === b.length && a.every((x, i) => x === b[i]);
}
