/** Pointwise choice: where, maximum, minimum, clipByValue. */
import { apply1, compose } from "../../core/apply.ts";
import { type DType, DTYPES, INTEGER_ENDS, isInteger } from "../../core/dtype.ts";
import { toNdArray } from "../../core/convert.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { defineOp, lookupOp, type OpDef } from "../../core/op.ts";
import { type Expr, scalar as s } from "../../core/scalar/expr.ts";
import { mergeShapes } from "../../core/shape.ts";
import type { Like, Operand } from "../../core/composite.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";
import { ValueError } from "../../core/errors.ts";
import { zerosLike } from "../array/creation.ts";
import { reshape } from "../array/view.ts";
import { broadcastGrad, definePointwise } from "./define_pointwise.ts";
import { applyConverted, asTensor, shapeOfInput, toInput, toMatchingInputs } from "../input.ts";
import { mul, toArithmeticInputs, toNumberInput } from "./arithmetic.ts";
import { equal, greater, greaterEqual, less, lessEqual, notEqual } from "./compare.ts";
import { logicalAnd, toBoolInput } from "./logical.ts";

const SelectV2 = definePointwise("SelectV2", ([c, t, e]) => s.select(c, t, e), {
  inputs: ["condition: bool", "t", "e"],
  output: "output: T",
  types: "type",
  grad: broadcastGrad(
    ["condition"],
    null,
    ({ condition }, g) => where(condition, g, 0),
    ({ condition }, g) => where(condition, 0, g),
  ),
});

// TensorFlow's first version: no broadcasting, but a vector condition chooses rows.
const Select: OpDef = defineOp({
  name: "Select",
  inputs: ["condition: bool", "t: T", "e: T"],
  outputs: ["output: T"],
  attrs: ["T: type"],
  infer: ([, t, e]) => [mergeShapes(t.shape, e.shape)],
  grad: {
    saves: ["condition"],
    vjp: ({ condition }, [dy]) => {
      const zeros = apply1(lookupOp("ZerosLike")!, [dy]);
      return [null, apply1(Select, [condition, dy, zeros]), apply1(Select, [condition, zeros, dy])];
    },
  },
  expand: ([c, t, e]) => {
    const from = shapeOfInput(c), to = shapeOfInput(t);
    const rows = from?.length === 1 && to !== null && to.length > 1;
    return [
      apply1(SelectV2, [rows ? reshape(c, [-1, ...to.slice(1).fill(1) as number[]]) : c, t, e]),
    ];
  },
});

/** Defines the maximum or minimum of two values; for equal ones the first has the gradient. */
function defineChoice(
  name: string,
  choose: (x: Expr, y: Expr) => Expr,
  isFirst: (x: Tensor, y: Tensor) => Tensor,
): OpDef {
  return definePointwise(name, ([x, y]) => choose(x, y), {
    inputs: ["x", "y"],
    types: "real",
    grad: broadcastGrad(
      ["x", "y"],
      ({ x, y }, g) => where(isFirst(x, y), g, 0),
      ({ x, y }, g) => where(isFirst(x, y), 0, g),
    ),
  });
}

const Maximum = defineChoice("Maximum", s.max, greaterEqual);
const Minimum = defineChoice("Minimum", s.min, lessEqual);
/** Returns the bound where `x` is below it; NaN stays, and a NaN bound has no effect. */
export function raised(x: Expr, low: Expr | number): Expr {
  return s.select(s.lt(x, low), low, x);
}
/** Returns the bound where `x` is above it, as {@linkcode raised} does. */
export function lowered(x: Expr, high: Expr | number): Expr {
  return s.select(s.lt(high, x), high, x);
}
const ClipByValue = definePointwise(
  "ClipByValue",
  ([x, low, high]) => raised(lowered(x, high), low),
  {
    inputs: ["t", "clip_value_min", "clip_value_max"],
    output: "output: T",
    types: "real",
    grad: broadcastGrad(
      ["t", "clip_value_min", "clip_value_max"],
      ({ t, clip_value_min: low, clip_value_max: high }, g) =>
        where(logicalAnd(greaterEqual(t, low), lessEqual(t, high)), g, 0),
      ({ t, clip_value_min: low }, g) => where(less(t, low), g, 0),
      ({ t, clip_value_max: high }, g) => where(greater(t, high), g, 0),
    ),
  },
);

/**
 * Takes elements of `a` where the condition holds, of `b` elsewhere; all three broadcast. TensorFlow op `SelectV2`.
 * Throws `TypeError` for a condition that is not bool, `ValueError` for shapes that do not broadcast and for one of `a`
 * and `b` alone.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.where([true, false, true], [1, 2, 3], 0).arraySync()); // [1, 0, 3]
 * ```
 */
