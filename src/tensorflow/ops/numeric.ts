/** Numeric ops that only files have: incomplete beta and gamma functions. On the host. */
import { apply1 } from "../../engine/core/apply.ts";
import { defineOp, type GradRule, type OpDef } from "../../engine/core/op.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import type { NdArray } from "../../engine/core/nd_array.ts";
import { broadcastShapes, mergeShapes, type PartialShape } from "../../engine/core/shape.ts";
import { broadcastPairs } from "../../engine/kernels/host/broadcast_pairs.ts";
import { incompleteBeta } from "../../engine/kernels/host/special/beta.ts";
import {
  lowerGamma,
  lowerGammaSlope,
  upperGamma,
} from "../../engine/kernels/host/special/igamma.ts";
import { add, mul, neg, sub } from "../../engine/ops/pointwise/arithmetic.ts";
import { exp, log1p, xlogy } from "../../engine/ops/pointwise/exponential.ts";
import { lgamma } from "../../engine/ops/pointwise/special.ts";

defineOp({
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
): OpDef {
  return defineOp({
    name,
    inputs: ["a: T", "x: T"],
    outputs: ["z: T"],
    attrs: ["T: {float16, float32, float64}"],
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
defineGamma("Igamma", lowerGamma, gammaGradient(1));
defineGamma("Igammac", upperGamma, gammaGradient(-1));
