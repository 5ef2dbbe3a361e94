/** Histograms of equal parts of a range, in the arithmetic of TensorFlow's. */
import { apply1, compose, type OpInput } from "../../core/apply.ts";
import { asDType, type DType, DTYPES, isFloating, isInteger } from "../../core/dtype.ts";
import { ValueError } from "../../core/errors.ts";
import { NdArray } from "../../core/nd_array.ts";
import { lookupOp } from "../../core/op.ts";
import { compatible, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import {
  asTensor,
  castInput,
  shapeOfInput,
  toDenseInput,
  toIndexInput,
  toOperand,
} from "../input.ts";
import { div, mul, sub } from "../pointwise/arithmetic.ts";
import { floor } from "../pointwise/rounding.ts";
import { maximum, minimum } from "../pointwise/select.ts";
import { cast } from "./cast.ts";
import { onesLike } from "./creation.ts";
import { gather } from "./gather.ts";
import { hostInts, reshape } from "./view.ts";

function endsOf(range: Tensor, dtype: DType): Tensor[] {
  const ends = cast(range, dtype);
  return [0, 1].map((i) => gather(ends, i));
}

/** Counts values by equal parts of a range: outer ones count in the first and the last. int32. */
export function histogramOf(values: Tensor, range: Tensor, bins: OpInput): Tensor {
  const [low, high] = endsOf(range, "float64");
  const count = cast(asTensor(bins), "float64");
  const place = floor(
    div(sub(reshape(cast(values, "float64"), [-1]), low), div(sub(high, low), count)),
  );
  const bin = cast(minimum(maximum(place, 0), sub(count, 1)), "int32");
  return apply1(lookupOp("UnsortedSegmentSum")!, [onesLike(bin), bin, bins]);
}

interface Inputs {
  readonly values: Tensor;
  readonly range: Tensor;
  readonly bins: OpInput;
}

function inputsOf(values: TensorLike, range: TensorLike, nbins: TensorLike, fn: string): Inputs {
  const x = toDenseInput(values, "values", fn), bins = toIndexInput(nbins, "nbins", fn);
  const { kind } = DTYPES[x.dtype];
  if (kind !== "float" && kind !== "int" && kind !== "uint") {
    throw new TypeError(`Cannot count values of dtype ${x.dtype} by ${fn}: wanted real numbers`);
  }
  const ends = toOperand(range, x, { arg: "valueRange", fn }), shape = shapeOfInput(ends);
  if (!compatible(shape, [2])) {
    throw new ValueError(
      `Cannot apply ${fn}: valueRange must be two numbers, received shape ${shapeText(shape)}`,
    );
  }
  if (bins instanceof NdArray && !(bins.size === 1 && hostInts(bins)[0] > 0)) {
    throw new ValueError(`Cannot apply ${fn}: nbins must be a number above 0, received ${bins}`);
  }
  if (ends instanceof NdArray && !(Number(ends.at(0)) < Number(ends.at(1)))) {
    throw new ValueError(
      `Cannot apply ${fn}: valueRange must rise, received ${ends.at(0)} and ${ends.at(1)}`,
    );
  }
  return { values: asTensor(x), range: asTensor(ends), bins: reshaped(castInput(bins, "int32")) };
}

const reshaped = (x: OpInput): OpInput => shapeOfInput(x)?.length === 1 ? reshape(x, []) : x;

/** Throws for a dtype that counts nothing. */
function wholeDType(dtype: DType, fn: string): DType {
  const known = asDType(dtype);
  if (isInteger(known)) return known;
  throw new TypeError(`Cannot apply ${fn} with dtype ${known}: wanted one of whole numbers`);
}

/**
 * Counts values in `nbins` equal parts of a range; values outside count in the first or the last. Throws `TypeError` for
 * values that are no real numbers, `ValueError` for a range that does not rise and for no parts. Follows TensorFlow
 * `tf.histogram_fixed_width`, op `HistogramFixedWidth`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.histogramFixedWidth([-1, 0, 1.5, 2, 5, 15], [0, 5], 5).array()); // [2, 1, 1, 0, 2]
 * ```
 */
export function histogramFixedWidth(
  values: TensorLike,
  valueRange: TensorLike,
  nbins: TensorLike = 100,
  dtype: DType = "int32",
): Tensor {
  const fn = "histogramFixedWidth", to = wholeDType(dtype, fn);
  return compose(() => {
    const { values: x, range, bins } = inputsOf(values, valueRange, nbins, fn);
    return cast(histogramOf(x, range, bins), to);
  });
}

/**
 * The number of the part that each value counts in, as in {@linkcode histogramFixedWidth}: shaped like `values`, computed in
 * their dtype, where they are floats. Throws likewise. Follows TensorFlow `tf.histogram_fixed_width_bins`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.histogramFixedWidthBins([-1, 0, 1.5, 2, 5, 15], [0, 5], 5).array()); // [0, 0, 1, 2, 4, 4]
 * ```
 */
export function histogramFixedWidthBins(
  values: TensorLike,
  valueRange: TensorLike,
  nbins: TensorLike = 100,
  dtype: DType = "int32",
): Tensor {
  const fn = "histogramFixedWidthBins", to = wholeDType(dtype, fn);
  return compose(() => {
    const { values: x, range, bins } = inputsOf(values, valueRange, nbins, fn);
    const float = isFloating(x.dtype) ? x.dtype : "float64";
    const [low, high] = endsOf(range, float), count = cast(asTensor(bins), float);
    const part = floor(mul(count, div(sub(cast(x, float), low), sub(high, low))));
    return cast(minimum(maximum(part, 0), sub(count, 1)), to);
  });
}
