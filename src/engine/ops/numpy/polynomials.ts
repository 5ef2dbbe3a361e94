/** NumPy's polynomials: vectors of coefficients, that of the highest power first. */
import { optionCheck } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { describe } from "../../core/text.ts";
import { cast } from "../array/cast.ts";
import { ones } from "../array/creation.ts";
import { concat } from "../array/join.ts";
import { diag, range } from "../array/ranges.ts";
import { slice } from "../array/slice.ts";
import { expandDims, reshape } from "../array/view.ts";
import { asTensor, toMatchingInputs } from "../input.ts";
import { eigvals } from "../linalg/decompositions.ts";
import { lstsq } from "../linalg/solve.ts";
import { div, mul, neg, toNumberInput } from "../pointwise/arithmetic.ts";
import { equal } from "../pointwise/compare.ts";
import { sqrt, square } from "../pointwise/power.ts";
import { where } from "../pointwise/select.ts";
import { sum } from "../reduce/reduce.ts";
import { realInput } from "./inputs.ts";
import { vander } from "./moves.ts";

/** Options of `polyfit`. */
export interface PolyfitOptions {
  /** Weights of the points, of shape `[n]`, by which differences are multiplied before they are squared. Default: 1 for each. */
  readonly w?: TensorLike;
}

const checkPolyfit = optionCheck<PolyfitOptions>("polyfit", { w: true });

/**
 * The coefficients of the polynomial of degree `deg` that fits points best, by least squares: of shape `[deg + 1]` for `y` of shape `[n]`, `[deg + 1, k]` for `[n, k]`. Solved by QR. Integers become float32.
 * Follows `numpy.polyfit`. Throws `ValueError` for other ranks, lengths that differ and a degree that is no whole number, `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const fit = tf.experimental.numpy.polyfit([0, 1, 2, 3], [1, 3, 5, 7], 1);
 * console.log(tf.round(fit).arraySync()); // [2, 1]
 * ```
 */
export function polyfit(
  x: TensorLike,
  y: TensorLike,
  deg: number,
  options: PolyfitOptions = {},
): Tensor {
  const fn = "polyfit";
  checkPolyfit(options);
  return compose(() => {
    const [p, q] = toMatchingInputs(x, y, fn, ["x", "y"]);
    const [at, values] = [
      realInput(p as TensorLike, "x", fn),
      realInput(q as TensorLike, "y", fn),
    ];
    const [a, b] = [at.staticShape, values.staticShape];
    if (a?.length !== 1 || b === null || b.length < 1 || b.length > 2 || differ(a[0], b[0])) {
      throw new ValueError(
        `Cannot apply polyfit to x of shape ${shapeText(a)} and y of shape ${
          shapeText(b)
        }: wanted vectors of one length, y perhaps with columns`,
      );
    }
    if (!Number.isInteger(deg) || deg < 0) {
      throw new ValueError(
        `Cannot apply polyfit with deg ${describe(deg)}: wanted a whole number from 0 on`,
      );
    }
    const powers = vander(at, { n: deg + 1 }),
      wide = b.length === 2 ? values : expandDims(values, 1);
    const w = options.w === undefined ? null : expandDims(realInput(options.w, "w", fn), 1);
    const [left, right] = w === null ? [powers, wide] : [mul(powers, w), mul(wide, w)];
    // Columns of one length lose fewer digits.
    const lengths = sqrt(sum(square(left), 0, true)), scale = where(equal(lengths, 0), 1, lengths);
    const found = lstsq(div(left, scale), right, 0, false);
    const fit = div(found, reshape(scale, [-1, 1]));
    return b.length === 2 ? fit : reshape(fit, [-1]);
  });
}

const differ = (m: number | null, n: number | null): boolean => m !== null && n !== null && m !== n;

function coefficients(p: TensorLike, fn: string): { readonly p: Tensor; readonly n: number } {
  const input = asTensor(toNumberInput(p, fn)), dims = input.staticShape;
  if (dims?.length === 1 && dims[0] !== null && dims[0] > 0) return { p: input, n: dims[0] };
  throw new ValueError(
    `Cannot apply ${fn} to p of shape ${shapeText(dims)}: wanted a vector of known length`,
  );
}

function wantOrder(m: number, fn: string): void {
  if (Number.isInteger(m) && m >= 0) return;
  throw new ValueError(`Cannot apply ${fn} with m ${describe(m)}: wanted a whole number from 0 on`);
}

/**
 * The coefficients of the derivative of order `m`; of shape `[n - m]`. Follows `numpy.polyder`. Throws `ValueError` for other ranks, an unknown length and an order that is no whole
 * number.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.polyder([3, 2, 1]).arraySync()); // [6, 2]
 * ```
 */
export function polyder(p: TensorLike, m = 1): Tensor {
  return compose(() => {
    wantOrder(m, "polyder");
    const { p: given, n } = coefficients(p, "polyder");
    let [slope, count] = [given, n];
    for (let i = 0; i < m && count > 0; i++) {
      count--;
      const powers = cast(range(count, 0, -1, "int32"), given.dtype);
      slope = mul(slice(slope, [0], [count]), powers) as Tensor;
    }
    return slope;
  });
}

/**
 * The coefficients of the integral, `m` times; of shape `[n + m]`, with 0 as each constant. Integers become float32. Follows `numpy.polyint`. Throws as {@linkcode polyder}.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.polyint([6, 2]).arraySync()); // [3, 2, 0]
 * ```
 */
export function polyint(p: TensorLike, m = 1): Tensor {
  return compose(() => {
    wantOrder(m, "polyint");
    const { p: given, n } = coefficients(realInput(p, "p", "polyint"), "polyint");
    let whole = given;
    for (let i = 0; i < m; i++) {
      const powers = cast(range(n + i, 0, -1, "int32"), given.dtype);
      whole = concat([div(whole, powers) as Tensor, cast([0], given.dtype)], 0);
    }
    return whole;
  });
}

/**
 * The roots of a polynomial, complex; of shape `[n - 1]`, in no order. The first coefficient must not be 0. They are the eigenvalues of its companion matrix. Follows `numpy.roots`. Throws
 * as {@linkcode polyder}, and `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const roots = tf.experimental.numpy.roots([1, 0, -4]);
 * console.log(tf.sort(tf.round(tf.real(roots))).arraySync()); // [-2, 2]
 * ```
 */
export function roots(p: TensorLike): Tensor {
  return compose(() => {
    const { p: given, n } = coefficients(realInput(p, "p", "roots"), "roots");
    const [first, rest] = [slice(given, [0], [1]), slice(given, [1], [n - 1])];
    const top = expandDims(neg(div(rest, first)), 0) as Tensor;
    if (n < 3) return eigvals(n === 2 ? top : reshape(rest, [0, 0]));
    return eigvals(concat([top, slice(diagonal(n - 1, given), [0, 0], [n - 2, n - 1])], 0));
  });
}

const diagonal = (n: number, { dtype }: Tensor): Tensor => diag(ones([n], dtype));
