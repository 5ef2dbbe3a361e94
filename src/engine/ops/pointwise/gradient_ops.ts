/**
 * TensorFlow's gradient ops of functions of one value: the derivative at the input or the result, times the incoming
 * gradient.
 */
import { apply1 } from "../../core/apply.ts";
import type { Attrs, OpDef } from "../../core/op.ts";
import { type Expr, scalar as s } from "../../core/scalar/expr.ts";
import type { Tensor } from "../../core/tensor.ts";
import { conjugate, div, mul } from "./arithmetic.ts";
import {
  broadcastGrad,
  definePointwise,
  FLOAT_OR_COMPLEX,
  type PointwiseInit,
  unaryGrad,
} from "./define_pointwise.ts";

/**
 * Returns the types and gradient of a function on floats and complex numbers whose gradient has the factor `derivative`
 * of `x` or `y`.
 */
export function slope(of: "x" | "y", derivative: (v: Tensor) => Tensor): PointwiseInit {
  return {
    types: FLOAT_OR_COMPLEX,
    grad: unaryGrad([of], (saved, g) => mul(g, conjugate(derivative(saved[of])))),
  };
}

/** Returns {@linkcode slope} of a derivative one over `denominator`. */
export function inverseSlope(of: "x" | "y", denominator: (v: Tensor) => Tensor): PointwiseInit {
  return {
    types: FLOAT_OR_COMPLEX,
    grad: unaryGrad([of], (saved, g) => div(g, conjugate(denominator(saved[of])))),
  };
}

/** Returns the types and gradient of a function on floats and complex numbers whose gradient op reads its result. */
export function slopeOfResult(gradient: OpDef): PointwiseInit {
  return {
    types: FLOAT_OR_COMPLEX,
    grad: unaryGrad(["y"], ({ y }, g) => apply1(gradient, [y, g])),
  };
}

/** Inputs and output of activations in TensorFlow's names. */
export const FEATURES: PointwiseInit = { inputs: ["features"], output: "activations: T" };

interface GradientInit extends Pick<PointwiseInit, "types" | "attrs" | "expand"> {
  /** The argument of the derivative; default the input. */
  readonly of?: "features" | "outputs";
  /** The second derivative. Absent: none, for a constant slope on each side. */
  readonly bend?: (g: Tensor, f: Tensor) => Tensor;
}

/** Defines a gradient op `slope(g, f)`, which is linear in `g`. */
export function defineGradient(
  name: string,
  slope: (g: Expr, f: Expr, attrs: Attrs) => Expr,
  { of = "features", bend, ...init }: GradientInit = {},
): OpDef {
  const own = ({ alpha }: Attrs): Attrs => (init.attrs ? { alpha } : {});
  const def: OpDef = definePointwise(name, ([g, f], attrs) => slope(g, f, attrs), {
    ...init,
    inputs: ["gradients", of],
    output: "backprops: T",
    grad: broadcastGrad(
      bend ? ["gradients", of] : [of],
      (saved, d, { attrs }) => apply1(def, [d, saved[of]], own(attrs)),
      (saved, d) => mul(d, bend ? bend(saved.gradients, saved[of]) : 0),
    ),
  });
  return def;
}

/**
 * Defines a gradient op of `c`, the conjugate of the result: `slope(c, dy)` is linear in `dy`, and `bend` is its
 * derivative by `c`.
 */
export function defineResultGradient(
  name: string,
  slope: (c: Expr, dy: Expr) => Expr,
  bend: (c: Tensor, dy: Tensor) => Tensor,
): OpDef {
  const def: OpDef = definePointwise(name, ([y, dy]) => slope(s.conj(y), dy), {
    inputs: ["y", "dy"],
    types: FLOAT_OR_COMPLEX,
    grad: broadcastGrad(
      ["y", "dy"],
      ({ y, dy }, g) => mul(conjugate(g), bend(conjugate(y), dy)),
      ({ y }, g) => apply1(def, [conjugate(y), g]),
    ),
  });
  return def;
}
