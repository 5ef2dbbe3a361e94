/** NumPy's histograms: values counted between edges. */
import { optionCheck, wantBoolean } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { describe } from "../../core/text.ts";
import { cast } from "../array/cast.ts";
import { onesLike } from "../array/creation.ts";
import { gather } from "../array/gather.ts";
import { reverse } from "../array/move.ts";
import { range as count } from "../array/ranges.ts";
import { unsortedSegmentSum } from "../array/segment.ts";
import { expandDims, reshape, shape, size } from "../array/view.ts";
import { add, div, mul, sub } from "../pointwise/arithmetic.ts";
import { equal, greaterEqual, less, lessEqual } from "../pointwise/compare.ts";
import { logicalAnd } from "../pointwise/logical.ts";
import { maximum, where } from "../pointwise/select.ts";
import { max, min, sum } from "../reduce/reduce.ts";
import { searchSorted } from "../reduce/topk.ts";
import { diff } from "./differences.ts";
import { realInput } from "./inputs.ts";

/** Number of parts, or their edges, which rise. */
export type Bins = number | TensorLike;

/** Options of `histogram`. */
export interface HistogramOptions {
  /** Number of equal parts, or the edges of all as a vector, which rise. Default 10. */
  readonly bins?: Bins;
  /** First and last edge of equal parts. Default: the least and the greatest value. */
  readonly range?: readonly [number, number];
  /** Weights of the values, of the shape of the values. Default 1. */
  readonly weights?: TensorLike;
  /** True: counts are divided by their sum and by the width of their part. Default false. */
  readonly density?: boolean;
}

/** Options of `histogram2d`. */
export interface Histogram2dOptions extends Omit<HistogramOptions, "bins" | "range"> {
  /** Those of both coordinates, or a list with one for each. Default 10. */
  readonly bins?: number | readonly [Bins, Bins];
  /** First and last edge for each coordinate. */
  readonly range?: readonly [readonly [number, number], readonly [number, number]];
}

const OPTIONS = { bins: true, range: true, weights: true, density: true } as const;
const checkHistogram = optionCheck<HistogramOptions>("histogram", OPTIONS);
const checkHistogram2d = optionCheck<Histogram2dOptions>("histogram2d", OPTIONS);

/**
 * Counts values between edges: a part has its lower edge, the last one both; values outside count nowhere. Returns the counts, int32 and of the dtype of `weights` where given, as floats
 * with `density`, and the edges, one more. Integers become float32. Follows `numpy.histogram`. Throws `ValueError` for
 * no parts and a range that falls, `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [counts, edges] = tf.experimental.numpy.histogram([1, 2, 1, 4], { bins: 3 });
 * console.log(counts.arraySync(), edges.arraySync()); // [2, 1, 1] [1, 2, 3, 4]
 * ```
 */
export function histogram(
  x: TensorLike,
  options: HistogramOptions = {},
): [counts: Tensor, edges: Tensor] {
  checkHistogram(options);
  const { bins = 10, range } = options, fn = "histogram";
  return compose(() => {
    const values = reshape(realInput(x, "x", fn), [-1]);
    const edges = edgesOf(values, bins, { range, fn });
    const parts = partsOf(edges), places = placesAmong(values, edges);
    const counts = counted(places, parts, weightsOf(options.weights, values, fn));
    return options.density ? [div(densities(counts, values), diff(edges)), edges] : [counts, edges];
  }) as [Tensor, Tensor];
}

/**
 * Counts points between the edges of both coordinates: `[parts of x, parts of y]`, and the edges of each. Counts are those of {@linkcode histogram}. Follows
 * `numpy.histogram2d`. Throws as it does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const [counts] = tf.experimental.numpy.histogram2d([0, 1, 4], [0, 1, 1], { bins: 2 });
 * console.log(counts.arraySync()); // [[1, 1], [0, 1]]
 * ```
 */
export function histogram2d(
  x: TensorLike,
  y: TensorLike,
  options: Histogram2dOptions = {},
): [counts: Tensor, xEdges: Tensor, yEdges: Tensor] {
  checkHistogram2d(options);
  const { bins = 10, range } = options, fn = "histogram2d";
  return compose(() => {
    const both = [reshape(realInput(x, "x", fn), [-1]), reshape(realInput(y, "y", fn), [-1])];
    const edges = both.map((values, i) =>
      edgesOf(values, typeof bins === "number" ? bins : bins[i], { range: range?.[i], fn })
    );
    const [m, n] = edges.map(partsOf), [i, j] = both.map((v, k) => placesAmong(v, edges[k]));
    const isIn = logicalAnd(greaterEqual(i, 0), greaterEqual(j, 0));
    const places = where(isIn, add(mul(i, n), j), -1);
    const all = typeof m === "number" && typeof n === "number" ? m * n : mul(m, n);
    const flat = counted(places, all, weightsOf(options.weights, both[0], fn));
    const counts = reshape(flat, [m, n] as number[]);
    if (!options.density) return [counts, ...edges];
    const areas = mul(expandDims(diff(edges[0]), 1), diff(edges[1]));
    return [div(densities(counts, both[0]), areas), ...edges];
  }) as [Tensor, Tensor, Tensor];
}

