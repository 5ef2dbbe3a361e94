/** Adding runs of elements into a host array, in any numeric dtype. */
import { codeOf, DTYPES, isShort } from "../../core/dtype.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { numbersOf, settle } from "./numbers.ts";

/** Returns elements as numbers that can be added: coded floats become float32, others stay. */
export function addable(x: NdArray): Float32Array {
  return (codeOf(x.dtype) === null ? x.data : numbersOf(x)) as Float32Array;
}

/** Sums into an array that starts as zeros. Short floats are summed in float32. */
export class Accumulator {
  readonly #out: NdArray;
  readonly #sums: Float32Array;
  readonly #slots: number;

  /** Starts with zeros, or with the contents of `out`. */
  constructor(out: NdArray, keep = false) {
    this.#out = out;
    this.#slots = DTYPES[out.dtype].slots;
    if (isShort(out.dtype)) {
      this.#sums = keep ? Float32Array.from(addable(out)) : new Float32Array(out.size);
    } else {
      this.#sums = out.data as Float32Array;
      if (!keep) {
        (out.data as unknown[]).fill(out.dtype === "int64" || out.dtype === "uint64" ? 0n : 0);
      }
    }
  }

  /** Adds `count` elements from `begin` on to those from `place` on. */
  add(place: number, values: Float32Array, begin: number, count = 1): void {
    const sums = this.#sums;
    let p = place * this.#slots, b = begin * this.#slots;
    for (const end = b + count * this.#slots; b < end; b++) sums[p++] += values[b];
  }

  /** Stores the sums in the output. */
  finish(): void {
    settle(this.#sums, this.#out);
  }
}
