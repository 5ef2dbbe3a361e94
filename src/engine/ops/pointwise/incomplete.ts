/** Incomplete beta and gamma functions, in the namespace `tf.math`. On the host. */
import { apply1 } from "../../core/apply.ts";
import { defineOp, type GradRule, type OpDef } from "../../core/op.ts";
import type { Tensor, TensorLike } from "../../core/tensor.ts";
import type { NdArray } from "../../core/nd_array.ts";
import { broadcastShapes, mergeShapes, type PartialShape } from "../../core/shape.ts";
import { broadcastPairs } from "../../kernels/host/broadcast_pairs.ts";
import { incompleteBeta } from "../../kernels/host/special/beta.ts";
import {
  gammaSampleSlope,
  lowerGamma,
  lowerGammaSlope,
  upperGamma,
} from "../../kernels/host/special/igamma.ts";
import { add, mul, neg, sub } from "./arithmetic.ts";
import { exp, log1p, xlogy } from "./exponential.ts";
import { floats, lgamma } from "./special.ts";
import { asTensor } from "../input.ts";

const Betainc = defineOp({
  name: "Betainc",
  inputs: ["a: T", "b: T", "x: T"],
  outputs: ["z: T"],
  attrs: ["T: {float32, float64}"],
  infer: (specs) => {
    const whole = specs.map((s) => s.shape).filter((s) => s === null || s.length > 0);
    return [whole.length === 0 ? [] : whole.reduce((all: PartialShape, s) => mergeShapes(all, s))];
  },
  grad: {
    saves: ["a", "b", "x"],
    // As in TensorFlow, there is no gradient of a and b.
    vjp: ({ a, b, x }, [dy], { needs, sumLike }) => {
      if (!needs[2]) return [null, null, null];
      const logBeta = sub(add(lgamma(a), lgamma(b)), lgamma(add(a, b)));
      const powers = add(mul(sub(b, 1), log1p(neg(x))), xlogy(sub(a, 1), x));
      return [null, null, sumLike(mul(dy, exp(sub(powers, logBeta))), 2)];
    },
  },
  cpu: ([a, b, x], [out]) => {
    const to = out.data as Float64Array;
    const at = (v: NdArray, i: number): number => Number(v.at(v.data.length === 1 ? 0 : i));
    for (let i = 0; i < to.length; i++) to[i] = incompleteBeta(at(a, i), at(b, i), at(x, i));
  },
});

function defineGamma(
  name: string,
  f: (a: number, x: number) => number,
  grad: GradRule | null,
  [first, second, result, types]: readonly string[] = ["a", "x", "z", "float16, float32, float64"],
): OpDef {
  return defineOp({
    name,
    inputs: [`${first}: T`, `${second}: T`],
    outputs: [`${result}: T`],
    attrs: [`T: {${types}}`],
    infer: ([a, x]) => [broadcastShapes(a.shape, x.shape)],
    grad,
    cpu: ([a, x], [out]) => broadcastPairs(a, x, out, f),
  });
}

/** The gamma density, and the derivative in `a`, which has no gradient itself. */
const gammaGradient = (sign: 1 | -1): GradRule => ({
  saves: ["a", "x"],
  vjp: ({ a, x }, [dy], { needs, sumLike }) => {
    const density = (): Tensor => exp(sub(sub(xlogy(sub(a, 1), x), x), lgamma(a)));
    const signed = mul(dy, sign);
    return [
      needs[0] ? sumLike(mul(signed, apply1(IgammaGradA, [a, x])), 0) : null,
      needs[1] ? sumLike(mul(signed, density()), 1) : null,
    ];
  },
});

const IgammaGradA = defineGamma("IgammaGradA", lowerGammaSlope, null);
/** The derivative of drawn numbers with respect to the shapes of their distributions. */
export const RandomGammaGrad: OpDef = defineGamma("RandomGammaGrad", gammaSampleSlope, null, [
  ...["alpha", "sample", "output", "float32, float64"],
]);
const Igamma = defineGamma("Igamma", lowerGamma, gammaGradient(1));
const Igammac = defineGamma("Igammac", upperGamma, gammaGradient(-1));

/**
 * The regularized lower incomplete gamma function: the integral of the gamma density of shape `a` from 0 to `x`; broadcasts, on the
 * host. Differentiable with respect to both. Throws `ValueError` for shapes that do not broadcast. TensorFlow op `Igamma`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.igamma(1, 2).item().toFixed(4)); // 0.8647
 * ```
 */
export function igamma(a: TensorLike, x: TensorLike): Tensor {
  return apply1(Igamma, floats(a, x, "igamma", ["a", "x"]));
}

/**
 * The regularized upper incomplete gamma function, `1 - igamma(a, x)`; broadcasts, on the host. Differentiable with respect to both.
 * Throws `ValueError` for shapes that do not broadcast. TensorFlow op `Igammac`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.igammac(1, 2).item().toFixed(4)); // 0.1353
 * ```
 */
export function igammac(a: TensorLike, x: TensorLike): Tensor {
  return apply1(Igammac, floats(a, x, "igammac", ["a", "x"]));
}

/**
 * The regularized incomplete beta function of `a` and `b` at `x` from 0 to 1; on the host. Operands have one shape or are scalars, as
 * in TensorFlow. Differentiable with respect to `x`. Throws `ValueError` for other shapes. TensorFlow op `Betainc`.
 *
 * @example
 * ```ts
 * import * as tf from "@weft/weft";
 * console.log(tf.math.betainc(2, 1, 0.5).item().toFixed(4)); // 0.2500
 * ```
 */
export function betainc(a: TensorLike, b: TensorLike, x: TensorLike): Tensor {
  const [p, at] = floats(a, x, "betainc", ["a", "x"]);
  const [q] = floats(b, asTensor(at), "betainc", ["b", "x"]);
  return apply1(Betainc, [p, q, at]);
}
