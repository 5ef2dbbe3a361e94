/**
 * Counting of values on the host.
 * May import core.
 */
import { isBigInt } from "../core/dtype.ts";
import { InvalidArgumentError } from "../core/errors.ts";
import type { NdArray } from "../core/nd_array.ts";

/**
 * Adds up the weights (1 where there are none) of each value below `size`, row by row; with `binary` says only what occurs.
 * Throws `InvalidArgumentError` for negative values.
 */
export function bincountCpu(
  x: NdArray,
  weights: NdArray,
  size: number,
  binary: boolean,
  out: NdArray,
): void {
  const big = isBigInt(out.dtype);
  const bins = out.data as unknown as (number | bigint)[];
  const w = weights.data as unknown as (number | bigint)[];
  const one = big ? 1n : 1, zero = big ? 0n : 0;
  for (let i = 0; i < bins.length; i++) bins[i] = zero;
  const n = x.shape.length === 2 ? x.shape[1] : x.data.length;
  for (let i = 0; i < x.data.length; i++) {
    const v = Number(x.data[i]);
    if (v < 0) throw new InvalidArgumentError(`Input arr must be non-negative, received ${v}`);
    if (v >= size) continue;
    const k = Math.floor(i / n) * size + v;
    if (binary) bins[k] = one;
    else if (w.length === 0) bins[k] = (bins[k] as number) + (one as number);
    else bins[k] = (bins[k] as number) + (w[i] as number);
  }
}
