/** Pointwise smooth activation functions: sigmoid and its kin, gelu. */
import { apply1 } from "../../core/apply.ts";
import { type Expr, scalar as s } from "../../core/scalar/expr.ts";
import type { Like, Operand } from "../../core/composite.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import { definePointwise, unaryGrad } from "./define_pointwise.ts";
import { applyConverted, toFloatInput } from "../input.ts";
import { add, div, mul, neg, sub } from "./arithmetic.ts";
import { erf, exp, toFloatOnly } from "./exponential.ts";
import { defineGradient, defineResultGradient, FEATURES, slopeOfResult } from "./gradient_ops.ts";
import { pow, square } from "./power.ts";
import { abs, sign } from "./rounding.ts";
import { tanh } from "./trigonometric.ts";

const logistic = (x: Expr): Expr => s.div(1, s.add(1, s.exp(s.neg(x))));
/** Computes log(1 + e**x) without overflow. */
const softplusOf = (x: Expr): Expr => s.add(s.max(x, 0), s.log1p(s.exp(s.neg(s.abs(x)))));

const SigmoidGrad = defineResultGradient(
  "SigmoidGrad",
  (c, dy) => s.mul(dy, s.mul(c, s.sub(1, c))),
  (c, dy) => mul(dy, sub(1, add(c, c))),
);
const Sigmoid = definePointwise("Sigmoid", ([x]) => logistic(x), slopeOfResult(SigmoidGrad));
const SoftplusGrad = defineGradient("SoftplusGrad", (g, x) => s.mul(g, logistic(x)), {
  bend: (g, x) => apply1(SigmoidGrad, [sigmoid(x), g]),
});
const Softplus = definePointwise("Softplus", ([x]) => softplusOf(x), {
  ...FEATURES,
  grad: unaryGrad(["features"], ({ features }, g) => apply1(SoftplusGrad, [g, features])),
});
const LogSigmoid = definePointwise("LogSigmoid", ([x]) => s.neg(softplusOf(s.neg(x))), {
  expand: ([x]) => [neg(softplus(neg(x)))],
  grad: unaryGrad(["x"], ({ x }, g) => apply1(SoftplusGrad, [g, neg(x)])),
});
const SoftsignGrad = defineGradient(
  "SoftsignGrad",
  (g, x) => {
    const d = s.add(1, s.abs(x));
    return s.div(g, s.mul(d, d));
  },
  { bend: (g, x) => mul(g, div(mul(sign(x), -2), pow(add(abs(x), 1), 3))) },
);
const Softsign = definePointwise("Softsign", ([x]) => s.div(x, s.add(1, s.abs(x))), {
  ...FEATURES,
  grad: unaryGrad(["features"], ({ features }, g) => apply1(SoftsignGrad, [g, features])),
});

const SQRT_HALF = Math.SQRT1_2, SQRT_2_OVER_PI = Math.sqrt(2 / Math.PI), CUBIC = 0.044715;
const GELU = { attrs: ["approximate: bool = false"] };

/** The probability that multiplies `x`. */
function geluGate(x: Expr, approximate: boolean): Expr {
  if (!approximate) return s.mul(0.5, s.add(1, s.erf(s.mul(x, SQRT_HALF))));
  return s.mul(0.5, s.add(1, s.tanh(geluInner(x))));
}
function geluInner(x: Expr): Expr {
  return s.mul(SQRT_2_OVER_PI, s.add(x, s.mul(CUBIC, s.mul(x, s.mul(x, x)))));
}
function geluSlope(x: Expr, approximate: boolean): Expr {
  if (!approximate) {
    const density = s.mul(SQRT_2_OVER_PI / 2, s.exp(s.mul(-0.5, s.mul(x, x))));
    return s.add(geluGate(x, false), s.mul(x, density));
  }
  const t = s.tanh(geluInner(x));
  const inner = s.mul(SQRT_2_OVER_PI, s.add(1, s.mul(3 * CUBIC, s.mul(x, x))));
  const half = s.mul(0.5, s.add(1, t));
  return s.add(half, s.mul(s.mul(0.5, x), s.mul(s.sub(1, s.mul(t, t)), inner)));
}
/** Computes {@linkcode geluSlope} in ops, for second derivatives. */
function geluSlopeOf(x: TensorLike, approximate: boolean): Tensor {
  if (!approximate) {
    const gate = mul(add(erf(mul(x, SQRT_HALF)), 1), 0.5);
    return add(gate, mul(x, mul(exp(mul(square(x), -0.5)), SQRT_2_OVER_PI / 2)));
  }
  const x2 = square(x);
  const t = tanh(mul(mul(x, add(mul(x2, CUBIC), 1)), SQRT_2_OVER_PI));
  const inner = mul(add(mul(x2, 3 * CUBIC), 1), SQRT_2_OVER_PI);
  return mul(add(add(t, 1), mul(x, mul(sub(1, square(t)), inner))), 0.5);
}

