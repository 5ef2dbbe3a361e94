/** Random ops that draw numbers with a gamma distribution. */
import { defineOp } from "../../core/op.ts";
import { gammaCpu } from "../../kernels/host/random.ts";
import { wantedShape } from "../array/fill_ops.ts";
import { type Draw, drawnShape, SEEDED } from "./ops.ts";
import { nextSeed } from "./state.ts";

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
    infer: ([shape, seed]) => [drawnShape(shape, seed)],
    grad: null,
    cpu: ([, seed, alpha], [out]) => gammaCpu(alpha, seed, out),
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
    grad: null,
    stateful: true,
    cpu: ([, alpha], [out], { attrs }) => gammaCpu(alpha, nextSeed(attrs), out),
  }),
  key: 1,
};
