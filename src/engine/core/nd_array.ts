/** NdArray: the host array of script bodies and fetches. */
import { wantFunction, wantList, wantNumber } from "./arguments.ts";
import type { DType, HostData, TypedArray } from "./dtype.ts";
import { asDType, codeOf, DTYPES, makeData } from "./dtype.ts";
import { checkRank, isShape, type Shape, shapeText, sizeOf, stridesOf } from "./shape.ts";
import { elementAt } from "./arrays/elements.ts";
import { elementsText } from "./arrays/format.ts";
import { assignAt, checkPlace, indexPrototype, liveList } from "./arrays/indexing.ts";
import { nestElements } from "./arrays/nest_elements.ts";
import { primitiveOf } from "./arrays/primitive.ts";
import { TypeError } from "./throwing/builtin_errors.ts";
import { ValueError } from "./errors.ts";
import { decodeString } from "./text.ts";
export { noteLevels } from "./arrays/level_matrix.ts";
export { primitiveOf };

/** One element as a JavaScript value: bytes for strings, `[re, im]` for complex. */
export type ElementValue = number | bigint | boolean | Uint8Array | readonly [number, number];
/** Elements in nested arrays; tensors give strings as text. */
export type Nested = ElementValue | string | readonly Nested[];

let readElements: (array: NdArray) => HostData;
let placeIn: (array: NdArray) => Part;
let partOf: (part: Part, dtype: DType, shape: Shape) => NdArray;
let copyLater: (array: NdArray, source: HostData) => NdArray;

/**
 * A row-major host array. 64-bit integers are `bigint`, strings are bytes, complex numbers are interleaved pairs.
 * As in NumPy, `x[i]` is an element of a vector, and else a row that shares its elements with the array; assigning to it writes them.
 * Indices count from the start: a negative one throws `ValueError`, as does one past the end. Loops over many elements read `data`.
 *
 * @example
 * ```ts
 * import { NdArray } from "@weft/weft";
 * const a = new NdArray("float32", [2, 2], new Float32Array([1, 2, 3, 4]));
 * console.log(a.get(1, 0)); // 3
 * console.log(a.map((x) => Number(x) * 2).toArray()); // [[2, 4], [6, 8]]
 * a[1] = 0;
 * console.log([...a].map(String)); // ["[1, 2]", "[0, 0]"]
 * ```
 */
export class NdArray {
  /** The element of a vector; else a row, which shares its elements with the array. */
  [index: number]: ElementValue | NdArray;
  /** Element type. */
  readonly dtype: DType;
  /** Dimensions. */
  readonly shape: readonly number[];
  /** Elements in row-major order, not copied. */
  readonly data: HostData;
  /** The elements that `data` is copied from at its first read; null where the array has its own. */
  #source: HostData | null = null;
  /** The place of a row among the elements of its list; null for an array that is no such row. */
  #part: Part | null = null;

  static {
    Object.setPrototypeOf(
      NdArray.prototype,
      indexPrototype<NdArray>({
        owns: (value): value is NdArray => #source in (value as object),
        read: (array, i) => {
          checkPlace(array, i);
          return entryAt(array, i);
        },
        write: (array, i, value) => {
          checkPlace(array, i);
          const { dtype, shape } = array,
            { data, from } = array.#part ?? { data: array.data, from: 0 };
          const given = value instanceof NdArray ? value.toArray() : value;
          assignAt({ dtype, shape, data }, { i, from }, given);
        },
      }),
    );
    readElements = (array) => {
      const part = array.#part;
      if (part === null) return array.#source ?? array.data;
      return part.data.slice(part.from, part.from + array.size) as HostData;
    };
    placeIn = (array) => array.#part ?? { data: array.#source ?? array.data, from: 0 };
    partOf = (part, dtype, shape) => {
      const n = sizeOf(shape), row = new NdArray(dtype, shape, new Array<Uint8Array>(n));
      row.#part = part;
      const get = (): HostData => {
        const value = liveList(part.data as Uint8Array[], part.from, n);
        Object.defineProperty(row, "data", { value, enumerable: true, configurable: true });
        return value;
      };
      return Object.defineProperty(row, "data", { enumerable: true, configurable: true, get });
    };
    copyLater = ({ dtype, shape }, source) => {
      const copy = new NdArray(dtype, [...shape], source);
      copy.#source = source;
      const own = { enumerable: true, configurable: true };
      const get = (): HostData => {
        const value = copyOf(source);
        Object.defineProperty(copy, "data", { ...own, value, writable: true });
        copy.#source = null;
        return value;
      };
      return Object.defineProperty(copy, "data", { ...own, get });
    };
  }

