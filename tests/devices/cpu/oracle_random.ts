/** Random cases for kernels: small shapes with empty and one-long axes, and arrays with the values that go wrong. */

import type { DType } from "../../../src/engine/core/dtype.ts";
import { NdArray } from "../../../src/engine/core/nd_array.ts";
import { sizeOf } from "../../../src/engine/core/shape.ts";
import { randomSource } from "./engines.ts";

/** Numbers that float kernels must preserve; large finite ones would overflow in float32 and not in float64. */
const SPECIAL = [NaN, Infinity, -Infinity, 1e-45, -1e-40, 2 ** -126, -0, 0];
const INT_EDGES = [0, -1, 1, 2147483647, -2147483648, 65536];

/** A source of random choices, the same in each run. */
export class Dice {
  readonly #next: () => number;

  /** Choices that follow from the seed. */
  constructor(seed: number) {
    this.#next = randomSource(seed);
  }

  /** One of these. */
  pick<T>(...items: readonly T[]): T {
    return items[Math.floor(this.#next() * items.length)];
  }
  /** A whole number from `low` to `high`, both among them. */
  between(low: number, high: number): number {
    return low + Math.floor(this.#next() * (high - low + 1));
  }
  /** An extent: often 1, now and then 0, at most `most`. */
  extent(most: number): number {
    const kind = this.#next();
    return kind < 0.04 ? 0 : kind < 0.2 ? 1 : this.between(1, most);
  }
  /** Extents. */
  shape(rank: number, most: number): number[] {
    return Array.from({ length: rank }, () => this.extent(most));
  }
  /** Small extents; now and then larger ones of few axes. */
  anyShape(rank: number, most: number): number[] {
    return this.shape(rank, rank < 3 && this.chance(0.2) ? most : rank < 4 ? 6 : 4);
  }
  /** True so often. */
  chance(probability: number): boolean {
    return this.#next() < probability;
  }
  /** The axes in another order. */
  shuffled(count: number): number[] {
    const order = Array.from({ length: count }, (_, i) => i);
    for (let i = count - 1; i > 0; i--) {
      const j = this.between(0, i);
      [order[i], order[j]] = [order[j], order[i]];
    }
    return order;
  }

  /** Ordinary numbers of either sign. */
  plain(shape: readonly number[], scale = 1): NdArray {
    const data = Float32Array.from({ length: sizeOf(shape) }, () => scale * (this.#next() - 0.5));
    return new NdArray("float32", [...shape], data);
  }
  /** Ordinary numbers; in every fourth array some NaN, infinities, zeros of either sign and subnormal numbers. */
  floats(shape: readonly number[], scale = 1): NdArray {
    const x = this.plain(shape, scale);
    if (this.chance(0.25)) this.#sprinkle(x.data as Float32Array, SPECIAL);
    return x;
  }
  /** Whole numbers of all 32 bits, the extreme ones among them. */
  integers(shape: readonly number[]): NdArray {
    const data = Int32Array.from({ length: sizeOf(shape) }, () => (this.#next() * 2 ** 32) | 0);
    this.#sprinkle(data, INT_EDGES);
    return new NdArray("int32", [...shape], data);
  }

  /** True and false. */
  truths(shape: readonly number[]): NdArray {
    const data = Uint8Array.from({ length: sizeOf(shape) }, () => Number(this.chance(0.5)));
    return new NdArray("bool", [...shape], data);
  }

  /** Elements of this dtype. */
  elements(dtype: DType, shape: readonly number[]): NdArray {
    if (dtype === "bool") return this.truths(shape);
    return dtype === "float32" ? this.floats(shape) : this.integers(shape);
  }
  /** Elements of any dtype that vector code moves. */
  anything(shape: readonly number[]): NdArray {
    return this.elements(this.pick("float32", "int32", "bool"), shape);
  }

  #sprinkle(data: Float32Array | Int32Array, values: readonly number[]): void {
    for (let i = 0; i < data.length; i++) if (this.chance(0.06)) data[i] = this.pick(...values);
  }
}