export function where<C extends Operand, X extends Operand, Y extends Operand>(
  condition: C,
  a: X,
  b: Y,
): Like<C, X, Y>;
/**
 * Returns the indices of elements that are true or not 0, one row each, int64. Their number is known at run time; where
 * a GPU must be awaited, eager code uses {@linkcode whereAsync}. TensorFlow op `Where`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.where([[true, false], [false, true]]).arraySync()); // [[0n, 0n], [1n, 1n]]
 * ```
 */
export function where(condition: TensorLike): Tensor;
export function where(condition: Operand, a?: Operand, b?: Operand): Tensor {
  if (a === undefined && b === undefined) {
    return apply1(lookupOp("Where")!, [toInput(condition, "condition", "where")]);
  }
  if (a === undefined || b === undefined) {
    throw new ValueError(
      `x and y must both be non-None or both be None: where received ${
        a === undefined ? "b" : "a"
      } alone`,
    );
  }
  const test = toBoolInput(condition, "condition", "where");
  return applyConverted(SelectV2, [test, ...toMatchingInputs(a, b, "where")], [condition, a, b]);
}

/**
 * The larger of two tensors, broadcasting; NaN where either is NaN. TensorFlow op `Maximum`.
 * Throws `ValueError` for shapes that do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.maximum([1, 5], [3, 2]).arraySync()); // [3, 5]
 * ```
 */
export function maximum<X extends Operand, Y extends Operand>(a: X, b: Y): Like<X, Y> {
  return applyConverted(Maximum, toArithmeticInputs(a, b, "maximum"), [a, b]) as Like<X, Y>;
}

/**
 * The smaller of two tensors, broadcasting; NaN where either is NaN. TensorFlow op `Minimum`.
 * Throws `ValueError` for shapes that do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.minimum([1, 5], [3, 2]).arraySync()); // [1, 2]
 * ```
 */
export function minimum<X extends Operand, Y extends Operand>(a: X, b: Y): Like<X, Y> {
  return applyConverted(Minimum, toArithmeticInputs(a, b, "minimum"), [a, b]) as Like<X, Y>;
}

/**
 * A bound of integers as one of them: a fraction, which would make floats of them, is cut off, and what is beyond their range bounds
 * nothing.
 */
function wholeBound(bound: number, dtype: DType): NdArray {
  const [least, most] = INTEGER_ENDS[dtype]!;
  const within = bound <= least ? least : bound >= most ? most : Math.trunc(bound);
  return toNdArray(within, { dtype });
}

/**
 * Values below `min` become `min`, above `max` become `max`; bounds take the dtype of `x`. TensorFlow op `ClipByValue`.
 * Throws `ValueError` where `min > max`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.clipByValue([-1, 2, 9], 0, 5).arraySync()); // [0, 2, 5]
 * ```
 */
export function clipByValue<X extends Operand>(x: X, min: TensorLike, max: TensorLike): Like<X> {
  const input = toNumberInput(x, "clipByValue");
  if (typeof min === "number" && typeof max === "number" && min > max) {
    throw new ValueError(
      `Error in clip: min (${min}) must be less than or equal to max (${max})`,
    );
  }
  if (DTYPES[input.dtype].kind === "string") {
    throw new TypeError(
      `Argument 'x' passed to 'clipByValue' must be numeric tensor, but got ${input.dtype} tensor`,
    );
  }
  const bound = (v: TensorLike): TensorLike =>
    typeof v === "number" && isInteger(input.dtype) ? wholeBound(v, input.dtype) : v;
  return apply1(ClipByValue, [
    input,
    toMatchingInputs(bound(min), input, "clipByValue", ["clipValueMin", "x"])[0],
    toMatchingInputs(bound(max), input, "clipByValue", ["clipValueMax", "x"])[0],
  ]) as Like<X>;
}

/**
 * `x * y`, 0 where `y` is 0, whatever `x` is; broadcasts. Follows TensorFlow `tf.math.multiply_no_nan`. Throws `ValueError` for shapes
 * that do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(await tf.math.multiplyNoNan([2, Infinity], [3, 0]).array()); // [6, 0]
 * ```
 */
export function multiplyNoNan(x: TensorLike, y: TensorLike): Tensor {
  return compose(() => {
    const [a, b] = toMatchingInputs(x, y, "multiplyNoNan", ["x", "y"]).map(asTensor);
    // Only what is no number times 0 is replaced, so that gradients by `y` are those of a product.
    const isLost = logicalAnd(equal(b, zerosLike(b)), notEqual(mul(a, b), zerosLike(b)));
    return mul(where(isLost, zerosLike(a), a), b);
  });
}
