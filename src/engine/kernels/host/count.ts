/** Counting of values on the host. */
import { isBigInt } from "../../core/dtype.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { numbersOf } from "./numbers.ts";

/**
 * Sums the weights (1 by default) of each value below `size`, row by row; with `binary` marks the values that occur.
 * Throws `InvalidArgumentError` for negative values.
 */
export function bincountCpu(
  x: NdArray,
  weights: NdArray,
  size: number,
  binary: boolean,
  out: NdArray,
): void {
  const big = isBigInt(out.dtype), one = (big ? 1n : 1) as number;
  // Bigints are added by the same operator as numbers.
  const bins = out.data as Float64Array, values = numbersOf(x);
  const w = weights.data.length === 0 ? null : weights.data as Float64Array;
  bins.fill((big ? 0n : 0) as number);
  const n = x.shape.length === 2 ? x.shape[1] : values.length;
  for (let first = 0, bin = 0; first < values.length; first += n, bin += size) {
    for (let i = first; i < first + n; i++) {
      const v = values[i];
      if (v < 0) throw negativeValue(v);
      if (v >= size) continue;
      if (binary) bins[bin + v] = one;
      else bins[bin + v] += w === null ? one : w[i];
    }
  }
}

export function negativeValue(value: number): InvalidArgumentError {
  return new InvalidArgumentError(`Input arr must be non-negative, received ${value}`);
}
