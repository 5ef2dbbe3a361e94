/** NumPy's slopes by differences, differences of all elements, and phases without jumps. */
import { optionCheck, wantNumber } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { normalizeAxis, shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { describe } from "../../core/text.ts";
import { cast } from "../array/cast.ts";
import { concat } from "../array/join.ts";
import { reshape } from "../array/view.ts";
import { asTensor, toInput } from "../input.ts";
import { add, div, mod, mul, sub } from "../pointwise/arithmetic.ts";
import { equal, greater, less } from "../pointwise/compare.ts";
import { logicalAnd } from "../pointwise/logical.ts";
import { abs } from "../pointwise/rounding.ts";
import { where } from "../pointwise/select.ts";
import { cumsum } from "../reduce/scan.ts";
import { diff, part } from "./differences.ts";
import { axisOf, realInput } from "./inputs.ts";

/** Distance of neighbours along an axis, or the place of each. */
export type Spacing = number | TensorLike;

/** Options of `gradient`. */
export interface GradientOptions {
  /** The axis, or several. Default all. */
  readonly axis?: number | readonly number[];
  /** Distance of neighbours, or their places as a vector; a list of these has one for each axis. Default 1. */
  readonly spacing?: Spacing | readonly Spacing[];
  /** Order of the differences at both ends. Default 1. */
  readonly edgeOrder?: 1 | 2;
}

const checkGradient = optionCheck<GradientOptions>("gradient", {
  axis: true,
  spacing: true,
  edgeOrder: true,
});

/**
 * The slopes of `f` along an axis, by differences to both neighbours, at the ends to one: of the shape of `f`; a list of them for a list of axes, and where
 * no axis is given for more than one dimension. Integers become float32. Follows `numpy.gradient`. Throws `ValueError` for an axis
 * out of range, an unknown rank, too few elements and places that do not fit, `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * const f = tf.experimental.numpy.gradient([1, 2, 4, 7], { axis: 0 });
 * console.log(f.arraySync()); // [1, 1.5, 2.5, 3]
 * ```
 */
export function gradient(
  f: TensorLike,
  options: GradientOptions & { readonly axis: number },
): Tensor;
export function gradient(f: TensorLike, options?: GradientOptions): Tensor | Tensor[];
export function gradient(f: TensorLike, options: GradientOptions = {}): Tensor | Tensor[] {
  checkGradient(options);
  const { axis, spacing = 1, edgeOrder = 1 } = options;
  if (edgeOrder !== 1 && edgeOrder !== 2) {
    throw new ValueError(
      `Cannot apply gradient with edgeOrder ${describe(edgeOrder)}: wanted 1, 2`,
    );
  }
  return compose(() => {
    const input = realInput(f, "f", "gradient");
    const { dims } = axisOf(input, -1, { arg: "f", fn: "gradient" });
    const axes = [axis ?? dims.map((_, i) => i)].flat().map((a) => normalizeAxis(a, dims.length));
    const isEach = Array.isArray(spacing) && axes.length > 1;
    if (isEach && spacing.length !== axes.length) {
      throw new ValueError(
        `Cannot apply gradient along ${axes.length} axes with ${spacing.length} spacings: wanted one for each`,
      );
    }
    const slopes = axes.map((at, i) => {
      const d = dims[at];
      if (d !== null && d <= edgeOrder) {
        throw new ValueError(
          `Cannot apply gradient to shape ${shapeText(dims)} along axis ${at}: wanted ${
            edgeOrder + 1
          } elements or more`,
        );
      }
      const own = (isEach ? spacing[i] : spacing) as Spacing;
      return slopeAlong(input, at, edgeOrder, own);
    });
    return typeof axis === "number" || slopes.length === 1 ? slopes[0] : slopes;
  }) as Tensor | Tensor[];
}

function slopeAlong(f: Tensor, at: number, edgeOrder: 1 | 2, spacing: Spacing): Tensor {
  const take = (from: number, to: number | null): Tensor => part(f, at, [from, to]);
  const [before, after] = [take(0, -2), take(2, null)];
  const steps = stepsOf(f, at, spacing);
  if (steps === null) {
    const h = cast(asTensor(toInput(spacing, "spacing", "gradient")), f.dtype);
    const ends = edgeOrder === 1
      ? [sub(take(1, 2), take(0, 1)), sub(take(-1, null), take(-2, -1))]
      : [
        add(mul(take(0, 1), -1.5), sub(mul(take(1, 2), 2), mul(take(2, 3), 0.5))),
        add(mul(take(-1, null), 1.5), sub(mul(take(-3, -2), 0.5), mul(take(-2, -1), 2))),
      ];
    const middle = div(sub(after, before), mul(h, 2));
    return concat([div(ends[0], h), middle, div(ends[1], h)], at);
  }
  const step = (from: number, to: number | null): Tensor => part(steps, at, [from, to]);
  const [a, b] = [step(0, -1), step(1, null)];
  const middle = add(
    sub(mul(take(1, -1), div(sub(b, a), mul(a, b))), mul(before, div(b, mul(a, add(a, b))))),
    mul(after, div(a, mul(b, add(a, b)))),
  );
  const [first, last] = [step(0, 1), step(-1, null)];
  if (edgeOrder === 1) {
    const begin = div(sub(take(1, 2), take(0, 1)), first);
    return concat([begin, middle, div(sub(take(-1, null), take(-2, -1)), last)], at);
  }
  // The parabola through the three elements at an end, from the end inwards.
  const bent = (p: Tensor, q: Tensor, [x, y, z]: readonly Tensor[]): Tensor =>
    sub(
      sub(mul(y, div(add(p, q), mul(p, q))), mul(x, div(add(mul(p, 2), q), mul(p, add(p, q))))),
      mul(z, div(p, mul(q, add(p, q)))),
    );
  const begin = bent(first, step(1, 2), [take(0, 1), take(1, 2), take(2, 3)]);
  const end = bent(last, step(-2, -1), [take(-1, null), take(-2, -1), take(-3, -2)]);
  return concat([begin, middle, sub(0, end)], at);
}

/** Returns the distances of places, shaped to go along an axis; null where all are alike. */
function stepsOf(f: Tensor, at: number, spacing: Spacing): Tensor | null {
  if (typeof spacing === "number") return null;
  const places = cast(realInput(spacing, "spacing", "gradient"), f.dtype);
  const has = places.staticShape, dims = f.staticShape!, n = dims[at];
  if (has?.length === 0) return null;
  if (has?.length !== 1 || (has[0] !== null && n !== null && has[0] !== n)) {
    throw new ValueError(
      `Cannot apply gradient to shape ${shapeText(dims)} with spacing of shape ${
        shapeText(has)
      } along axis ${at}: wanted a number, or a place for each element`,
    );
  }
  return reshape(diff(places), dims.map((_, i) => (i === at ? -1 : 1)));
}

/** Options of `ediff1d`. */
export interface Ediff1dOptions {
  /** Stands before the differences. */
  readonly toBegin?: TensorLike;
  /** Stands after the differences. */
  readonly toEnd?: TensorLike;
}

const checkEdiff = optionCheck<Ediff1dOptions>("ediff1d", { toBegin: true, toEnd: true });

/**
 * The differences of neighbours among all elements, in order, as a vector; `toBegin` and `toEnd` are put around them. Follows `numpy.ediff1d`. Throws `TypeError` for
 * strings.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.ediff1d([[1, 2], [4, 7]], { toEnd: [9] }).arraySync()); // [1, 2, 3, 9]
 * ```
 */
export function ediff1d(x: TensorLike, options: Ediff1dOptions = {}): Tensor {
  checkEdiff(options);
  const { toBegin, toEnd } = options;
  return compose(() => {
    const input = asTensor(toInput(x, "x", "ediff1d")), found = diff(reshape(input, [-1]));
    const around = (value: TensorLike | undefined, arg: string): Tensor[] =>
      value === undefined
        ? []
        : [cast(reshape(asTensor(toInput(value, arg, "ediff1d")), [-1]), found.dtype)];
    const all = [...around(toBegin, "toBegin"), found, ...around(toEnd, "toEnd")];
    return all.length === 1 ? found : concat(all, 0);
  });
}

/** Options of `unwrap`. */
export interface UnwrapOptions {
  /** The axis. Default the last. */
  readonly axis?: number;
  /** Least jump that is taken out. Default half a period. */
  readonly discont?: number;
  /** The period. Default 2π. */
  readonly period?: number;
}

const checkUnwrap = optionCheck<UnwrapOptions>("unwrap", {
  axis: true,
  discont: true,
  period: true,
});

/**
 * Phases without jumps: where neighbours along an axis differ by more than half a period, whole periods are added. Of the shape of `p`; integers become float32. Follows
 * `numpy.unwrap`. Throws `ValueError` for an axis out of range and an unknown rank, `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.unwrap([0, 3, 1, 2], { period: 4 }).arraySync()); // [0, -1, -3, -2]
 * ```
 */
export function unwrap(p: TensorLike, options: UnwrapOptions = {}): Tensor {
  checkUnwrap(options);
  const { axis = -1, period = 2 * Math.PI, discont = period / 2 } = options;
  return compose(() => {
    wantNumber(period, "period", "unwrap");
    wantNumber(discont, "discont", "unwrap");
    const input = realInput(p, "p", "unwrap");
    const { at } = axisOf(input, axis, { arg: "p", fn: "unwrap" });
    const jump = diff(input, 1, at), half = period / 2;
    const rest = sub(mod(add(jump, half), period), half);
    // Half a period up stays up.
    const near = where(logicalAnd(equal(rest, -half), greater(jump, 0)), half, rest);
    const change = where(less(abs(jump), Math.max(discont, half)), 0, sub(near, jump));
    const others = add(part(input, at, [1, null]), cumsum(change, at));
    return concat([part(input, at, [0, 1]), others], at);
  });
}
