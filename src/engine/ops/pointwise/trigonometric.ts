/** Pointwise trigonometric and hyperbolic functions and their inverses. */
import { apply1 } from "../../core/apply.ts";
import { scalar as s } from "../../core/scalar/expr.ts";
import type { Like, Operand } from "../../core/composite.ts";
import type { Tensor } from "../../core/tensor.ts";
import { broadcastGrad, definePointwise } from "./define_pointwise.ts";
import { applyConverted, toFloatInput } from "../input.ts";
import { add, div, mul, neg, sub, toFloatInputs } from "./arithmetic.ts";
import { toFloatOnly } from "./exponential.ts";
import { defineResultGradient, inverseSlope, slope, slopeOfResult } from "./gradient_ops.ts";
import { rsqrt, square } from "./power.ts";

const onePlusSquare = (x: Tensor): Tensor => add(square(x), 1);

const Sin = definePointwise("Sin", ([x]) => s.sin(x), slope("x", (x) => cos(x)));
const Cos = definePointwise("Cos", ([x]) => s.cos(x), slope("x", (x) => neg(sin(x))));
const Tan = definePointwise("Tan", ([x]) => s.tan(x), inverseSlope("x", (x) => square(cos(x))));
const Asin = definePointwise(
  "Asin",
  ([x]) => s.asin(x),
  slope("x", (x) => rsqrt(sub(1, square(x)))),
);
const Acos = definePointwise(
  "Acos",
  ([x]) => s.acos(x),
  slope("x", (x) => neg(rsqrt(sub(1, square(x))))),
);
const Atan = definePointwise("Atan", ([x]) => s.atan(x), inverseSlope("x", onePlusSquare));
const Sinh = definePointwise("Sinh", ([x]) => s.sinh(x), slope("x", (x) => cosh(x)));
const Cosh = definePointwise("Cosh", ([x]) => s.cosh(x), slope("x", (x) => sinh(x)));
const Asinh = definePointwise(
  "Asinh",
  ([x]) => s.asinh(x),
  slope("x", (x) => rsqrt(onePlusSquare(x))),
);
// As a function of the result, which does not cancel near 1.
const Acosh = definePointwise("Acosh", ([x]) => s.acosh(x), inverseSlope("y", (y) => sinh(y)));
const Atanh = definePointwise(
  "Atanh",
  ([x]) => s.atanh(x),
  inverseSlope("x", (x) => sub(1, square(x))),
);

const TanhGrad = defineResultGradient(
  "TanhGrad",
  (c, dy) => s.mul(dy, s.sub(1, s.mul(c, c))),
  (c, dy) => mul(mul(dy, c), -2),
);
const Tanh = definePointwise("Tanh", ([x]) => s.tanh(x), slopeOfResult(TanhGrad));
const Atan2 = definePointwise("Atan2", ([y, x]) => s.atan2(y, x), {
  inputs: ["y", "x"],
  output: "z: T",
  grad: broadcastGrad(
    ["y", "x"],
    ({ y, x }, g) => mul(g, div(x, add(square(x), square(y)))),
    ({ y, x }, g) => neg(mul(g, div(y, add(square(x), square(y))))),
  ),
});

/**
 * Sine of radians. TensorFlow op `Sin`. Throws `TypeError` for an integer tensor.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.sin([0, Infinity]).arraySync()); // [0, NaN]
 * ```
 */
export function sin<X extends Operand>(x: X): Like<X> {
  return apply1(Sin, [toFloatOnly(x, "sin")]) as Like<X>;
}

/**
 * Cosine of radians. TensorFlow op `Cos`. Throws `TypeError` for an integer tensor.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.cos([0]).arraySync()); // [1]
 * ```
 */
export function cos<X extends Operand>(x: X): Like<X> {
  return apply1(Cos, [toFloatOnly(x, "cos")]) as Like<X>;
}

/**
 * Tangent of radians. TensorFlow op `Tan`. Throws `TypeError` for an integer tensor.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.tan([0]).arraySync()); // [0]
 * ```
 */
