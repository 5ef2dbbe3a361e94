/** NumPy's differences and areas along an axis, and interpolation. */
import { optionCheck, wantNumber } from "../../core/arguments.ts";
import { compose } from "../../core/apply.ts";
import { ValueError } from "../../core/errors.ts";
import { shapeText } from "../../core/shape.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { describe } from "../../core/text.ts";
import { gather } from "../array/gather.ts";
import { cast } from "../array/cast.ts";
import { stridedSlice } from "../array/strided_slice.ts";
import { reshape, shape } from "../array/view.ts";
import { asTensor, toInput } from "../input.ts";
import { add, div, mul, sub } from "../pointwise/arithmetic.ts";
import { greater, less, notEqual } from "../pointwise/compare.ts";
import { maximum, minimum, where } from "../pointwise/select.ts";
import { sum } from "../reduce/reduce.ts";
import { searchSorted } from "../reduce/topk.ts";
import { axisOf, realInput } from "./inputs.ts";

/** Takes elements along an axis, to the end for null. */
export function part(
  x: Tensor,
  axis: number,
  [from, to]: readonly [number, number | null],
): Tensor {
  const others = (1 << axis) - 1, zeros = new Array<number>(axis).fill(0);
  const ends = to === null ? others | (1 << axis) : others;
  return stridedSlice(x, [...zeros, from], [...zeros, to ?? 0], undefined, others, ends);
}

/**
 * The differences of neighbours along an axis, taken `n` times; of booleans, whether they differ. Follows `numpy.diff`, in TensorFlow `tf.experimental.numpy.diff`. Throws `ValueError` for
 * an axis out of range, an unknown rank and an `n` that is no whole number from 0 on.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.diff([1, 2, 4, 7]).arraySync()); // [1, 2, 3]
 * ```
 */
export function diff(x: TensorLike, n = 1, axis = -1): Tensor {
  return compose(() => {
    const input = asTensor(toInput(x, "x", "diff")), { at } = axisOf(input, axis, X.diff);
    if (!Number.isInteger(n) || n < 0) {
      throw new ValueError(
        `Cannot apply diff: n must be a whole number from 0 on, is ${describe(n)}`,
      );
    }
    const minus = input.dtype === "bool" ? notEqual : sub;
    let found = input;
    for (let i = 0; i < n; i++) {
      found = minus(part(found, at, [1, null]), part(found, at, [0, -1])) as Tensor;
    }
    return n === 0 ? reshape(input, shape(input)) : found;
  });
}

const X = { diff: { arg: "x", fn: "diff" }, trapezoid: { arg: "y", fn: "trapezoid" } } as const;

/** Options of `trapezoid`. */
export interface TrapezoidOptions {
  /** Places of the elements along the axis, a vector or of the shape of `y`. Default: `dx` apart. */
  readonly x?: TensorLike;
  /** Distance between places. Default 1. */
  readonly dx?: number;
  /** The axis. Default the last. */
  readonly axis?: number;
}

const checkTrapezoid = optionCheck<TrapezoidOptions>("trapezoid", {
  x: true,
  dx: true,
  axis: true,
});

/**
 * The area under `y` along an axis, by trapezoids. Integers become float32. Follows `numpy.trapezoid`. Throws `ValueError` for an axis out of range, an unknown rank and places
 * that do not fit, `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.trapezoid([1, 2, 3], { x: [4, 6, 8] }).item()); // 8
 * ```
 */
export function trapezoid(y: TensorLike, options: TrapezoidOptions = {}): Tensor {
  checkTrapezoid(options);
  const { x, dx = 1, axis = -1 } = options, fn = "trapezoid";
  return compose(() => {
    const input = realInput(y, "y", fn), { dims, at } = axisOf(input, axis, X.trapezoid);
    wantNumber(dx, "dx", fn);
    const middles = add(part(input, at, [1, null]), part(input, at, [0, -1]));
    let steps: Tensor | number = dx;
    if (x !== undefined) {
      const places = cast(realInput(x, "x", fn), input.dtype), has = places.staticShape?.length;
      if (has !== 1 && has !== dims.length) {
        throw new ValueError(
          `Cannot apply ${fn} to y of shape ${shapeText(dims)} at x of shape ${
            shapeText(places.staticShape)
          }: wanted a vector, or the shape of y`,
        );
      }
      const wide = has === 1 ? reshape(places, dims.map((_, i) => (i === at ? -1 : 1))) : places;
      steps = sub(part(wide, at, [1, null]), part(wide, at, [0, -1]));
    }
    return mul(sum(mul(middles, steps), at), 0.5);
  });
}

/** Options of `interp`. */
export interface InterpOptions {
  /** The value for places before the first. Default: that of the first. */
  readonly left?: number;
  /** The value for places after the last. Default: that of the last. */
  readonly right?: number;
}

const checkInterp = optionCheck<InterpOptions>("interp", { left: true, right: true });

/**
 * The values at `x` on the lines between the points `xp`, which rise, and `fp`: of the shape of `x`. Integers become float32. Follows `numpy.interp`. Throws `ValueError` where `xp` and
 * `fp` are no vectors of one length, `TypeError` for values that are no real numbers.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.experimental.numpy.interp([0, 1.5, 9], [1, 2, 3], [3, 2, 0]).arraySync()); // [3, 2.5, 0]
 * ```
 */
export function interp(
  x: TensorLike,
  xp: TensorLike,
  fp: TensorLike,
  options: InterpOptions = {},
): Tensor {
  checkInterp(options);
  return compose(() => {
    const input = realInput(x, "x", "interp"), { dtype } = input;
    const places = cast(realInput(xp, "xp", "interp"), dtype);
    const values = cast(realInput(fp, "fp", "interp"), dtype);
    const [a, b] = [places.staticShape, values.staticShape];
    const isVector = a?.length === 1 && b?.length === 1;
    if (!isVector || a[0] === 0 || (a[0] !== null && b[0] !== null && a[0] !== b[0])) {
      throw new ValueError(
        `Cannot apply interp to xp of shape ${shapeText(a)} and fp of shape ${
          shapeText(b)
        }: wanted vectors of one length`,
      );
    }
    const flat = reshape(input, [-1]), n = a[0] ?? b[0] ?? gather(shape(places), 0);
    const last = typeof n === "number" ? n - 1 : sub(n, 1), ends = maximum(last, 1);
    const high = minimum(maximum(searchSorted(places, flat, "right"), 1), cast(ends, "int32"));
    const pairOf = (v: Tensor): [Tensor, Tensor] => [
      gather(v, sub(high, 1)),
      gather(v, minimum(high, last)),
    ];
    const [x0, x1] = pairOf(places), [y0, y1] = pairOf(values);
    const width = sub(x1, x0), isWide = notEqual(width, 0);
    const share = where(isWide, div(sub(flat, x0), where(isWide, width, 1)), 0);
    const line = add(y0, mul(share, sub(y1, y0)));
    const { left = gather(values, 0), right = gather(values, last) } = options;
    const begun = where(less(flat, gather(places, 0)), left, line);
    return reshape(where(greater(flat, gather(places, last)), right, begun), shape(input));
  });
}
