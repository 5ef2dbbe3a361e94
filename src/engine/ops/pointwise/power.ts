/** Pointwise powers and roots. */
import { apply1 } from "../../core/apply.ts";
import type { OpDef } from "../../core/op.ts";
import { NdArray } from "../../core/nd_array.ts";
import { type Expr, scalar as s } from "../../core/scalar/expr.ts";
import type { Like, Operand } from "../../core/composite.ts";
import type { Tensor } from "../../core/tensor.ts";
import { broadcastGrad, definePointwise, unaryGrad } from "./define_pointwise.ts";
import { applyConverted, toFloatInput } from "../input.ts";
import { add, conjugate, mul, neg, sub, toArithmeticInputs, toNumberInput } from "./arithmetic.ts";
import { equal, greater } from "./compare.ts";
import { log, toFloatOnly } from "./exponential.ts";
import { defineResultGradient, slopeOfResult } from "./gradient_ops.ts";
import { where } from "./select.ts";

const isComplex = (x: Tensor): boolean => x.dtype === "complex64" || x.dtype === "complex128";

/** Factors such as `y ** (n - 1)` are powers again; a literal exponent needs no ops for `n` and `n - 1`. */
function powerSlope(x: Tensor, y: Tensor): Tensor {
  const literal: unknown = y;
  if (literal instanceof NdArray && literal.size === 1 && !isComplex(y)) {
    const n = Number(literal.at(0));
    if (n === 0) return mul(pow(x, 0), 0);
    return n === 1 ? pow(x, 0) : mul(n === 2 ? x : pow(x, n - 1), n);
  }
  // Where y is 0 the derivative is 0, also at x = 0.
  return mul(y, pow(x, where(equal(y, 0), 0, sub(y, 1))));
}

/** Returns `log(x)` where the power grows with it, 0 where it is undefined. */
function powerLog(x: Tensor): Tensor {
  return isComplex(x) ? log(where(equal(x, 0), 1, x)) : log(where(greater(x, 0), x, 1));
}

const Pow = definePointwise("Pow", ([x, y]) => s.pow(x, y), {
  inputs: ["x", "y"],
  types: "numeric",
  grad: broadcastGrad(
    ["x", "y", "z"],
    ({ x, y }, g) => mul(g, conjugate(powerSlope(x, y))),
    ({ x, z }, g) => mul(g, conjugate(mul(z, powerLog(x)))),
  ),
});
const Square = definePointwise("Square", ([x]) => s.mul(x, x), {
  types: "numeric",
  grad: unaryGrad(["x"], ({ x }, g) => mul(g, conjugate(add(x, x)))),
});
const SquaredDifference = definePointwise(
  "SquaredDifference",
  ([x, y]) => {
    const d = s.sub(x, y);
    return s.mul(s.conj(d), d);
  },
  {
    inputs: ["x", "y"],
    types: "numeric",
    grad: broadcastGrad(
      ["x", "y"],
      ({ x, y }, g) => mul(twiceReal(g), sub(x, y)),
      ({ x, y }, g) => mul(twiceReal(g), sub(y, x)),
    ),
  },
);

/** Twice the real part: a squared distance has no other, whatever its dtype. */
const twiceReal = (x: Tensor): Tensor => add(x, conjugate(x));

/**
 * Returns zero for a zero incoming gradient, even for an infinite derivative: so `where` keeps a root of 0 out of a
 * gradient.
 */
const unlessZero = (dy: Expr, e: Expr): Expr => s.select(s.eq(dy, 0), 0, e);

