/** saturateCast: a conversion that keeps values within the range of the dtype. */
import { apply1, compose, type OpInput } from "../../core/apply.ts";
import { asDType, type DType, DTYPES, INTEGER_ENDS } from "../../core/dtype.ts";
import { NdArray, setElement } from "../../core/nd_array.ts";
import { lookupOp } from "../../core/op.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { asTensor, toDenseInput } from "../input.ts";
import { complex, imag, real } from "../pointwise/complex.ts";
import { cast } from "./cast.ts";

/** Returns the least and the greatest value of `to` that `from` holds; null where all of `from` lie between those of `to`. */
function bounds(from: DType, to: DType): readonly [number | bigint, number | bigint] | null {
  const own = DTYPES[from].float, other = DTYPES[to].float, ends = INTEGER_ENDS[to];
  if (own !== null) {
    // As in TensorFlow infinities become finite wherever the dtype changes.
    if (other !== null) {
      const most = Math.min(own.greatest, other.greatest);
      return from === to ? null : [-most, most];
    }
    if (ends === undefined) return null;
    const [low, high] = ends.map((end) => rounded(BigInt(end), own.fraction + 1));
    return [Math.max(low, -own.greatest), Math.min(high, own.greatest)];
  }
  const given = INTEGER_ENDS[from];
  if (given === undefined || ends === undefined) {
    if (given === undefined || other === null || Number(given[1]) <= other.greatest) return null;
    return [given[0] < -other.greatest ? -other.greatest : given[0], other.greatest];
  }
  const [low, high] = given.map(BigInt), [least, most] = ends.map(BigInt);
  if (low >= least && high <= most) return null;
  return [low > least ? low : least, high < most ? high : most];
}

/** Returns a whole number rounded towards zero to so many significant bits. */
function rounded(value: bigint, bits: number): number {
  const size = value < 0n ? -value : value;
  const shift = BigInt(Math.max(0, size.toString(2).length - bits));
  const kept = Number(size >> shift << shift);
  return value < 0n ? -kept : kept;
}

function literal(dtype: DType, value: number | bigint): NdArray {
  const out = NdArray.zeros(dtype, []), isWide = dtype === "int64" || dtype === "uint64";
  setElement(out, 0, isWide ? BigInt(value) : Number(value));
  return out;
}

/**
 * Converts to another dtype: what it does not hold becomes the nearest bound, also infinities. Complex numbers keep their
 * real part, unless the dtype is complex, too. The gradient is cut where values were. Throws `TypeError` for a bad dtype.
 * Follows TensorFlow `tf.saturate_cast`, which makes the other bound of floats beyond 64 bits.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.saturateCast([-3.5, 7.5, 300], "uint8").array()); // [0, 7, 255]
 * ```
 */
export function saturateCast(x: TensorLike, dtype: DType): Tensor {
  const to = asDType(dtype);
  return compose(() => saturated(toDenseInput(x, "x", "saturateCast"), to));
}

function saturated(x: OpInput, to: DType): Tensor {
  if (DTYPES[x.dtype].kind === "complex") {
    if (DTYPES[to].kind !== "complex") return saturated(real(x), to);
    if (DTYPES[x.dtype].bytes <= DTYPES[to].bytes) return cast(x, to) as Tensor;
    return complex(saturated(real(x), "float32"), saturated(imag(x), "float32"));
  }
  const ends = bounds(x.dtype, to);
  if (ends === null) return cast(asTensor(x), to);
  const [low, high] = ends.map((end) => literal(x.dtype, end));
  return cast(apply1(lookupOp("ClipByValue")!, [asTensor(x), low, high]), to);
}
