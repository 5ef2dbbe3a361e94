/** Namespace `tf.compat.v1.train`. */
export {
  cosineDecay,
  cosineDecayRestarts,
  exponentialDecay,
  inverseTimeDecay,
  linearCosineDecay,
  naturalExpDecay,
  piecewiseConstant,
  polynomialDecay,
} from "./decays.ts";
export { createGlobalStep, getGlobalStep, getOrCreateGlobalStep } from "./global_step.ts";
export { ExponentialMovingAverage, type MovingAverageOptions } from "./moving_average.ts";
export { FtrlOptimizer, type FtrlOptions } from "./ftrl_optimizer.ts";
export {
  AdadeltaOptimizer,
  AdagradOptimizer,
  AdamOptimizer,
  GradientDescentOptimizer,
  MomentumOptimizer,
  RMSPropOptimizer,
} from "./optimizers.ts";
export {
  type ApplyGradientsOptions,
  type ComputeGradientsOptions,
  type GradientAndVariable,
  type MinimizeOptions,
  Optimizer,
} from "./optimizer.ts";
export type { Rate } from "./optimizer_arguments.ts";
export { latestCheckpoint } from "../../library/io/checkpoint/state.ts";
export { type SaveOptions, Saver, type SaverOptions, type VarList } from "./saver.ts";
