/** NumPy's statistics: order, spread and correlation. */
import { optionCheck, wantBoolean, wantNumber } from "../../core/arguments.ts";
import type { DType } from "../../core/dtype.ts";
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { isConcrete, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { brief } from "../../core/text.ts";
import { cast } from "../array/cast.ts";
import { gather } from "../array/gather.ts";
import { concat } from "../array/join.ts";
import { transpose } from "../array/move.ts";
import { pad } from "../array/pad.ts";
import { diagPart } from "../array/ranges.ts";
import { slice } from "../array/slice.ts";
import { expandDims, reshape, shape } from "../array/view.ts";
import { matMul } from "../linalg/matmul.ts";
import { add, div, mul, sub } from "../pointwise/arithmetic.ts";
import { equal, isNaN } from "../pointwise/compare.ts";
import { logicalNot } from "../pointwise/logical.ts";
import { sqrt } from "../pointwise/power.ts";
import { ceil, floor, round } from "../pointwise/rounding.ts";
import { clipByValue, maximum, minimum, where } from "../pointwise/select.ts";
import { all, any, mean, sum } from "../reduce/reduce.ts";
import { sort } from "../reduce/topk.ts";
import { axisOf, realInput } from "./inputs.ts";
import { takenAlong } from "./moves.ts";

/** Rules for quantiles between two elements. */
export type QuantileMethod = "linear" | "lower" | "higher" | "midpoint" | "nearest";

/** Options of `quantile`, `percentile` and `median`. */
export interface QuantileOptions {
  /** The axis along which elements are ordered. Default: all elements. */
  readonly axis?: number | undefined;
  /** Keep the axis, or all of them, with an extent of 1. */
  readonly keepDims?: boolean;
  /** The rule between two elements. Default `"linear"`. */
  readonly method?: QuantileMethod;
}

const METHODS: readonly string[] = ["linear", "lower", "higher", "midpoint", "nearest"];
const QUANTILE = { axis: true, keepDims: true, method: true } as const;

/** Makes the check of the options of quantiles. */
export function checkQuantile(fn: string): (options: QuantileOptions) => void {
  return optionCheck<QuantileOptions>(fn, QUANTILE);
}

const checks = {
  quantile: checkQuantile("quantile"),
  percentile: checkQuantile("percentile"),
};

/**
 * The numbers below which the parts `q` of the elements lie, 0 being the least and 1 the greatest: of shape `[...q, ...rest]`, where `rest` is that of `x` without its axis. NaN where an
 * element is NaN. Integers become float32. Follows `numpy.quantile`. Throws `ValueError` for an axis out of range, an unknown rank and another method, `TypeError`
 * for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.quantile([3, 1, 2, 5], [0, 0.5]).arraySync()); // [1, 2.5]
 * ```
 */
export function quantile(x: TensorLike, q: TensorLike, options: QuantileOptions = {}): Tensor {
  checks.quantile(options);
  return compose(() => quantiles(x, q, { fn: "quantile", whole: 1, ...options }));
}

/**
 * {@linkcode quantile} of parts in percent. Follows `numpy.percentile`. Throws as it does.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.percentile([[3, 1], [2, 5]], 100, { axis: 1 }).arraySync()); // [3, 5]
 * ```
 */
export function percentile(x: TensorLike, q: TensorLike, options: QuantileOptions = {}): Tensor {
  checks.percentile(options);
  return compose(() => quantiles(x, q, { fn: "percentile", whole: 100, ...options }));
}

/**
 * The middle element in order along an axis, or of all elements; the mean of the two in the middle. NaN where an element is NaN. Integers become float32. Follows
 * `numpy.median`. Throws as {@linkcode quantile}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.median([[3, 1, 7], [2, 5, 4]], 1).arraySync()); // [3, 4]
 * ```
 */
export function median(x: TensorLike, axis?: number, keepDims = false): Tensor {
  wantBoolean(keepDims, "keepDims", "median");
  return compose(() => quantiles(x, 0.5, { fn: "median", whole: 1, axis, keepDims }));
}

interface Order extends QuantileOptions {
  readonly fn: string;
  /** The part that all elements are. */
  readonly whole: number;
  /** True: NaN is passed over. */
  readonly skips?: boolean;
}

/** Finds quantiles, or those of the numbers alone. */
export function quantiles(x: TensorLike, q: TensorLike, order: Order): Tensor {
  const { fn, whole, axis, keepDims = false, method = "linear", skips = false } = order;
  if (!METHODS.includes(method)) {
    throw new ValueError(
      `Cannot apply ${fn} by method ${brief(method)}: wanted ${METHODS.join(", ")}`,
    );
  }
  const input = realInput(x, "x", fn), { dims, at } = axisOf(input, axis ?? -1, { arg: "x", fn });
  const given = realInput(q, "q", fn), ranks = given.staticShape?.length;
  const isVector = ranks !== 0 || skips;
  const parts = isVector && ranks !== 1 ? reshape(given, [-1]) : given;
  const rows = filled(axis === undefined ? reshape(input, [-1]) : lastAxis(input, at));
  const found = (skips ? numbersAt : elementsAt)(rows, div(parts, whole), method);
  const isOdd = (skips ? all : any)(isNaN(rows), -1, isVector), taken = where(isOdd, NaN, found);
  const moved = isVector ? firstAxis(taken) : taken, before = isVector ? 1 : 0;
  const one = !keepDims ? [] : axis === undefined ? dims.map((_, i) => i) : [at];
  const kept = one.reduce((t, i) => expandDims(t, before + i), moved);
  if (parts === given) return kept;
  const extents = [given.staticShape, kept.staticShape!.slice(1)].flat();
  // Shapes of which all is known stay known.
  return isConcrete(extents)
    ? reshape(kept, extents)
    : reshape(kept, concat([shape(given), slice(shape(kept), [1])]));
}

/** Gives rows of nothing one NaN where their length is not known. */
function filled(rows: Tensor): Tensor {
  if (rows.staticShape!.at(-1) !== null) return rows;
  const more = cast(equal(gather(shape(rows), rank(rows) - 1), 0), "int32");
  const lead = Array.from({ length: 2 * rank(rows) - 1 }, () => 0);
  return pad(rows, reshape(concat([lead, reshape(more, [1])], 0), [-1, 2]), NaN);
}

/** Finds the elements at parts of the order of each row. */
function elementsAt(rows: Tensor, parts: Tensor, method: QuantileMethod): Tensor {
  const n = rows.staticShape!.at(-1)!, { dtype } = rows;
  if (n === 0) return add(mean(rows, -1, parts.staticShape!.length > 0), cast(parts, dtype));
  // Places are no numbers of few bits.
  const exact = dtype === "float64" ? dtype : "float32";
  const last = n === null ? cast(sub(gather(shape(rows), rank(rows) - 1), 1), exact) : n - 1;
  const place = mul(cast(parts, exact), last), sorted = sort(rows, -1);
  const pick = (places: Tensor): Tensor =>
    gather(sorted, cast(minimum(maximum(places, 0), last), "int32"), rank(rows) - 1);
  return between(place, pick, { method, dtype });
}

/** Finds the elements at parts of the order of the numbers of each row; `parts` is a vector. */
function numbersAt(rows: Tensor, parts: Tensor, method: QuantileMethod): Tensor {
  const { dtype } = rows,
    exact = dtype === "float64" ? dtype : "float32",
    isNumber = logicalNot(isNaN(rows));
  if (rows.staticShape!.at(-1) === 0) return add(mean(rows, -1, true), cast(parts, dtype));
  const last = maximum(sub(sum(cast(isNumber, exact), -1, true), 1), 0);
  const sorted = sort(where(isNumber, rows, Infinity), -1);
  const pick = (places: Tensor): Tensor =>
    takenAlong(sorted, cast(minimum(maximum(places, 0), last), "int32"), rank(rows) - 1);
  return between(mul(cast(parts, exact), last), pick, { method, dtype });
}

interface Between {
  readonly method: QuantileMethod;
  readonly dtype: DType;
}

/** Applies the rule between the elements at both sides of places. */
function between(
  place: Tensor,
  pick: (places: Tensor) => Tensor,
  { method, dtype }: Between,
): Tensor {
  if (method === "lower") return pick(floor(place));
  if (method === "higher") return pick(ceil(place));
  if (method === "nearest") return pick(round(place));
  const low = pick(floor(place)), high = pick(ceil(place));
  if (method === "midpoint") return mul(add(low, high), 0.5);
  const share = cast(sub(place, floor(place)), dtype);
  // Infinite elements are no numbers times 0.
  return where(equal(share, 0), low, add(mul(low, sub(1, share)), mul(high, share)));
}

const rank = (x: Tensor): number => x.staticShape!.length;

function moved(x: Tensor, from: number, to: number): Tensor {
  if (from === to) return x;
  const order = Array.from({ length: rank(x) }, (_, i) => i);
  order.splice(to, 0, ...order.splice(from, 1));
  return transpose(x, order);
}

const lastAxis = (x: Tensor, axis: number): Tensor => moved(x, axis, rank(x) - 1);
const firstAxis = (x: Tensor): Tensor => moved(x, rank(x) - 1, 0);

/** Options of `cov`. */
export interface CovOptions {
  /** False: columns are variables, and not rows. Default true. */
  readonly rowvar?: boolean;
  /** Number subtracted from that of observations. Default 1. */
  readonly ddof?: number;
}

const checkCov = optionCheck<CovOptions>("cov", { rowvar: true, ddof: true });

/**
 * The covariances of variables, which are the rows of `x`: of shape `[n, n]`, a scalar for one variable. Integers become float32. Follows `numpy.cov`. Throws `ValueError` for more
 * than two dimensions, `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.cov([[1, 2, 3], [3, 1, 2]]).arraySync()); // [[1, -0.5], [-0.5, 1]]
 * ```
 */
export function cov(x: TensorLike, options: CovOptions = {}): Tensor {
  checkCov(options);
  return compose(() => covariances(x, "cov", options));
}

/**
 * The correlations of variables, which are the rows of `x`: of shape `[n, n]`, a scalar for one variable. Integers become float32. Follows `numpy.corrcoef`. Throws as
 * {@linkcode cov}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.corrcoef([[1, 2, 3], [6, 4, 2]]).arraySync()); // [[1, -1], [-1, 1]]
 * ```
 */
export function corrcoef(x: TensorLike, rowvar = true): Tensor {
  wantBoolean(rowvar, "rowvar", "corrcoef");
  return compose(() => {
    const c = covariances(x, "corrcoef", { rowvar });
    if (rank(c) === 0) return div(c, c);
    const s = sqrt(diagPart(c));
    return clipByValue(div(div(c, expandDims(s, 1)), expandDims(s, 0)), -1, 1);
  });
}

function covariances(x: TensorLike, fn: string, { rowvar = true, ddof = 1 }: CovOptions): Tensor {
  const input = realInput(x, "x", fn), dims = input.staticShape;
  if (dims === null || dims.length > 2) {
    throw new ValueError(
      `Cannot apply ${fn} to x of shape ${shapeText(dims)}: wanted a vector or a matrix`,
    );
  }
  wantNumber(ddof, "ddof", fn);
  const isOne = dims.length < 2;
  const rows = isOne ? reshape(input, [1, -1]) : rowvar ? input : transpose(input);
  const off = sub(rows, mean(rows, 1, true)), n = rows.staticShape![1];
  const free = n === null ? cast(sub(gather(shape(rows), 1), ddof), input.dtype) : n - ddof;
  const c = div(matMul(off, off, false, true), free);
  return isOne ? reshape(c, []) : c;
}
