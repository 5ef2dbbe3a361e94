/** Means, products and extremes of segments of the leading axes, in the namespace `tf.math`. On the host. */
import { apply1 } from "../../core/apply.ts";
import { InvalidArgumentError } from "../../core/errors.ts";
import { defineOp, type GradRule, lookupOp, type OpDef } from "../../core/op.ts";
import { sizeOf } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { segmentCpu, type SegmentFold } from "../../kernels/host/segment.ts";
import { intScalar, toInput } from "../input.ts";
import { div, divNoNan, mul } from "../pointwise/arithmetic.ts";
import { equal, greater, notEqual } from "../pointwise/compare.ts";
import { sqrt } from "../pointwise/power.ts";
import { maximum, where } from "../pointwise/select.ts";
import { cast } from "./cast.ts";
import { onesLike, zerosLike } from "./creation.ts";
import { gather, wideIndexInput } from "./gather.ts";
import {
  defineSorted,
  pickSegments,
  segmentShape,
  segmentSum,
  unsortedSegmentSum,
} from "./segment.ts";
import { hostInts, knownInts } from "./view.ts";

/** Sums, and the lookup of each element's segment. */
interface Segments {
  readonly sum: (x: Tensor) => Tensor;
  readonly own: (x: Tensor) => Tensor;
}

/** Elements equal to the extreme of their segment share its gradient. */
function ofExtremes(data: Tensor, out: Tensor, dy: Tensor, { sum, own }: Segments): Tensor {
  const selected = equal(data, own(out));
  // An empty segment has none: its 0/0 would reach tangents.
  const shared = divNoNan(dy, sum(cast(selected, dy.dtype)));
  return where(selected, own(shared), zerosLike(data));
}

/** Returns a product without one of its factors, which may be zero. */
function ofProducts(
  data: Tensor,
  dy: Tensor,
  { sum, own }: Segments,
  product: (x: Tensor) => Tensor,
): Tensor {
  const isZero = equal(data, 0), others = where(isZero, onesLike(data), data);
  const zeros = own(sum(cast(isZero, dy.dtype)));
  const rest = own(product(others));
  const without = where(isZero, rest, where(greater(zeros, 0), zerosLike(data), div(rest, others)));
  return mul(where(greater(zeros, 1), zerosLike(data), without), own(dy));
}

/** Defines a fold of segments with ascending ids: its op and the function. */
function sortedFold(name: string, how: SegmentFold): SortedSegments {
  const vjp: GradRule["vjp"] = ({ data, segment_ids: ids, output }, [dy]) => {
    const segments = {
      sum: (x: Tensor) => segmentSum(x, ids),
      own: (x: Tensor) => gather(x, ids),
    };
    if (how === "mean") {
      const counts = maximum(segments.sum(onesLike(data)), 1);
      return [segments.own(div(dy, counts)), null];
    }
    if (how !== "prod") return [ofExtremes(data, output, dy, segments), null];
    return [ofProducts(data, dy, segments, (x) => apply1(def, [x, ids])), null];
  };
  const grad = { saves: ["data", "segment_ids", "output"], vjp };
  const def: OpDef = defineSorted(name, "real", grad, (data, ids, out) => {
    const inner = sizeOf(out.shape.slice(1));
    segmentCpu(data, hostInts(ids), out, { how, inner, sorted: true });
  });
  const fn = functionOf(name);
  return (x, ids) => apply1(def, [toInput(x, "x", fn), wideIndexInput(ids, fn)]);
}

/** Returns the name of an op's function. */
function functionOf(op: string): string {
  return op[0].toLowerCase() + op.slice(1);
}

/** Defines the same for unordered ids. */
function unsortedFold(name: string, how: SegmentFold): UnsortedSegments {
  const vjp: GradRule["vjp"] = ({ data, segment_ids: ids, num_segments: num, output }, [dy]) => {
    const segments = {
      sum: (x: Tensor) => apply1(lookupOp("UnsortedSegmentSum")!, [x, ids, num]),
      own: (x: Tensor) => pickSegments(x, ids),
    };
    // Elements of no segment see zeros, which are no extremes of theirs.
    const there = () => notEqual(segments.own(segments.sum(onesLike(data))), 0);
    const dx = how === "prod"
      ? ofProducts(data, dy, segments, (x) => apply1(def, [x, ids, num]))
      : where(there(), ofExtremes(data, output, dy, segments), zerosLike(data));
    return [dx, null, null];
  };
  const def: OpDef = defineOp({
    name,
    inputs: ["data: T", "segment_ids: Tindices", "num_segments: Tnumsegments"],
    outputs: ["output: T"],
    attrs: ["T: real", "Tindices: index", "Tnumsegments: index = int32"],
    hostInputs: ["num_segments"],
    infer: ([data, ids, num]) => [segmentShape(data.shape, ids.shape, knownInts(num)?.[0] ?? null)],
    grad: { saves: ["data", "segment_ids", "num_segments", "output"], vjp },
    cpu: ([data, ids], [out]) => {
      const list = hostInts(ids), num = out.shape[0];
      const wrong = list.findIndex((id) => id >= num);
      if (wrong >= 0) {
        throw new InvalidArgumentError(
          `segment_ids[${wrong}] = ${list[wrong]} is out of range [0, ${num})`,
        );
      }
      segmentCpu(data, list, out, { how, inner: sizeOf(out.shape.slice(1)), sorted: false });
    },
  });
  const fn = functionOf(name);
  return (x, ids, num) =>
    apply1(def, [
      toInput(x, "x", fn),
      wideIndexInput(ids, fn),
      typeof num === "number" ? intScalar(num) : toInput(num, "numSegments", fn),
    ]);
}