const SqrtGrad: OpDef = defineResultGradient(
  "SqrtGrad",
  (c, dy) => unlessZero(dy, s.div(s.mul(dy, 0.5), c)),
  (c, dy) => neg(mul(apply1(SqrtGrad, [conjugate(c), dy]), reciprocal(c))),
);
const RsqrtGrad = defineResultGradient(
  "RsqrtGrad",
  (c, dy) => unlessZero(dy, s.mul(s.mul(dy, -0.5), s.mul(c, s.mul(c, c)))),
  (c, dy) => mul(mul(dy, -1.5), square(c)),
);
const ReciprocalGrad = defineResultGradient(
  "ReciprocalGrad",
  (c, dy) => unlessZero(dy, s.neg(s.mul(dy, s.mul(c, c)))),
  (c, dy) => mul(mul(dy, -2), c),
);
// The older name in TensorFlow's graphs.
definePointwise("InvGrad", ([y, dy]) => unlessZero(dy, s.neg(s.mul(dy, s.mul(y, y)))), {
  inputs: ["y", "dy"],
  grad: ReciprocalGrad.grad!,
});

const Sqrt = definePointwise("Sqrt", ([x]) => s.sqrt(x), slopeOfResult(SqrtGrad));
const Rsqrt = definePointwise("Rsqrt", ([x]) => s.rsqrt(x), slopeOfResult(RsqrtGrad));
const RECIPROCAL = { ...slopeOfResult(ReciprocalGrad), types: "numeric" };
const Reciprocal = definePointwise("Reciprocal", ([x]) => s.div(1, x), RECIPROCAL);
definePointwise("Inv", ([x]) => s.div(1, x), RECIPROCAL);

/**
 * `base ** exp`, broadcasting. Integers give integers that wrap. NaN for a negative base with a fractional exponent.
 * TensorFlow op `Pow`. Throws `ValueError` for shapes that do not broadcast, and on the CPU `InvalidArgumentError` for integers
 * to negative powers, which WebGPU rounds towards 0.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.pow([2, 3, -2], [3, 2, 3]).arraySync()); // [8, 9, -8]
 * ```
 */
export function pow<X extends Operand, Y extends Operand>(base: X, exp: Y): Like<X, Y> {
  return applyConverted(Pow, toArithmeticInputs(base, exp, "pow", ["base", "exp"]), [
    base,
    exp,
  ]) as Like<X, Y>;
}

/**
 * `x * x`; int32 wraps. TensorFlow op `Square`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.square([1, -3]).arraySync()); // [1, 9]
 * ```
 */
export function square<X extends Operand>(x: X): Like<X> {
  return applyConverted(Square, [toNumberInput(x, "square")], [x]) as Like<X>;
}

/**
 * `(a - b) ** 2`, broadcasting; the squared distance of complex numbers. TensorFlow op `SquaredDifference`.
 * Throws `ValueError` for shapes that do not broadcast.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.squaredDifference([1, 5], [3, 2]).arraySync()); // [4, 9]
 * ```
 */
export function squaredDifference<X extends Operand, Y extends Operand>(a: X, b: Y): Like<X, Y> {
  return applyConverted(SquaredDifference, toArithmeticInputs(a, b, "squaredDifference"), [
    a,
    b,
  ]) as Like<X, Y>;
}

/**
 * Square root, NaN below 0. TensorFlow op `Sqrt`. Throws `TypeError` for an integer tensor.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.sqrt([4, 9, -1]).arraySync()); // [2, 3, NaN]
 * ```
 */
export function sqrt<X extends Operand>(x: X): Like<X> {
  return apply1(Sqrt, [toFloatOnly(x, "sqrt")]) as Like<X>;
}

/**
 * `1 / sqrt(x)`. TensorFlow op `Rsqrt`. Throws `TypeError` for an integer tensor.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.rsqrt([4, 0]).arraySync()); // [0.5, Infinity]
 * ```
 */
export function rsqrt<X extends Operand>(x: X): Like<X> {
  return apply1(Rsqrt, [toFloatOnly(x, "rsqrt")]) as Like<X>;
}

/**
 * `1 / x`; integers become float32. TensorFlow op `Reciprocal`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.reciprocal([4, -0.5]).arraySync()); // [0.25, -2]
 * ```
 */
export function reciprocal<X extends Operand>(x: X): Like<X> {
  return applyConverted(Reciprocal, [toFloatInput(x, "x", "reciprocal")], [x]) as Like<X>;
}
