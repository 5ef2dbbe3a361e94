/**
 * Numeric ops that only files have: incomplete beta and gamma functions, the best path of a CTC network (Graves et al.,
 * "Connectionist temporal classification", 2006). On the host.
 */
import { FailedPreconditionError } from "../../engine/core/errors.ts";
import { apply1 } from "../../engine/core/apply.ts";
import { defineOp, type GradRule, type OpDef } from "../../engine/core/op.ts";
import type { Tensor } from "../../engine/core/tensor.ts";
import { NdArray } from "../../engine/core/nd_array.ts";
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
import { refuse, wholeArray } from "../../engine/ops/host/arrays.ts";

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

defineOp({
  name: "CTCGreedyDecoder",
  inputs: ["inputs: T", "sequence_length: int32"],
  outputs: [
    "decoded_indices: int64",
    "decoded_values: int64",
    "decoded_shape: int64",
    "log_probability: T",
  ],
  attrs: [
    "merge_repeated: bool = false",
    "blank_index: int = -1",
    "T: {float32, float64} = float32",
  ],
  infer: ([x, lengths]) => {
    const [, batch] = mergeShapes(x.shape, [null, null, null])!;
    const rows = mergeShapes([batch], lengths.shape)!;
    return [[null, 2], [null], [2], [...rows, 1]];
  },
  grad: null,
  cpu: ([x, lengths], _, { attrs }) => {
    const [steps, batch, classes] = x.shape, sizes = Array.from(lengths.data as Int32Array);
    const longest = sizes.findIndex((n) => n > steps);
    if (longest >= 0) {
      throw new FailedPreconditionError(
        `sequence_length(${longest}) <= ${steps} does not hold: it is ${sizes[longest]}`,
      );
    }
    const blank = attrs.blank_index < 0 ? classes + attrs.blank_index : attrs.blank_index;
    if (blank < 0 || blank >= classes) {
      refuse(
        `blank_index expected to be between ${-classes} and ${
          classes - 1
        }, received ${attrs.blank_index}`,
      );
    }
    const logits = x.data as Float32Array;
    // The likeliest label at each step, without blanks; the score is the negated sum of logits.
    const paths = sizes.map((size, item) => {
      const labels: number[] = [];
      let score = 0, before = -1;
      for (let step = 0; step < size; step++) {
        const row = (step * batch + item) * classes;
        let best = 0;
        for (let c = 1; c < classes; c++) if (logits[row + c] > logits[row + best]) best = c;
        score -= logits[row + best];
        if (best !== blank && !(attrs.merge_repeated && best === before)) labels.push(best);
        before = best;
      }
      return { labels, score };
    });
    const values = paths.flatMap((p) => p.labels);
    const at = paths.flatMap((p, item) => p.labels.flatMap((_, i) => [item, i]));
    const shape = [batch, Math.max(0, ...paths.map((p) => p.labels.length))];
    const scores = NdArray.zeros(attrs.T, [batch, 1]);
    paths.forEach(({ score }, i) => (scores.data as Float32Array)[i] = score);
    const places = wholeArray("int64", at, [values.length, 2]);
    return [places, wholeArray("int64", values), wholeArray("int64", shape), scores];
  },
});