/** A function of slices and their ascending segment ids. */
export type SortedSegments = (x: TensorLike, segmentIds: TensorLike) => Tensor;
/** A function of slices, their segment ids and the number of segments. */
export type UnsortedSegments = (
  x: TensorLike,
  segmentIds: TensorLike,
  numSegments: number | Tensor,
) => Tensor;

/**
 * Averages the slices of `x` by id, 0 where there are none; ids must not decrease. Integers are rounded towards zero.
 * TensorFlow op `SegmentMean`. Throws `InvalidArgumentError` for ids that decrease, `ValueError` for shapes that do not
 * fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const ids = tf.tensor1d([0, 0, 2], "int32");
 * console.log(tf.math.segmentMean([1, 2, 3], ids).arraySync()); // [1.5, 0, 3]
 * console.log(tf.math.segmentMax([1, 2, 3], ids).arraySync()); // [2, 0, 3]
 * ```
 */
export const segmentMean: SortedSegments = sortedFold("SegmentMean", "mean");
/** Takes the largest element of each segment, as {@linkcode segmentMean}. TensorFlow op `SegmentMax`. */
export const segmentMax: SortedSegments = sortedFold("SegmentMax", "max");
/** Takes the smallest element of each segment, as {@linkcode segmentMean}. TensorFlow op `SegmentMin`. */
export const segmentMin: SortedSegments = sortedFold("SegmentMin", "min");
/** Multiplies segments, 1 for an empty one, as {@linkcode segmentMean}. TensorFlow op `SegmentProd`. */
export const segmentProd: SortedSegments = sortedFold("SegmentProd", "prod");
/**
 * Takes the largest slice elements of `x` by id, the lowest number of the dtype for an empty segment. Negative ids are
 * ignored. TensorFlow op `UnsortedSegmentMax`. Throws `InvalidArgumentError` for ids that are too large, `ValueError`
 * for shapes that do not fit.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const ids = tf.tensor1d([1, 0, 1], "int32");
 * console.log(tf.math.unsortedSegmentMax([1, 2, 3], ids, 2).arraySync()); // [2, 3]
 * console.log(tf.math.unsortedSegmentMean([1, 2, 4], ids, 2).arraySync()); // [2, 2.5]
 * ```
 */
export const unsortedSegmentMax: UnsortedSegments = unsortedFold("UnsortedSegmentMax", "max");
/**
 * Takes the smallest of each segment, the highest number for an empty one, as {@linkcode unsortedSegmentMax}.
 * TensorFlow op `UnsortedSegmentMin`.
 */
export const unsortedSegmentMin: UnsortedSegments = unsortedFold("UnsortedSegmentMin", "min");
/** Multiplies segments, 1 for an empty one, as {@linkcode unsortedSegmentMax}. TensorFlow op `UnsortedSegmentProd`. */
export const unsortedSegmentProd: UnsortedSegments = unsortedFold("UnsortedSegmentProd", "prod");

/** Averages segments, 0 for an empty one. Follows TensorFlow `tf.math.unsorted_segment_mean`. */
export const unsortedSegmentMean: UnsortedSegments = (x, ids, num): Tensor => {
  const [sums, counts] = sumsAndCounts(x, ids, num);
  return div(sums, counts);
};
/** Divides the sums of segments by the root of their sizes. Follows TensorFlow `tf.math.unsorted_segment_sqrt_n`. */
export const unsortedSegmentSqrtN: UnsortedSegments = (x, ids, num): Tensor => {
  const [sums, counts] = sumsAndCounts(x, ids, num);
  return div(sums, sqrt(counts));
};

function sumsAndCounts(x: TensorLike, ids: TensorLike, num: number | Tensor): [Tensor, Tensor] {
  return [
    unsortedSegmentSum(x, ids, num),
    maximum(unsortedSegmentSum(onesLike(x), ids, num), 1),
  ];
}
