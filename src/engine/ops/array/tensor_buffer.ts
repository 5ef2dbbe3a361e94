/** TensorBuffer: elements that are set one by one before they become a tensor. */
import { showAs } from "../../core/arrays/shown.ts";
import { wantList, wantNumber, wantObject } from "../../core/arguments.ts";
import type { ChainedBuffer } from "../../core/chained/chained_ops.ts";
import { decodeString } from "../../core/text.ts";
import { numberRule } from "../../core/convert.ts";
import { elementWriter } from "../../core/arrays/elements.ts";
import {
  asDType,
  codeOf,
  type DType,
  DTYPES,
  type HostData,
  makeData,
  type TypedArray,
} from "../../core/dtype.ts";
import type { DataType, Rank } from "../../core/ranks.ts";
import { ValueError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { isShape, shapeText, sizeOf, stridesOf } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { tensor } from "./creation.ts";

/** An element of a buffer. */
export type BufferElement = number | string | boolean | bigint;
/** The storage of a buffer: strings as they are, all else as the dtype's array. */
export type BufferValues = TypedArray | BufferElement[];

/**
 * A mutable host array with the shape and dtype of a future tensor. Made by {@linkcode buffer}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const b = tf.buffer([2, 2]);
 * b.set(3, 0, 1);
 * console.log(b.toTensor().arraySync()); // [[0, 3], [0, 0]]
 * ```
 */
export class TensorBuffer<R extends Rank = Rank, D extends DataType = "float32">
  implements ChainedBuffer {
  /** Element type. */
  readonly dtype: DType;
  /** Dimensions. */
  readonly shape: number[];
  /** Number of elements. */
  readonly size: number;
  /** Elements in row-major order. */
  readonly values: BufferValues;
  /** Elements per step along each axis but the last. */
  readonly strides: number[];

  /** Takes zeros, or these elements. Throws `ValueError` where their number does not fit the shape. */
  constructor(shape: readonly number[], dtype: DType = "float32", values?: BufferValues) {
    if (!isShape(shape as unknown)) {
      throw new ValueError(
        `Cannot make a TensorBuffer of shape ${
          shapeText(shape)
        }: dimensions must be non-negative integers`,
      );
    }
    this.dtype = asDType(dtype);
    this.shape = [...shape];
    this.size = sizeOf(shape);
    if (DTYPES[this.dtype].slots !== 1) {
      throw new ValueError(
        `Cannot make a TensorBuffer of ${this.dtype}: use tf.complex(real, imag) with two buffers`,
      );
    }
    if (values !== undefined) wantObject(values, "values", "buffer", "an array");
    if (values !== undefined && values.length !== this.size) {
      throw new ValueError(
        `Cannot make a TensorBuffer of shape ${
          shapeText(shape)
        }: length of values '${values.length}' does not match the size '${this.size}'`,
      );
    }
    this.values = values ??
      (this.dtype === "string"
        ? new Array<string>(this.size).fill("")
        : makeData(this.dtype, this.size) as TypedArray);
    this.strides = stridesOf(shape).slice(0, -1);
  }

  /** Number of dimensions. */
  get rank(): number {
    return this.shape.length;
  }

  /**
   * Sets the element at these indices, by default index 0. Throws `ValueError` for the wrong number of them or out of bounds, and where
   * an integer dtype does not hold the number, `TypeError` for a fraction or another kind of value.
   */
  set(value: BufferElement, ...locs: number[]): void {
    if (locs.length === 0) locs = [0];
    if (locs.length !== this.rank && !(this.rank === 0 && locs.length === 1)) {
      throw new ValueError(
        `The number of provided coordinates (${locs.length}) must match the rank (${this.rank})`,
      );
    }
    this.#checkBounds(locs);
    (this.values as unknown[])[this.locToIndex(locs)] = this.dtype === "string"
      ? value
      : elementWriter(this.dtype, numberRule())(value);
  }

  /** Returns the element at these indices, by default index 0. Throws `ValueError` out of bounds. */
  get(...locs: number[]): BufferElement {
    if (locs.length === 0) locs = [0];
    this.#checkBounds(locs);
    const stored = (this.values as BufferElement[])[this.locToIndex(locs)];
    return codeOf(this.dtype)?.decode(stored as number) ?? stored;
  }

  #checkBounds(locs: readonly number[]): void {
    locs.forEach((loc, i) => wantNumber(loc, `locs[${i}]`, "buffer"));
    if (locs.every((loc, i) => loc >= 0 && loc < (this.shape[i] ?? 1))) return;
    throw new ValueError(`Requested out of range element at ${locs}. Buffer shape=${this.shape}`);
  }

  /** Returns the flat index of these indices. */
  locToIndex(locs: readonly number[]): number {
    wantList(locs, "locs", "locToIndex", "numbers");
    locs.forEach((loc, i) => wantNumber(loc, `locs[${i}]`, "locToIndex"));
    if (this.rank === 0) return 0;
    return locs.reduce((n, loc, i) => n + loc * (this.strides[i] ?? 1), 0);
  }

  /** Returns the indices of a flat index. */
  indexToLoc(index: number): number[] {
    wantNumber(index, "index", "indexToLoc");
    if (this.rank === 0) return [];
    return this.shape.map((_, i) => {
      const stride = this.strides[i] ?? 1;
      const at = Math.floor(index / stride);
      index -= at * stride;
      return at;
    });
  }

  /** Makes a tensor of the elements. */
  toTensor(): Tensor<R> {
    const { dtype, shape, values } = this;
    if (Array.isArray(values)) return tensor(values as TensorLike, shape, dtype);
    return tensor(new NdArray(dtype, shape, (values as Float32Array).slice()), shape, dtype);
  }

  /** Formats it for `console.log`. */
  toString(): string {
    return `TensorBuffer(${this.dtype}${shapeText(this.shape)})`;
  }
}
showAs(TensorBuffer);

/** Copies a tensor's elements to a buffer. */
export function bufferOf({ shape, dtype }: Tensor, data: HostData): TensorBuffer {
  const values = Array.isArray(data) ? (data as Uint8Array[]).map(decodeString) : data.slice();
  return new TensorBuffer(shape, dtype, values);
}

/**
 * Makes a buffer of zeros, or of these values, to be filled element by element. Throws `ValueError` where values and
 * shape do not fit. Follows TensorFlow.js `tf.buffer`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const b = tf.buffer([3], "int32");
 * b.set(5, 2);
 * console.log(b.toTensor().arraySync()); // [0, 0, 5]
 * ```
 */
export function buffer<R extends Rank = Rank, D extends DataType = "float32">(
  shape: readonly number[],
  dtype: DType = "float32",
  values?: BufferValues,
): TensorBuffer<R, D> {
  return new TensorBuffer(shape, dtype ?? "float32", values);
}
