/** Pointwise exponentials, logarithms and the error function. */
import { apply1, type OpInput } from "../../core/apply.ts";
import { DTYPES } from "../../core/dtype.ts";
import type { OpDef } from "../../core/op.ts";
import { scalar as s } from "../../core/scalar/expr.ts";
import type { Like, Operand } from "../../core/composite.ts";
import { Tensor } from "../../core/tensor.ts";
import { cast } from "../array/cast.ts";
import { broadcastGrad, definePointwise, unaryGrad } from "./define_pointwise.ts";
import { applyConverted, toFloatInput, toMatchingInputs } from "../input.ts";
import { add, mul, neg } from "./arithmetic.ts";
import { notEqual } from "./compare.ts";
import { defineGradient, inverseSlope, slope } from "./gradient_ops.ts";
import { TypeError } from "../../core/throwing/builtin_errors.ts";

const TWO_OVER_SQRT_PI = 2 / Math.sqrt(Math.PI);

const Exp = definePointwise("Exp", ([x]) => s.exp(x), slope("y", (y) => y));
const Expm1 = definePointwise("Expm1", ([x]) => s.expm1(x), slope("y", (y) => add(y, 1)));
const Log = definePointwise("Log", ([x]) => s.log(x), inverseSlope("x", (x) => x));
const Log1p = definePointwise("Log1p", ([x]) => s.log1p(x), inverseSlope("x", (x) => add(x, 1)));
const Erf = definePointwise("Erf", ([x]) => s.erf(x), {
  grad: unaryGrad(["x"], ({ x }, g) => apply1(ErfGrad, [g, x])),
});
const ErfGrad: OpDef = defineGradient(
  "ErfGrad",
  (g, x) => s.mul(g, s.mul(s.exp(s.neg(s.mul(x, x))), TWO_OVER_SQRT_PI)),
  {
    expand: ([g, x]) => [mul(g, mul(exp(neg(mul(x, x))), TWO_OVER_SQRT_PI))],
    bend: (g, x) => mul(apply1(ErfGrad, [g, x]), mul(x, -2)),
  },
);
const Xlogy = definePointwise("Xlogy", ([x, y]) => s.select(s.eq(x, 0), x, s.mul(x, s.log(y))), {
  inputs: ["x", "y"],
  grad: broadcastGrad(
    ["x", "y"],
    ({ x, y }, g) => mul(g, xlogy(cast(notEqual(x, 0), y.dtype), y)),
    ({ x, y }, g) => mul(g, xdivy(x, y)),
  ),
});
const Xdivy = definePointwise("Xdivy", ([x, y]) => s.select(s.eq(x, 0), x, s.div(x, y)), {
  inputs: ["x", "y"],
  grad: broadcastGrad(
    ["x", "y"],
    ({ x, y }, g) => mul(g, xdivy(cast(notEqual(x, 0), y.dtype), y)),
    ({ x, y }, g) => mul(g, xdivy(xdivy(neg(x), y), y)),
  ),
});

/**
 * Converts an operand of a function that TensorFlow and TensorFlow.js define for floats only. Throws for integer
 * tensors.
 */
export function toFloatOnly(x: Operand, fn: string): OpInput {
  if (x instanceof Tensor) {
    const kind = DTYPES[x.dtype].kind;
    if (kind !== "float" && kind !== "complex") {
      throw new TypeError(
        `Argument 'x' passed to '${fn}' must be float32 tensor, but got ${x.dtype} tensor`,
      );
    }
  }
  return toFloatInput(x, "x", fn);
}

/**
 * `e ** x`; integers become float32. TensorFlow op `Exp`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.exp([0, -Infinity]).arraySync()); // [1, 0]
 * ```
 */
export function exp<X extends Operand>(x: X): Like<X> {
  return applyConverted(Exp, [toFloatInput(x, "x", "exp")], [x]) as Like<X>;
}

/**
 * `e ** x - 1`, exact for small `x`; integers become float32. TensorFlow op `Expm1`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.expm1([0, -Infinity]).arraySync()); // [0, -1]
 * ```
 */
export function expm1<X extends Operand>(x: X): Like<X> {
  return applyConverted(Expm1, [toFloatInput(x, "x", "expm1")], [x]) as Like<X>;
}

/**
 * Natural logarithm: `-Infinity` at 0, NaN below. TensorFlow op `Log`. Throws `TypeError` for an integer tensor.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.log([1, 0, -1]).arraySync()); // [0, -Infinity, NaN]
 * ```
 */
export function log<X extends Operand>(x: X): Like<X> {
  return apply1(Log, [toFloatOnly(x, "log")]) as Like<X>;
}

/**
 * `log(1 + x)`, exact for small `x`; integers become float32. TensorFlow op `Log1p`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.log1p([0, -1]).arraySync()); // [0, -Infinity]
 * ```
 */
export function log1p<X extends Operand>(x: X): Like<X> {
  return applyConverted(Log1p, [toFloatInput(x, "x", "log1p")], [x]) as Like<X>;
}

/**
 * Error function; integers become float32. TensorFlow op `Erf`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.erf([0, Infinity]).arraySync()); // [0, 1]
 * ```
 */
export function erf<X extends Operand>(x: X): Like<X> {
  return applyConverted(Erf, [toFloatInput(x, "x", "erf")], [x]) as Like<X>;
}

/**
 * `x * log(y)`, 0 where `x` is 0; broadcasts. TensorFlow op `Xlogy`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.xlogy([0, 2], [0, 1]).arraySync()); // [0, 0]
 * ```
 */
export function xlogy<X extends Operand, Y extends Operand>(x: X, y: Y): Like<X, Y> {
  return applyConverted(Xlogy, toMatchingInputs(x, y, "xlogy", ["x", "y"]), [x, y]) as Like<X, Y>;
}

/**
 * `x / y`, 0 where `x` is 0; broadcasts. TensorFlow op `Xdivy`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.xdivy([0, 2], [0, 4]).arraySync()); // [0, 0.5]
 * ```
 */
export function xdivy<X extends Operand, Y extends Operand>(x: X, y: Y): Like<X, Y> {
  return applyConverted(Xdivy, toMatchingInputs(x, y, "xdivy", ["x", "y"]), [x, y]) as Like<X, Y>;
}