  /**
   * Wraps `data` without a copy. Throws `ValueError` for an invalid shape, and where the data's length does not fit it.
   */
  constructor(dtype: DType, shape: Shape, data: HostData) {
    if (!isShape(shape as unknown)) {
      if (Array.isArray(shape)) checkRank(shape.length);
      throw new ValueError(
        `Cannot make an NdArray of shape ${
          shapeText(shape)
        }: dimensions must be non-negative integers`,
      );
    }
    const wanted = sizeOf(shape) * DTYPES[dtype].slots;
    if (data.length !== wanted) {
      const given = `shape ${shapeText(shape)} and dtype ${dtype}`;
      throw new ValueError(
        `Cannot make an NdArray of ${given}: data has ${data.length} entries, wanted ${wanted}`,
      );
    }
    this.dtype = dtype;
    this.shape = shape;
    this.data = data;
  }

  /** A zero-filled array. */
  static zeros(dtype: DType, shape: Shape): NdArray {
    wantList(shape, "shape", "NdArray.zeros", "extents");
    return new NdArray(dtype, shape, makeData(asDType(dtype), sizeOf(shape)));
  }

  /** Number of dimensions. */
  get rank(): number {
    return this.shape.length;
  }
  /** Number of dimensions, NumPy's spelling. */
  get ndim(): number {
    return this.shape.length;
  }
  /** Extent of the first axis. Throws `TypeError` for rank 0, which has none. */
  get length(): number {
    if (this.shape.length > 0) return this.shape[0];
    throw new TypeError("Cannot take the length of an NdArray of rank 0: take its item()");
  }
  /** Number of elements. */
  get size(): number {
    return sizeOf(this.shape);
  }
  /** Row-major strides in elements. */
  get strides(): readonly number[] {
    return stridesOf(this.shape);
  }

  /** The elements of a vector, or the rows of any other array. Throws `TypeError` for rank 0. */
  *[Symbol.iterator](): Generator<ElementValue | NdArray, void> {
    for (let i = 0; i < this.length; i++) yield entryAt(this, i);
  }

  /** Returns the element at a flat index; negative ones count from the end. Throws `ValueError` out of bounds. */
  at(flat: number): ElementValue {
    wantNumber(flat, "flat", "at");
    const i = flat < 0 ? flat + this.size : flat, part = this.#part;
    const data = part === null ? this.#source ?? this.data : part.data;
    const end = part === null ? data.length / DTYPES[this.dtype].slots : this.size;
    if (!(Number.isInteger(i) && i >= 0 && i < end)) {
      throw new ValueError(
        `Cannot get element: index ${flat} is out of bounds for an array of ${this.size} elements`,
      );
    }
    return elementAt({ dtype: this.dtype, data }, part === null ? i : part.from + i);
  }

  /** The only element. Throws `ValueError` where there is not exactly one. */
  item(): ElementValue {
    if (this.size !== 1) {
      throw new ValueError(
        `Cannot take item() of shape ${shapeText(this.shape)}: it must hold exactly one element`,
      );
    }
    return this.at(0);
  }

