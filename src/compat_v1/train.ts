/**
 * Namespace `tf.compat.v1.train`.
 */
export {
  createGlobalStep,
  exponentialDecay,
  getGlobalStep,
  getOrCreateGlobalStep,
} from "./global_step.ts";
export { FtrlOptimizer, type FtrlOptions } from "./ftrl_optimizer.ts";
export {
  AdadeltaOptimizer,
  AdagradOptimizer,
  AdamOptimizer,
  type ApplyGradientsOptions,
  type ComputeGradientsOptions,
  type GradientAndVariable,
  GradientDescentOptimizer,
  type MinimizeOptions,
  MomentumOptimizer,
  Optimizer,
  type Rate,
  RMSPropOptimizer,
} from "./optimizers.ts";
export { latestCheckpoint } from "../io/checkpoint_state.ts";
export { type SaveOptions, Saver, type SaverOptions, type VarList } from "./saver.ts";
