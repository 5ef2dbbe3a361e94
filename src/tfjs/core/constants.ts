/** Constants of TensorFlow.js: factories of optimizers, and ranks. */
import * as weft from "../../library/train/mod.ts";
import type { Optimizer } from "./optimizer.ts";

export { Rank } from "../../engine/core/ranks.ts";

/** Factories of optimizers, whose results count as instances of the class that programs extend. */
export type OptimizerFunctions = {
  readonly [K in keyof typeof weft]: (typeof weft)[K] extends (...args: infer A) => infer O
    ? (...args: A) => O & Optimizer
    : (typeof weft)[K];
};

/** Factories of optimizers. */
export const train: OptimizerFunctions = weft as unknown as OptimizerFunctions;
/** Factories of optimizers; `tf.train` of TensorFlow.js is an object of this class. */
export const OptimizerConstructors: OptimizerFunctions = train;
