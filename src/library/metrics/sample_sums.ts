/** Sums over the samples of a batch, and of their weights, of which means are made. */
import { ValueError } from "../../engine/core/errors.ts";
import { isConcrete, shapeText } from "../../engine/core/shape.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { cast } from "../../engine/ops/array/cast.ts";
import { onesLike } from "../../engine/ops/array/creation.ts";
import { transpose } from "../../engine/ops/array/move.ts";
import { slice } from "../../engine/ops/array/slice.ts";
import { expandDims, reshape, shape, size, squeeze } from "../../engine/ops/array/view.ts";
import { divNoNan, mul } from "../../engine/ops/pointwise/arithmetic.ts";
import { maximum, minimum } from "../../engine/ops/pointwise/select.ts";
import { mean, sum } from "../../engine/ops/reduce/reduce.ts";

/** Sums that are added to the state of a mean. */
export interface Sums extends Readonly<Record<string, Tensor>> {
  readonly total: Tensor;
  readonly count: Tensor;
}

/** Values, and their weights in the same shape. */
interface Weighted {
  readonly values: Tensor;
  readonly weights: Tensor;
}

/** Weights of the first axes for all elements of values. */
function forEach(values: Tensor, weight: Tensor): Tensor {
  const rank = values.staticShape?.length, given = weight.staticShape?.length;
  if (rank === undefined || given === undefined) {
    // First axes are last ones of what is transposed, where axes are broadcast.
    const all = transpose(mul(onesLike(transpose(values)), transpose(weight)));
    return reshape(all, shape(values));
  }
  const padded = Array.from({ length: rank - given })
    .reduce<Tensor>((w) => expandDims(w, -1), weight);
  const all = mul(onesLike(values), padded);
  return isConcrete(values.staticShape) ? all : reshape(all, shape(values));
}

/** Brings weights to the shape of values as Keras does. Throws `ValueError` where they do not broadcast. */
function paired(given: Tensor, weight: Tensor): Weighted {
  let values = given, weights = weight;
  const own = given.staticShape, other = weight.staticShape;
  // One axis of 1 at the end may be missing in either.
  if (own && other && own.length === other.length + 1 && own.at(-1) === 1) {
    if (other.length === 1) weights = expandDims(weight, -1);
    else values = squeeze(given, [-1]);
  } else if (own && other && other.length === own.length + 1 && other.at(-1) === 1) {
    if (own.length === 1) values = expandDims(given, -1);
    else weights = squeeze(weight, [-1]);
  }
  const to = values.staticShape, from = weights.staticShape;
  const fits = !to || !from || from.length <= to.length &&
      from.every((n, i) => n === null || n === 1 || to[i] === null || n === to[i]);
  if (!fits) {
    throw new ValueError(
      `Cannot update a metric: sampleWeight has rank ${other!.length} and shape ${
        shapeText(other)
      }, the values of the samples ${
        shapeText(own)
      }, wanted weights that broadcast to the first axes`,
    );
  }
  return { values, weights: forEach(values, weights) };
}

/** Mean over all axes but the first. */
function perSample(x: Tensor): Tensor {
  return x.rank < 2 ? x : mean(x, Array.from({ length: x.rank - 1 }, (_, i) => i + 1));
}

/** The sum of the means of samples, whose rank only a run knows; `weight` of rank 0 stands for one sample. */
function unrankedSum(x: Tensor, weight: Tensor | null): Tensor {
  const extents = shape(x), axes = size(weight === null ? extents : shape(weight));
  const first = slice(extents, [0], reshape(minimum(axes, 1), [1]));
  const samples = cast(maximum(sum(first), 1), "float32");
  return divNoNan(mul(sum(x), samples), cast(size(x), "float32"));
}

/**
 * Sums of values times weights, and of weights, over samples, along the first axis; what a sample has more of is averaged. Weights have the
 * shape of the first axes of values, or broadcast to it. Throws `ValueError` for others. Follows Keras's `reduce_to_samplewise_values`.
 */
export function sampleSums(given: Tensor, weight: Tensor | null): Sums {
  if (weight === null) {
    const isKnown = given.staticShape !== null, each = isKnown ? perSample(given) : given;
    return isKnown
      ? { total: sum(each), count: cast(size(each), "float32") }
      : { total: unrankedSum(given, null), count: unrankedSum(onesLike(given), null) };
  }
  const rank = weight.staticShape?.length;
  if (rank === 0) return { total: mul(mean(given), weight), count: weight };
  const { values, weights } = paired(given, weight), products = mul(values, weights);
  if (rank === undefined || values.staticShape === null) {
    return { total: unrankedSum(products, weight), count: unrankedSum(weights, weight) };
  }
  return { total: sum(perSample(products)), count: sum(perSample(weights)) };
}

/** Sums over all elements: those of a sample count one by one. */
export function elementSums(given: Tensor, weight: Tensor | null): Sums {
  if (weight === null) return { total: sum(given), count: cast(size(given), "float32") };
  const { values, weights } = paired(given, weight);
  return { total: sum(mul(values, weights)), count: sum(weights) };
}