  /** Returns the element at these indices; negative ones count from the end. Throws `ValueError` out of bounds. */
  get(...indices: number[]): ElementValue {
    if (indices.length !== this.shape.length) {
      throw new ValueError(
        `Cannot get element: received ${indices.length} indices for rank ${this.shape.length}`,
      );
    }
    let flat = 0;
    indices.forEach((index, i) => {
      wantNumber(index, "indices", "NdArray.get");
      const n = this.shape[i], j = index < 0 ? index + n : index;
      if (!Number.isInteger(j) || j < 0 || j >= n) {
        throw new ValueError(
          `Cannot get element: index ${index} is out of bounds for axis ${i} of size ${n}`,
        );
      }
      flat = flat * n + j;
    });
    return this.at(flat);
  }

  /** Makes a new array of the same dtype and shape from `fn(element, flatIndex)`. */
  map(fn: (value: ElementValue, index: number) => ElementValue): NdArray {
    wantFunction(fn, "fn", "map");
    const out = NdArray.zeros(this.dtype, this.shape);
    for (let i = 0; i < this.size; i++) setElement(out, i, fn(this.at(i), i));
    return out;
  }

  /** Copies the array. */
  copy(): NdArray {
    if (this.#source !== null) return copiedLater(this);
    const { dtype } = this, data = elementsOf(this);
    const own = dtype === "string"
      ? (data as Uint8Array[]).map((bytes) => bytes.slice())
      : copyOf(data);
    return new NdArray(dtype, [...this.shape], own as HostData);
  }

  /** Views the same elements under another shape. Throws `ValueError` where the sizes differ. */
  reshape(shape: Shape): NdArray {
    return new NdArray(this.dtype, shape, this.data);
  }

  /** Nested JavaScript arrays; a plain element for rank 0. */
  toArray(): Nested {
    return nestElements({ dtype: this.dtype, shape: this.shape, data: elementsOf(this) });
  }

  /**
   * Returns the only string, decoded as UTF-8; invalid bytes become U+FFFD. Throws `TypeError` for another dtype,
   * `ValueError` where there is not exactly one.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * const upper = (x: tf.NdArray) => x.text().toUpperCase();
   * console.log(tf.numpyFunction(upper, ["süß"], "string").arraySync()); // SÜSS
   * ```
   */
  text(): string {
    const all = this.#bytes("text");
    if (all.length === 1) return decodeString(all[0]);
    throw new ValueError(
      `Cannot take text() of an array of shape ${
        shapeText(this.shape)
      }: it must hold exactly one string, take strings()`,
    );
  }

  /**
   * Returns the strings in row-major order, decoded as UTF-8; invalid bytes become U+FFFD. Throws `TypeError` for
   * another dtype.
   *
   * @example
   * ```ts
   * import * as tf from "@weft/weft";
   * const lengths = (x: tf.NdArray) => x.strings().map((s) => s.length);
   * console.log(tf.numpyFunction(lengths, [["tea", "süß", ""]], "int32").arraySync()); // [3, 3, 0]
   * ```
   */
  strings(): string[] {
    return this.#bytes("strings").map(decodeString);
  }

  #bytes(method: string): readonly Uint8Array[] {
    if (this.dtype === "string") return elementsOf(this) as Uint8Array[];
    throw new TypeError(
      `Cannot take ${method}() of an array of dtype ${this.dtype}: it must hold strings`,
    );
  }

  /** Formats the elements, long axes abridged. */
  toString(): string {
    return elementsText(this);
  }
  /** Converts an array of rank 0 to its number in arithmetic. Throws `TypeError` for any other. */
  [Symbol.toPrimitive](hint: string): string | number | bigint | boolean {
    return hint === "string" ? this.toString() : primitiveOf(this, () => this.at(0));
  }
}

