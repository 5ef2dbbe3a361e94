/** Random ops that draw numbers with a gamma distribution. */
import { apply1 } from "../../core/apply.ts";
import { defineOp, type GradRule, type OpDef } from "../../core/op.ts";
import { gammaOfPhilox } from "../../kernels/host/drawing/distributions.ts";
import { gammaCpu } from "../../kernels/host/random.ts";
import { cast } from "../array/cast.ts";
import { wantedShape } from "../array/fill_ops.ts";
import { mul } from "../pointwise/arithmetic.ts";
import { RandomGammaGrad } from "../pointwise/incomplete.ts";
import { placesIn } from "./distributions.ts";
import { type Draw, drawnShape, SEEDED } from "./ops.ts";
import { philoxOf, philoxOfSeed } from "./philox.ts";
import { nextSeed } from "./state.ts";

/** The gradient in the shapes, which are the last of so many inputs. */
const ofAlpha = (inputs: number): GradRule => ({
  saves: ["alpha", "output"],
  vjp: ({ alpha, output }, [dy], { sumLike }) => {
    const parts = [alpha, output].map((x) => x.dtype === "float16" ? cast(x, "float32") : x);
    const slope = cast(apply1(RandomGammaGrad, parts), dy.dtype);
    return [...new Array<null>(inputs - 1).fill(null), sumLike(mul(dy, slope), inputs - 1)];
  },
});

/** TensorFlow's numbers of a key and a counter. */
export const GammaOfKey: OpDef = defineOp({
  name: "StatelessRandomGammaV3",
  inputs: ["shape: shape_dtype", "key: uint64", "counter: uint64", "alg: int32", "alpha: dtype"],
  outputs: ["output: dtype"],
  attrs: ["dtype: {float16, float32, float64}", "shape_dtype: index = int32"],
  hostInputs: ["shape"],
  infer: ([shape, , , , alpha]) => {
    const drawn = wantedShape(shape);
    placesIn(drawn, [alpha.shape]);
    return [drawn];
  },
  grad: ofAlpha(5),
  cpu: ([, key, counter, alg, alpha], [out]) => {
    placesIn(out.shape, [alpha.shape]);
    gammaOfPhilox(out, alpha, philoxOf([key, counter, alg]));
  },
});

/**
 * Numbers with a gamma distribution of rate 1: `shape`, `alpha`. The stateful op appends the shape of `alpha` to the
 * given one.
 */
export const GAMMA: Draw = {
  seeded: defineOp({
    name: "StatelessRandomGammaV2",
    inputs: ["shape: T", "seed: Tseed", "alpha: dtype"],
    outputs: ["output: dtype"],
    attrs: ["dtype: {float16, float32, float64}", ...SEEDED],
    hostInputs: ["shape"],
    infer: ([shape, seed, alpha]) => {
      const drawn = drawnShape(shape, seed);
      placesIn(drawn, [alpha.shape]);
      return [drawn];
    },
    grad: ofAlpha(3),
    cpu: ([, seed, alpha], [out]) => {
      placesIn(out.shape, [alpha.shape]);
      gammaOfPhilox(out, alpha, philoxOfSeed(seed));
    },
  }),
  drawn: defineOp({
    name: "RandomGamma",
    inputs: ["shape: S", "alpha: T"],
    outputs: ["output: T"],
    attrs: ["seed: int64 = 0", "seed2: int64 = 0", "S: index", "T: {float16, float32, float64}"],
    hostInputs: ["shape"],
    infer: ([shape, alpha]) => {
      const front = wantedShape(shape);
      return [front && alpha.shape && [...front, ...alpha.shape]];
    },
    grad: ofAlpha(2),
    stateful: true,
    cpu: ([, alpha], [out], { attrs }) => gammaCpu(alpha, nextSeed(attrs), out),
  }),
  key: 1,
};
