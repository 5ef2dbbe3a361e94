/** fitted: crops or pads an axis. */
import type { Tensor } from "../../core/tensor.ts";
import { pad } from "../array/pad.ts";
import { slice } from "../array/slice.ts";

/** Crops or pads an axis with zeros to a length. */
export function fitted(x: Tensor, axis: number, length: number): Tensor {
  const known = x.staticShape![axis], zeros = new Array<number>(x.rank).fill(0);
  if (known === length) return x;
  const cropped = (y: Tensor): Tensor =>
    slice(y, zeros, zeros.map((_, i) => i === axis ? length : -1));
  if (known !== null && known > length) return cropped(x);
  const ends = zeros.map((_, i): [number, number] => [0, i === axis ? length - (known ?? 0) : 0]);
  return known === null ? cropped(pad(x, ends)) : pad(x, ends);
}