/** Returns the element of a vector at an index, or the row of any other array. */
function entryAt(array: NdArray, i: number): ElementValue | NdArray {
  const { dtype, shape } = array;
  if (shape.length === 1) {
    const { data, from } = placeIn(array);
    return elementAt({ dtype, data }, from + i);
  }
  const row = shape.slice(1), n = sizeOf(row) * DTYPES[dtype].slots;
  if (DTYPES[dtype].kind === "string") {
    const { data, from } = placeIn(array);
    return partOf({ data, from: from + i * n }, dtype, row);
  }
  return new NdArray(dtype, row, (array.data as Float32Array).subarray(i * n, (i + 1) * n));
}

/** Elements among others. */
interface Part {
  readonly data: HostData;
  readonly from: number;
}

/** Returns the elements of an array for a reader that neither writes nor keeps them: a deferred copy stays deferred. */
export function elementsOf(array: NdArray): HostData {
  return readElements(array);
}

/**
 * Makes a copy that is deferred until its `data` is read. The elements of `array` must be numbers that never change.
 */
export function copiedLater(array: NdArray): NdArray {
  return copyLater(array, elementsOf(array));
}

/** Copies elements. A large typed array, unlike a slice, is not cleared before it is filled. */
function copyOf(data: HostData): HostData {
  return ArrayBuffer.isView(data) && data.length >= LARGE
    ? new (data.constructor as Float32ArrayConstructor)(data as Float32Array)
    : data.slice() as HostData;
}
/** Elements above which copying costs more than calling a constructor. */
const LARGE = 1 << 12;

/** Copies all elements of an array into another of its dtype and size. */
export function copyElements({ data: from }: NdArray, { data: to }: NdArray): void {
  if (Array.isArray(to)) { for (let i = 0; i < to.length; i++) to[i] = (from as unknown[])[i]; }
  else (to as Float32Array).set(from as Float32Array);
}

/** Writes one element, wrapping integers as the typed array does. */
export function setElement(array: NdArray, flat: number, value: ElementValue): void {
  const d = array.data as { [i: number]: unknown };
  switch (DTYPES[array.dtype].kind) {
    case "complex": {
      const [re, im] = typeof value === "number" ? [value, 0] : value as [number, number];
      d[2 * flat] = re;
      d[2 * flat + 1] = im;
      return;
    }
    case "bool":
      d[flat] = value ? 1 : 0;
      return;
    default:
      d[flat] = codeOf(array.dtype)?.encode(Number(value)) ?? value;
  }
}

const sealed = new WeakSet<NdArray>();
/** Marks an array whose elements never change any more: graphs keep it as it is. */
export function sealArray(array: NdArray): NdArray {
  sealed.add(array);
  return array;
}

/** True for an array that {@linkcode sealArray} marked. */
export function isSealed(array: NdArray): boolean {
  return sealed.has(array);
}

/** Writes all elements of an array, in row-major order. */
type Write = (to: TypedArray) => void;
const writers = new WeakMap<NdArray, Write>();

/** Returns a sealed array whose elements `write` computes. Its `data` is computed at the first read, and kept. */
export function laterArray(dtype: DType, shape: Shape, write: Write): NdArray {
  const length = sizeOf(shape) * DTYPES[dtype].slots;
  const array = new NdArray(dtype, shape, { length } as unknown as HostData);
  const own = { enumerable: true, configurable: true };
  const get = (): HostData => {
    const value = passingData(array);
    Object.defineProperty(array, "data", { ...own, value });
    writers.delete(array);
    return value;
  };
  writers.set(array, write);
  return sealArray(Object.defineProperty(array, "data", { ...own, get }));
}

/** Returns the function that writes the elements of an array without `data` yet; undefined for all others. */
export function writerOf(array: NdArray): Write | undefined {
  return writers.get(array);
}

/** Returns an array's elements for a reader that neither changes nor keeps them: computed ones are not kept. */
export function passingData(array: NdArray): HostData {
  const write = writers.get(array);
  if (write === undefined) return array.data;
  const data = makeData(array.dtype, array.size);
  write(data as TypedArray);
  return data;
}