interface EdgesOf {
  readonly range: readonly [number, number] | undefined;
  readonly fn: string;
}

function edgesOf(values: Tensor, bins: Bins, { range, fn }: EdgesOf): Tensor {
  if (typeof bins !== "number") {
    const edges = cast(realInput(bins, "bins", fn), values.dtype), dims = edges.staticShape;
    if (dims?.length === 1 && dims[0] !== 0) return edges;
    throw new ValueError(
      `Cannot apply ${fn} with bins of shape ${shapeText(dims)}: wanted a number or a vector`,
    );
  }
  if (!Number.isInteger(bins) || bins < 1) {
    throw new ValueError(
      `Cannot apply ${fn} with bins ${describe(bins)}: wanted a whole number above 0`,
    );
  }
  if (range !== undefined && !(range[0] <= range[1] && Number.isFinite(range[1] - range[0]))) {
    throw new ValueError(`Cannot apply ${fn} with range ${describe(range)}: wanted it to rise`);
  }
  const [low, high] = (range ?? spanOf(values)).map((v) => cast(v, values.dtype)) as [
    Tensor,
    Tensor,
  ];
  const isOne = equal(low, high), half = where(isOne, cast(0.5, values.dtype), 0);
  const from = sub(low, half), to = add(high, half);
  const share = div(cast(count(0, bins + 1, 1, "int32"), values.dtype), bins);
  // Both ends are exact.
  return add(mul(from, sub(1, share)), mul(to, share));
}

/** The least and the greatest value; of no values 0 and 1, as in NumPy. */
function spanOf(values: Tensor): readonly TensorLike[] {
  const count = values.staticShape?.[0] ?? null;
  if (count === 0) return [0, 1];
  const span = [min(values), max(values)];
  if (count !== null) return span;
  const isNone = equal(size(values), 0);
  return span.map((v, i) => where(isNone, cast(i, values.dtype), v));
}

function partsOf(edges: Tensor): number | Tensor {
  const n = edges.staticShape![0];
  return n === null ? sub(size(edges), 1) : n - 1;
}

/** Returns the part of each value; -1 outside. */
function placesAmong(values: Tensor, edges: Tensor): Tensor {
  const n = edges.staticShape![0], last = gather(edges, n === null ? sub(size(edges), 1) : n - 1);
  const isIn = logicalAnd(greaterEqual(values, gather(edges, 0)), lessEqual(values, last));
  const part = sub(searchSorted(edges, values, "right"), 1);
  // The last part has its upper edge, too.
  const closed = where(equal(values, last), sub(size(edges), 2), part);
  return where(isIn, cast(closed, "int32"), -1);
}

function weightsOf(weights: TensorLike | undefined, values: Tensor, fn: string): Tensor {
  if (weights === undefined) return cast(onesLike(values), "int32");
  return reshape(realInput(weights, "weights", fn), [-1]);
}

const counted = (places: Tensor, parts: number | Tensor, weights: Tensor): Tensor =>
  unsortedSegmentSum(weights, places, parts as number);

function densities(counts: Tensor, { dtype }: Tensor): Tensor {
  const floats = cast(counts, dtype);
  return div(floats, sum(floats));
}

/**
 * The number of the part that each value lies in, from 0 for those before the first of `bins` on, which rise or fall; int32, of the shape of `x`. A part has its lower edge, with
 * `right` its upper one. Follows `numpy.digitize`. Throws `ValueError` for `bins` that are no vector, `TypeError` for values that are no
 * real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.digitize([0.2, 6.4, 3], [0, 1, 2.5, 4]).arraySync()); // [1, 4, 3]
 * ```
 */
export function digitize(x: TensorLike, bins: TensorLike, right = false): Tensor {
  wantBoolean(right, "right", "digitize");
  return compose(() => {
    const input = realInput(x, "x", "digitize");
    const edges = cast(realInput(bins, "bins", "digitize"), input.dtype);
    const dims = edges.staticShape;
    if (dims?.length !== 1) {
      throw new ValueError(
        `Cannot apply digitize with bins of shape ${shapeText(dims)}: wanted a vector`,
      );
    }
    const values = reshape(input, [-1]);
    const side = right ? "left" : "right", up = searchSorted(edges, values, side);
    if (dims[0] !== null && dims[0] < 2) return reshape(up, shape(input));
    const down = sub(size(edges), searchSorted(reverse(edges), values, side));
    const isFalling = less(gather(edges, maximum(sub(size(edges), 1), 0)), gather(edges, 0));
    return reshape(where(isFalling, down, up), shape(input));
  });
}