export function tan<X extends Operand>(x: X): Like<X> {
  return apply1(Tan, [toFloatOnly(x, "tan")]) as Like<X>;
}

/**
 * Arc sine in radians; NaN outside [-1, 1]. Integers become float32. TensorFlow op `Asin`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.asin([0, 2]).arraySync()); // [0, NaN]
 * ```
 */
export function asin<X extends Operand>(x: X): Like<X> {
  return applyConverted(Asin, [toFloatInput(x, "x", "asin")], [x]) as Like<X>;
}

/**
 * Arc cosine in radians; NaN outside [-1, 1]. Integers become float32. TensorFlow op `Acos`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.acos([1, 2]).arraySync()); // [0, NaN]
 * ```
 */
export function acos<X extends Operand>(x: X): Like<X> {
  return applyConverted(Acos, [toFloatInput(x, "x", "acos")], [x]) as Like<X>;
}

/**
 * Arc tangent in radians. Integers become float32. TensorFlow op `Atan`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.atan([0]).arraySync()); // [0]
 * ```
 */
export function atan<X extends Operand>(x: X): Like<X> {
  return applyConverted(Atan, [toFloatInput(x, "x", "atan")], [x]) as Like<X>;
}

/**
 * Angle of the point `(b, a)` in (-π, π], broadcasting; integers become float32. TensorFlow op `Atan2`.
 * Throws `ValueError` for shapes that do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.atan2([0, 0], [1, 0]).arraySync()); // [0, 0]
 * ```
 */
export function atan2<X extends Operand, Y extends Operand>(a: X, b: Y): Like<X, Y> {
  return applyConverted(Atan2, toFloatInputs(a, b, "atan2"), [a, b]) as Like<X, Y>;
}

/**
 * Hyperbolic sine; integers become float32. TensorFlow op `Sinh`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.sinh([0, -Infinity]).arraySync()); // [0, -Infinity]
 * ```
 */
export function sinh<X extends Operand>(x: X): Like<X> {
  return applyConverted(Sinh, [toFloatInput(x, "x", "sinh")], [x]) as Like<X>;
}

/**
 * Hyperbolic cosine. TensorFlow op `Cosh`. Throws `TypeError` for an integer tensor.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.cosh([0, -Infinity]).arraySync()); // [1, Infinity]
 * ```
 */
export function cosh<X extends Operand>(x: X): Like<X> {
  return apply1(Cosh, [toFloatOnly(x, "cosh")]) as Like<X>;
}

/**
 * Hyperbolic tangent. TensorFlow op `Tanh`. Throws `TypeError` for an integer tensor.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.tanh([0, Infinity]).arraySync()); // [0, 1]
 * ```
 */
export function tanh<X extends Operand>(x: X): Like<X> {
  return apply1(Tanh, [toFloatOnly(x, "tanh")]) as Like<X>;
}

/**
 * Inverse of {@linkcode sinh}; integers become float32. TensorFlow op `Asinh`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.asinh([0]).arraySync()); // [0]
 * ```
 */
export function asinh<X extends Operand>(x: X): Like<X> {
  return applyConverted(Asinh, [toFloatInput(x, "x", "asinh")], [x]) as Like<X>;
}

/**
 * Inverse of {@linkcode cosh}, NaN below 1; integers become float32. TensorFlow op `Acosh`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.acosh([1, 0]).arraySync()); // [0, NaN]
 * ```
 */
export function acosh<X extends Operand>(x: X): Like<X> {
  return applyConverted(Acosh, [toFloatInput(x, "x", "acosh")], [x]) as Like<X>;
}

/**
 * Inverse of {@linkcode tanh}, NaN outside [-1, 1]; integers become float32. TensorFlow op `Atanh`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.atanh([0, 1]).arraySync()); // [0, Infinity]
 * ```
 */
export function atanh<X extends Operand>(x: X): Like<X> {
  return applyConverted(Atanh, [toFloatInput(x, "x", "atanh")], [x]) as Like<X>;
}