const GeluGrad = definePointwise(
  "GeluGrad",
  ([g, x], { approximate }) => s.mul(g, geluSlope(x, approximate as boolean)),
  {
    inputs: ["gradients", "features"],
    output: "backprops: T",
    ...GELU,
    expand: ([g, x], { approximate }) => [mul(g, geluSlopeOf(x, approximate))],
  },
);
const Gelu = definePointwise(
  "Gelu",
  ([x], { approximate }) => s.mul(x, geluGate(x, approximate as boolean)),
  {
    ...FEATURES,
    ...GELU,
    expand: ([x], { approximate }) => [
      mul(
        mul(x, 0.5),
        add(
          approximate
            ? tanh(mul(mul(x, add(mul(square(x), CUBIC), 1)), SQRT_2_OVER_PI))
            : erf(mul(x, SQRT_HALF)),
          1,
        ),
      ),
    ],
    grad: unaryGrad(
      ["features"],
      ({ features: x }, g, ctx) => apply1(GeluGrad, [g, x], { approximate: ctx.attrs.approximate }),
    ),
  },
);

/**
 * `1 / (1 + e ** -x)`. TensorFlow op `Sigmoid`. Throws `TypeError` for an integer tensor.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.sigmoid([0, -Infinity]).arraySync()); // [0.5, 0]
 * ```
 */
export function sigmoid<X extends Operand>(x: X): Like<X> {
  return apply1(Sigmoid, [toFloatOnly(x, "sigmoid")]) as Like<X>;
}

/**
 * Logarithm of {@linkcode sigmoid}, without underflow; integers become float32. As in TensorFlow.js.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.logSigmoid([-1000]).arraySync()); // [-1000]
 * ```
 */
export function logSigmoid<X extends Operand>(x: X): Like<X> {
  return applyConverted(LogSigmoid, [toFloatInput(x, "x", "logSigmoid")], [x]) as Like<X>;
}

/**
 * `log(1 + e ** x)`, without overflow; integers become float32. TensorFlow op `Softplus`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.softplus([1000, -Infinity]).arraySync()); // [1000, 0]
 * ```
 */
export function softplus<X extends Operand>(x: X): Like<X> {
  return applyConverted(Softplus, [toFloatInput(x, "x", "softplus")], [x]) as Like<X>;
}

/**
 * `x / (1 + |x|)`; integers become float32. TensorFlow op `Softsign`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.softsign([-1, 3]).arraySync()); // [-0.5, 0.75]
 * ```
 */
export function softsign<X extends Operand>(x: X): Like<X> {
  return applyConverted(Softsign, [toFloatInput(x, "x", "softsign")], [x]) as Like<X>;
}

/**
 * `x` times the probability that a standard normal is below `x`, or its tanh approximation. Integers become float32.
 * Follows TensorFlow's `tf.nn.gelu`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.gelu([0, Infinity], false).arraySync()); // [0, Infinity]
 * ```
 */
export function gelu<X extends Operand>(x: X, approximate = false): Like<X> {
  return applyConverted(Gelu, [toFloatInput(x, "x", "gelu")], [x], { approximate }) as Like<X>;
}
